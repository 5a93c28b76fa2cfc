"""One sentence on what a curve shows; optima worked out by brute force over exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tuner.optimize.grid import sweep_formula
from tuner.report.formula_story import grid_sentence


def told(alpha: object, cost: object, counts: object) -> str:
    return grid_sentence(sweep_formula(np.atleast_1d(alpha), cost, counts))  # type: ignore[arg-type]


def best_by_fractions(alpha: str, cost: str, counts: range) -> tuple[int, float]:
    rate, ratio = Fraction(alpha), Fraction(cost)

    def speedup(count: int) -> Fraction:
        return sum(rate**depth for depth in range(count + 1)) / (count * ratio + 1)

    best = max(counts, key=speedup)
    return best, float(speedup(best))


def test_a_flat_optimum_names_its_smallest_k() -> None:
    text = told(0.9, [0.04], range(1, 21))
    assert text.startswith("The curve is flat from K 11 to 20 (within 3 %)")
    assert "the smallest of them, K 11," in text


def test_an_optimum_beyond_the_range_is_found() -> None:
    best, speedup = best_by_fractions("0.9", "0.04", range(1, 60))
    text = told(0.9, [0.04], range(1, 11))
    assert text.startswith("Still rising at K 10")
    assert f"the optimum is K {best} at {speedup:.2f}×, beyond this range" in text


def test_an_optimum_below_the_range_is_found() -> None:
    best, speedup = best_by_fractions("0.6", "0.1", range(1, 60))
    text = told(0.6, [0.1], range(4, 10))
    assert text == (
        f"Falling from K 4 on: the optimum is K {best} at {speedup:.2f}×, below this range."
    )


@pytest.mark.parametrize(("alpha", "cost"), [(0.3, 0.4), (0.4, 0.4), (0.0, 0.0), (1.0, 1.0)])
def test_nothing_pays_where_alpha_is_not_above_c(alpha: float, cost: float) -> None:
    text = told(alpha, [cost], range(1, 11))
    assert text.startswith("No K pays: drafting needs α above c")


def test_nothing_pays_in_the_range_but_below_it() -> None:
    best, speedup = best_by_fractions("0.5", "0.2", range(1, 60))
    text = told(0.5, [0.2], range(20, 31))
    assert text == f"No K from 20 to 30 pays; the optimum lies below, K {best} at {speedup:.2f}×."


def test_one_k_that_does_not_pay() -> None:
    best, speedup = best_by_fractions("0.5", "0.2", range(1, 60))
    text = told(0.5, [0.2], [2000])
    assert text == f"K 2,000 does not pay; the optimum lies below, K {best} at {speedup:.2f}×."


def test_free_drafts_have_no_end() -> None:
    text = told(0.8, [0.0], range(1, 11))
    assert "the optimum has no end; the speedup tends to 5.00×" in text


def test_certain_acceptance_has_no_end() -> None:
    assert "the speedup tends to 10.0×" in told(1.0, [0.1], range(1, 11))
    assert "without a limit" in told(1.0, [0.0], range(1, 11))


def test_a_clear_optimum_names_the_loss_of_the_next() -> None:
    text = told(0.3, [0.2], range(1, 5))
    # E ÷ cost: 1.3/1.2, 1.39/1.4, 1.417/1.6 …: K 2 takes (1.3/1.2) ÷ (1.39/1.4) − 1 = 9.1 % longer
    assert text == "A clear optimum: K 1; the next best K is 9.1 % slower."


def test_one_k_is_put_in_its_place() -> None:
    assert told(0.8, [0.05], [8]) == "K 8 is the optimum of this α and c."
    text = told(0.8, [0.05], [16])
    assert text.startswith("The optimum of this α and c is K 8 at 3.09×; K 16 reaches ")


def test_plain_decoding_is_the_measure() -> None:
    assert "plain decoding" in told(0.8, [0.05], [0])


def test_many_pairs_are_summed_up() -> None:
    text = told([0.1, 0.9], [0.04, 0.5], range(1, 11))
    low, high = (
        best_by_fractions("0.1", "0.5", range(1, 11)),
        best_by_fractions("0.9", "0.04", range(1, 11)),
    )
    assert f"from {low[1]:.2f}× (α 0.1, c 0.5: K {low[0]})" in text
    assert f"to {high[1]:.2f}× (α 0.9, c 0.04: K {high[0]})" in text
    assert "1 of 4 pairs do not pay at any K shown" in text
    assert "1 of 4 still rise at K 10" in text


def test_tokens_alone() -> None:
    assert "(1 − α) = 5 tokens; K 4 reaches 67 % of that" in told(0.8, None, range(1, 5))
    assert told(1.0, None, [7]) == "Every draft is accepted: K 7 gives all 8 tokens."
    text = told([0.5, 0.95], None, [4])
    assert "1.94 tokens at α 0.5 and 4.52 at α 0.95, of at most 5" in text
