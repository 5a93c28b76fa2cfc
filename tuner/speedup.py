"""The one objective: time per token in units of a plain decoding step.

``time_per_token = step_cost_ratio / acceptance_length`` for any configuration, where
``step_cost_ratio = draft + verify + overhead`` in plain steps. The textbook formula
``(N c + 1) / E`` is the special case of a chain with constant acceptance, free verification
and no overhead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Draft lengths that are looked at when no limit is given. A longer optimum needs c below about
#: 1e-3 with α above .98, or c = 0, where the optimum is unbounded.
DEFAULT_MAX_TOKENS = 512


def expected_tokens(acceptance_rate: ArrayLike, num_speculative_tokens: ArrayLike) -> FloatArray:
    """Return the expected tokens of a step, bonus token included, for constant acceptance.

    Parameters
    ----------
    acceptance_rate
        α in [0, 1], any shape: chance that a draft token is accepted given that all before it were.
    num_speculative_tokens
        N ≥ 0, whole, broadcast against ``acceptance_rate``.

    Returns
    -------
    E = (1 − α^(N+1)) / (1 − α), in [1, N + 1], of the broadcast shape.

    Notes
    -----
    Written as expm1((N+1) ln α) / expm1(ln α), which keeps full precision next to α = 1, where the
    quotient above loses it; α = 0 gives 1 and α = 1 gives N + 1 exactly. Assumes that acceptance
    is independent of position.

    References
    ----------
    Leviathan, Kalman, Matias 2023, "Fast Inference from Transformers via Speculative Decoding",
    equation 1.

    Examples
    --------
    >>> round(float(expected_tokens(0.8, 4)), 4)
    3.3616
    """
    rate = np.asarray(acceptance_rate, dtype=np.float64)
    count = np.asarray(num_speculative_tokens, dtype=np.float64)
    inside = (rate > 0.0) & (rate < 1.0)
    log_rate = np.log(np.where(inside, rate, 0.5))
    between = np.expm1((count + 1.0) * log_rate) / np.expm1(log_rate)
    return np.where(inside, between, np.where(rate >= 1.0, count + 1.0, 1.0))


def acceptance_length(survival: ArrayLike) -> FloatArray:
    """Return τ = 1 + Σ survival over the last axis (bonus token included)."""
    total: FloatArray = 1.0 + np.asarray(survival, dtype=np.float64).sum(axis=-1)
    return total


def time_per_token(acceptance_length: ArrayLike, step_cost_ratio: ArrayLike) -> FloatArray:
    """Return time per token in plain steps; its inverse is the speedup.

    Parameters
    ----------
    acceptance_length
        τ ≥ 1, tokens emitted a step.
    step_cost_ratio
        Time of one step ÷ time of a plain step at the same batch, > 0.
    """
    return np.asarray(step_cost_ratio, dtype=np.float64) / np.asarray(
        acceptance_length, dtype=np.float64
    )


def formula_step_cost(
    num_speculative_tokens: ArrayLike,
    draft_cost_ratio: ArrayLike,
    verify_cost_ratio: ArrayLike = 1.0,
) -> FloatArray:
    """Return N·c + v: the step cost of the textbook formula (v = 1: verification is free)."""
    count = np.asarray(num_speculative_tokens, dtype=np.float64)
    return count * np.asarray(draft_cost_ratio, dtype=np.float64) + np.asarray(
        verify_cost_ratio, dtype=np.float64
    )


def formula_time_per_token(
    acceptance_rate: ArrayLike, draft_cost_ratio: ArrayLike, num_speculative_tokens: ArrayLike
) -> FloatArray:
    """Return (N c + 1) / E for α, c and N of any broadcastable shapes.

    References
    ----------
    Leviathan et al. 2023, theorem 3.8 (the inverse is their walltime improvement).
    """
    return time_per_token(
        expected_tokens(acceptance_rate, num_speculative_tokens),
        formula_step_cost(num_speculative_tokens, draft_cost_ratio),
    )


def best_num_speculative_tokens(
    acceptance_rate: ArrayLike,
    draft_cost_ratio: ArrayLike,
    *,
    max_tokens: int = DEFAULT_MAX_TOKENS,
) -> IntArray:
    """Return the N in 0 … ``max_tokens`` with the least (N c + 1) / E; ties go to the smaller N.

    Parameters
    ----------
    acceptance_rate, draft_cost_ratio
        α in [0, 1] and c ≥ 0, broadcast against each other.
    max_tokens
        Largest N looked at. With c = 0, or α = 1 and c < 1, the optimum is this limit.

    Notes
    -----
    Exhaustive over whole N, so it needs no property of the curve. The curve is a linear function
    over a concave one, hence quasi-convex: the first N whose successor is no better is the optimum
    (`is_worth_one_more`), which serves as a cross-check.

    Examples
    --------
    >>> int(best_num_speculative_tokens(0.8, 0.05))
    8
    """
    rate, cost = np.broadcast_arrays(
        np.asarray(acceptance_rate, dtype=np.float64), np.asarray(draft_cost_ratio, np.float64)
    )
    counts = np.arange(max_tokens + 1)
    times = formula_time_per_token(rate[..., None], cost[..., None], counts)
    best: IntArray = np.argmin(times, axis=-1).astype(np.int64)
    return best


def is_worth_one_more(
    acceptance_rate: ArrayLike, draft_cost_ratio: ArrayLike, num_speculative_tokens: ArrayLike
) -> NDArray[np.bool_]:
    """Return whether draft token N + 1 lowers (N c + 1) / E.

    The stopping condition in closed form: α^(N+1) · (N c + 1) > c · E(N).
    """
    rate = np.asarray(acceptance_rate, dtype=np.float64)
    cost = np.asarray(draft_cost_ratio, dtype=np.float64)
    count = np.asarray(num_speculative_tokens, dtype=np.float64)
    gain = rate ** (count + 1.0) * formula_step_cost(count, cost)
    return np.asarray(gain > cost * expected_tokens(rate, count))
