"""One sentence on what a curve of the closed formula shows: optimum, flatness, edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.optimize.grid import FLAT_SHARE, flat_range
from tuner.records.sweep import FloatArray, FormulaGrid, IntArray
from tuner.report.numbers import factor, percent, plain_number
from tuner.speedup import (
    best_num_speculative_tokens,
    formula_time_per_token,
    is_worth_one_more,
)


def grid_sentence(grid: FormulaGrid) -> str:
    """Return the sentence for a whole grid."""
    if grid.time_per_token is None or grid.draft_cost_ratio is None:
        return _tokens_sentence(grid)
    if grid.time_per_token.shape[:2] == (1, 1):
        return curve_sentence(
            float(grid.acceptance_rate[0]),
            float(grid.draft_cost_ratio[0]),
            grid.num_speculative_tokens,
            grid.time_per_token[0, 0],
        )
    return _many_sentence(grid, grid.time_per_token, grid.draft_cost_ratio)


def curve_sentence(alpha: float, cost: float, counts: IntArray, times: FloatArray) -> str:
    """Return the sentence for one (α, c) over K."""
    best = int(np.argmin(times))
    first, last = int(counts[0]), int(counts[-1])
    if times[best] >= 1.0:
        return _nothing_pays(alpha, cost, first, last)
    if best == len(counts) - 1 and bool(is_worth_one_more(alpha, cost, last)):
        return _rises(alpha, cost, last, float(times[-1]))
    optimum = int(best_num_speculative_tokens(alpha, cost))
    if len(counts) == 1:
        return _single(alpha, cost, first, optimum, float(times[0]))
    if best == 0 and optimum < first:
        gain = 1.0 / float(formula_time_per_token(alpha, cost, optimum))
        where = f"the optimum is K {optimum} at {factor(gain)}"
        return f"Falling from K {first} on: {where}, below this range."
    return _interior(counts, times, best)


def rises_beyond(grid: FormulaGrid) -> NDArray[np.bool_]:
    """Return, for each (α, c), whether the speedup still rises at the largest K."""
    assert grid.draft_cost_ratio is not None
    last = grid.num_speculative_tokens[-1]
    return is_worth_one_more(grid.acceptance_rate[:, None], grid.draft_cost_ratio[None, :], last)


def _nothing_pays(alpha: float, cost: float, first: int, last: int) -> str:
    if alpha <= cost:
        return (
            f"No K pays: drafting needs α above c, and {plain_number(alpha)} is not above "
            f"{plain_number(cost)}. Plain decoding is faster."
        )
    if last == 0:
        return "K 0 is plain decoding; every speedup is measured against it."
    optimum = int(best_num_speculative_tokens(alpha, cost))
    gain = 1.0 / float(formula_time_per_token(alpha, cost, optimum))
    asked = f"K {last:,} does not pay" if first == last else f"No K from {first:,} to {last:,} pays"
    return f"{asked}; the optimum lies below, K {optimum} at {factor(gain)}."


def _rises(alpha: float, cost: float, last: int, time: float) -> str:
    head = f"Still rising at K {last}:"
    if alpha == 1.0 or cost == 0.0:
        limit = cost if alpha == 1.0 else 1.0 - alpha
        reason = "all drafts are accepted" if alpha == 1.0 else "drafts are free here"
        end = f"the speedup tends to {factor(1.0 / limit)}" if limit > 0.0 else "without a limit"
        return f"{head} {reason}, so the optimum has no end; {end}."
    optimum = int(best_num_speculative_tokens(alpha, cost, max_tokens=max(last, 1) * 64))
    best_time = float(formula_time_per_token(alpha, cost, optimum))
    lost = time / best_time - 1.0
    near = f"; K {last} is {lost * 100.0:.1f} % short of it" if lost < 2 * FLAT_SHARE else ""
    gain = factor(1.0 / best_time)
    return f"{head} the optimum is K {optimum} at {gain}, beyond this range{near}."


def _single(alpha: float, cost: float, count: int, optimum: int, time: float) -> str:
    if count == optimum:
        return f"K {count} is the optimum of this α and c."
    best_time = float(formula_time_per_token(alpha, cost, optimum))
    where = f"K {optimum} at {factor(1.0 / best_time)}"
    return f"The optimum of this α and c is {where}; K {count} reaches {percent(best_time / time)}."


def _interior(counts: IntArray, times: FloatArray, best: int) -> str:
    flat = np.flatnonzero(flat_range(times))
    low, high = int(counts[flat[0]]), int(counts[flat[-1]])
    if low == high:
        others = np.delete(times, best)
        lost = float(others.min() / times[best]) - 1.0
        return f"A clear optimum: K {low}; the next best K is {lost * 100.0:.1f} % slower."
    if low == int(counts[best]):
        tail = f"K {low} is the best and the smallest of them."
    else:
        tail = (
            f"the smallest of them, K {low}, is the better choice where drafts are not free "
            "at load."
        )
    return f"The curve is flat from K {low} to {high} (within {percent(FLAT_SHARE)}): {tail}"


def _many_sentence(grid: FormulaGrid, times: FloatArray, costs: FloatArray) -> str:
    assert grid.best is not None
    best_times = times.min(axis=-1)
    worst = np.unravel_index(int(np.argmax(best_times)), best_times.shape)
    finest = np.unravel_index(int(np.argmin(best_times)), best_times.shape)

    def described(place: tuple[np.intp, ...]) -> str:
        alpha, cost = grid.acceptance_rate[place[0]], costs[place[1]]
        count = grid.num_speculative_tokens[grid.best[place]]  # type: ignore[index]
        gain = factor(1.0 / float(best_times[place]))
        return f"{gain} (α {plain_number(alpha)}, c {plain_number(cost)}: K {count})"

    parts = [f"The best K gives from {described(worst)} to {described(finest)}"]
    total = best_times.size
    idle = int((best_times >= 1.0).sum())
    if idle:
        parts.append(f"{idle:,} of {total:,} pairs do not pay at any K shown")
    beyond = int((rises_beyond(grid) & (best_times < 1.0)).sum())
    if beyond and len(grid.num_speculative_tokens) > 1:
        parts.append(f"{beyond:,} of {total:,} still rise at K {grid.num_speculative_tokens[-1]}")
    return "; ".join(parts) + "."


def _tokens_sentence(grid: FormulaGrid) -> str:
    tokens, counts = grid.expected_tokens, grid.num_speculative_tokens
    last = int(counts[-1])
    if len(grid.acceptance_rate) == 1:
        alpha, reached = float(grid.acceptance_rate[0]), float(tokens[0, -1])
        if alpha == 1.0:
            return f"Every draft is accepted: K {last} gives all {last + 1} tokens."
        limit = 1.0 / (1.0 - alpha)
        return (
            f"No K gives more than 1 ÷ (1 − α) = {limit:.4g} tokens; K {last} reaches "
            f"{percent(reached / limit)} of that. What drafts cost decides where to stop: add --c."
        )
    low, high = (float(tokens[row, -1]) for row in (0, -1))
    return (
        f"At K {last} a verify pass yields {low:.2f} tokens at α "
        f"{plain_number(grid.acceptance_rate[0])} and {high:.2f} at α "
        f"{plain_number(grid.acceptance_rate[-1])}, of at most {last + 1}. "
        "What drafts cost decides the best K: add --c."
    )
