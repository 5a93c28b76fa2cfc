"""The closed formula over a whole grid of α, c and K at once, and what its curves show."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.records.sweep import FloatArray, FormulaGrid, IntArray
from tuner.speedup import expected_tokens, formula_step_cost, time_per_token

#: most points of one grid: three float64 arrays of this size take 240 MB
MAX_POINTS = 10_000_000
#: two configurations this close in time per token count as equal on a flat optimum; the repeat
#: spread of one serving benchmark is of this size (assumed)
FLAT_SHARE = 0.03


def sweep_formula(
    acceptance_rate: ArrayLike,
    draft_cost_ratio: ArrayLike | None,
    num_speculative_tokens: ArrayLike,
) -> FormulaGrid:
    """Evaluate E and (K·c + 1)/E on the full grid of the given values.

    Parameters
    ----------
    acceptance_rate
        α values in [0, 1], at least one.
    draft_cost_ratio
        c values ≥ 0, at least one; None = only the expected tokens.
    num_speculative_tokens
        Whole K ≥ 0, at least one.

    Returns
    -------
    The grid; values on each axis ascending, without repeats.

    Raises
    ------
    InputError
        When a value is outside its range or not finite, an axis is empty, or the grid has more
        than ``MAX_POINTS`` points.

    References
    ----------
    Leviathan, Kalman, Matias 2023, equation 1 and theorem 3.8.
    """
    rates = _checked(acceptance_rate, "alpha", upper=1.0)
    counts = _checked_counts(num_speculative_tokens)
    costs = None if draft_cost_ratio is None else _checked(draft_cost_ratio, "c")
    check_grid_size(len(rates), 1 if costs is None else len(costs), len(counts))
    tokens = expected_tokens(rates[:, None], counts)
    if costs is None:
        return FormulaGrid(
            acceptance_rate=rates,
            draft_cost_ratio=None,
            num_speculative_tokens=counts,
            expected_tokens=tokens,
        )
    times = time_per_token(tokens[:, None, :], formula_step_cost(counts, costs[:, None]))
    return FormulaGrid(
        acceptance_rate=rates,
        draft_cost_ratio=costs,
        num_speculative_tokens=counts,
        expected_tokens=tokens,
        time_per_token=times,
        best=np.argmin(times, axis=-1).astype(np.int64),
    )


def flat_range(times: FloatArray, *, share: float = FLAT_SHARE) -> NDArray[np.bool_]:
    """Return which entries of the last axis are within ``share`` of the least time per token."""
    return np.asarray(times <= times.min(axis=-1, keepdims=True) * (1.0 + share))


def check_grid_size(*lengths: int) -> None:
    """Raise `InputError` when a grid with axes of these lengths is too large to compute."""
    points = 1
    for length in lengths:
        points *= length
    if points > MAX_POINTS:
        shape = " × ".join(f"{length:,}" for length in lengths if length > 1)
        raise InputError(
            f"the grid has {points:,} points ({shape}); at most {MAX_POINTS:,} are computed. "
            "Take a larger step or a shorter range."
        )


def _checked(values: ArrayLike, name: str, *, upper: float | None = None) -> FloatArray:
    array = np.unique(np.asarray(values, dtype=np.float64).ravel()) + 0.0  # no negative zero
    if array.size == 0:
        raise InputError(f"{name}: no value given.")
    allowed = f"a number from 0 to {upper:g}" if upper is not None else "a number of at least 0"
    bad = ~np.isfinite(array) | (array < 0.0)
    if upper is not None:
        bad |= array > upper
    if bad.any():
        raise InputError(f"{name}: {array[bad][0]:g} is not possible: {allowed}.")
    return array


def _checked_counts(values: ArrayLike) -> IntArray:
    array = _checked(values, "k")
    odd = array != np.floor(array)
    if odd.any():
        raise InputError(f"k: {array[odd][0]:g} is not possible: a whole number of at least 0.")
    if array[-1] > MAX_POINTS:
        raise InputError(f"k: {array[-1]:g} is not possible: at most {MAX_POINTS:,}.")
    return array.astype(np.int64)
