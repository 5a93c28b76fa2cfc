"""The closed formula over a grid, against values worked out independently and exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.optimize.grid import MAX_POINTS, flat_range, sweep_formula

RATES = st.integers(0, 1000).map(lambda n: n / 1000)
COSTS = st.integers(0, 500).map(lambda n: n / 1000)


@pytest.mark.parametrize(
    ("alpha", "cost", "best", "speedup"), [(0.8, 0.05, 8, 3.0921), (0.9, 0.04, 15, 5.0919)]
)
def test_optimum_of_known_pairs(alpha: float, cost: float, best: int, speedup: float) -> None:
    grid = sweep_formula([alpha], [cost], range(1, 41))
    place = grid.best[0, 0]
    assert grid.num_speculative_tokens[place] == best
    assert 1 / grid.time_per_token[0, 0, place] == pytest.approx(speedup, abs=5e-5)


@pytest.mark.parametrize(
    ("alpha", "count", "tokens"),
    [(0.8, 4, 3.3616), (0.6, 5, 2.38336), (0.9, 5, 4.68559), (0.0, 7, 1.0), (1.0, 7, 8.0)],
)
def test_expected_tokens_of_known_points(alpha: float, count: int, tokens: float) -> None:
    grid = sweep_formula([alpha], None, [count])
    assert grid.expected_tokens[0, 0] == pytest.approx(tokens, abs=1e-12)
    assert grid.time_per_token is None
    assert grid.best is None


@given(alpha=RATES, cost=COSTS, count=st.integers(0, 40))
@settings(deadline=None, derandomize=True, max_examples=80)
def test_equals_exact_fractions(alpha: float, cost: float, count: int) -> None:
    grid = sweep_formula([alpha], [cost], [count])
    exact_alpha, exact_cost = Fraction(alpha), Fraction(cost)
    tokens = sum(exact_alpha**depth for depth in range(count + 1))
    assert grid.expected_tokens[0, 0] == pytest.approx(float(tokens), rel=1e-13)
    time_per_token = float((count * exact_cost + 1) / tokens)
    assert grid.time_per_token[0, 0, 0] == pytest.approx(time_per_token, rel=1e-13)


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-12, 2**-53])
def test_stays_exact_next_to_one(gap: float) -> None:
    alpha = 1.0 - gap
    exact = float(sum(Fraction(alpha) ** depth for depth in range(21)))
    assert sweep_formula([alpha], None, [20]).expected_tokens[0, 0] == pytest.approx(
        exact, rel=1e-14
    )


def test_axes_are_sorted_and_without_repeats() -> None:
    grid = sweep_formula([0.9, 0.5, 0.9], [0.1, -0.0], [3, 1, 3])
    assert grid.acceptance_rate.tolist() == [0.5, 0.9]
    assert grid.draft_cost_ratio.tolist() == [0.0, 0.1]
    assert not np.signbit(grid.draft_cost_ratio).any()
    assert grid.num_speculative_tokens.tolist() == [1, 3]
    assert grid.size == 8


def test_a_tie_goes_to_the_shorter_draft() -> None:
    grid = sweep_formula([0.0], [0.0], [1, 2, 3])
    assert grid.best[0, 0] == 0


def test_a_million_points_are_one_computation() -> None:
    grid = sweep_formula(np.linspace(0, 1, 100), np.linspace(0, 1, 100), range(1, 101))
    assert grid.size == 1_000_000
    assert grid.time_per_token.shape == (100, 100, 100)


@pytest.mark.parametrize(
    ("alpha", "cost", "counts", "words"),
    [
        ([1.2], [0.1], [1], "alpha: 1.2 is not possible: a number from 0 to 1"),
        ([-0.1], [0.1], [1], "alpha: -0.1"),
        ([float("nan")], None, [1], "alpha: nan"),
        ([0.5], [-0.01], [1], "c: -0.01 is not possible: a number of at least 0"),
        ([0.5], [float("inf")], [1], "c: inf"),
        ([0.5], [0.1], [1.5], "k: 1.5 is not possible: a whole number"),
        ([0.5], [0.1], [-1], "k: -1"),
        ([0.5], [0.1], [1e15], "k: 1e+15 is not possible: at most"),
        ([], [0.1], [1], "alpha: no value given"),
        ([0.5], [], [1], "c: no value given"),
    ],
)
def test_refuses_what_the_formula_does_not_cover(
    alpha: list[float], cost: list[float] | None, counts: list[float], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        sweep_formula(alpha, cost, counts)
    assert words in caught.value.message


def test_refuses_a_grid_that_is_too_large() -> None:
    with pytest.raises(InputError, match="12,000,000 points") as caught:
        sweep_formula(np.linspace(0, 1, 4000), np.linspace(0, 1, 3000), [1])
    assert f"{MAX_POINTS:,}" in caught.value.message


def test_flat_range_is_about_time_not_about_speed() -> None:
    flat = flat_range(np.array([1.0, 1.029, 1.03, 1.031, 2.0]), share=0.03)
    assert flat.tolist() == [True, True, True, False, False]
