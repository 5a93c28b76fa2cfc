"""Acceptance by position: three numbers a curve, and everything that follows from them.

A curve is ``(level, decay, curvature)``. Its conditional acceptance at draft position i is the
logistic function of ``level + decay · φ_1(i) + curvature · φ_2(i)``. The comparison behind this
form is in ``docs/decisions/0001-acceptance-by-position.md``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: Conditional acceptance is kept inside these: a rate of 0 or 1 has no finite logit. Assumed, far
#: outside what is published (data/acceptance.csv and acceptance_by_k.csv: accepted drafts ÷ K from
#: 0.11 to 0.92). Text that copies its prompt word for word meets the upper one: τ at K = 16 is then
#: at most 16.9 of 17.
MIN_CONDITIONAL, MAX_CONDITIONAL = 1e-4, 0.999
#: Positions per unit of the linear column; a curve of K = 8 then spans one unit.
LINEAR_SCALE = 7.0


@lru_cache(maxsize=256)
def drafted_basis(max_k: int) -> FloatArray:
    """Return φ for drafts that a model or head computes, shape (max_k, 3): 1, ln i, (i − 1) / 7.

    ln i gives the fast first losses that slow down, the linear column the bend behind them.
    """
    position = np.arange(1, max_k + 1, dtype=np.float64)
    columns = (np.ones(max_k), np.log(position), (position - 1.0) / LINEAR_SCALE)
    return _frozen(np.column_stack(columns))


@lru_cache(maxsize=256)
def copied_basis(max_k: int) -> FloatArray:
    """Return φ for drafts copied from the text, shape (max_k, 3).

    Position 1 has its own number (is there a copy, and does it start right?), all later ones share
    the second (does the copy go on?), the third lets that drift with ln(i − 1).
    """
    position = np.arange(1, max_k + 1, dtype=np.float64)
    later = (position > 1).astype(np.float64)
    columns = (1.0 - later, later, np.log(np.maximum(position - 1.0, 1.0)))
    return _frozen(np.column_stack(columns))


def _frozen(basis: FloatArray) -> FloatArray:
    basis.setflags(write=False)
    return basis


def logistic(value: ArrayLike) -> FloatArray:
    """Return 1 / (1 + exp(−value)), without overflow for any finite value."""
    found: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * np.asarray(value, dtype=np.float64)))
    return found


def logit(rate: ArrayLike) -> FloatArray:
    """Return ln(rate / (1 − rate)) of rates kept inside the limits above."""
    kept = np.clip(np.asarray(rate, dtype=np.float64), MIN_CONDITIONAL, MAX_CONDITIONAL)
    found: FloatArray = np.log(kept / (1.0 - kept))
    return found


def survival_of(conditional: ArrayLike) -> FloatArray:
    """Return the chance that the first i drafts are all accepted: running products of α_i."""
    found: FloatArray = np.multiply.accumulate(np.asarray(conditional, dtype=np.float64), axis=-1)
    return found


def conditional_of(survival: ArrayLike) -> FloatArray:
    """Return α_i = survival_i / survival_{i−1}; 0 after a survival of 0."""
    given = np.asarray(survival, dtype=np.float64)
    before = np.concatenate((np.ones((*given.shape[:-1], 1)), given[..., :-1]), axis=-1)
    found: FloatArray = np.divide(given, before, out=np.zeros_like(given), where=before > 0.0)
    return found


def lengths_of(survival: ArrayLike) -> FloatArray:
    """Return τ for K = 0 … len(survival): 1 + running sums of survival; entry 0 is 1."""
    given = np.asarray(survival, dtype=np.float64)
    found = np.ones((*given.shape[:-1], given.shape[-1] + 1))
    found[..., 1:] += np.add.accumulate(given, axis=-1)
    return found


def length_distribution(survival: ArrayLike, num_speculative_tokens: int) -> FloatArray:
    """Return P(a step emits n tokens) for n = 1 … K + 1, shape (…, K + 1).

    n tokens are emitted when n − 1 drafts survive and the next does not; K + 1 when all do.
    """
    given = np.asarray(survival, dtype=np.float64)[..., :num_speculative_tokens]
    ones = np.ones((*given.shape[:-1], 1))
    zeros = np.zeros_like(ones)
    reached = np.concatenate((ones, given, zeros), axis=-1)
    law: FloatArray = reached[..., :-1] - reached[..., 1:]
    return law


def length_variance(survival: ArrayLike, num_speculative_tokens: int) -> FloatArray:
    """Return the variance of tokens emitted by one step.

    E[n²] = 1 + Σ_{i ≤ K} (2 i + 1) · survival_i, since (i + 1)² − i² = 2 i + 1.
    """
    given = np.asarray(survival, dtype=np.float64)[..., :num_speculative_tokens]
    weight = 2.0 * np.arange(1, num_speculative_tokens + 1) + 1.0
    mean = 1.0 + given.sum(axis=-1)
    variance: FloatArray = 1.0 + (weight * given).sum(axis=-1) - mean**2
    return variance


def length_quantile(
    survival: ArrayLike, num_speculative_tokens: int, quantile: float
) -> NDArray[np.int64]:
    """Return the smallest n with P(tokens of a step ≤ n) ≥ ``quantile``, in 1 … K + 1."""
    law = np.cumsum(length_distribution(survival, num_speculative_tokens), axis=-1)
    found: NDArray[np.int64] = np.asarray(1 + (law < quantile - 1e-12).sum(axis=-1))
    return found


def curve(shape: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return survival (K,) and its derivative by the three numbers (K, 3).

    ∂ survival_i / ∂ shape_j = survival_i · Σ_{m ≤ i} (1 − α_m) φ_j(m).
    """
    rate = logistic(basis @ shape)
    survival: FloatArray = np.multiply.accumulate(rate)
    slope: FloatArray = survival[:, None] * np.cumsum((1.0 - rate)[:, None] * basis, axis=0)
    return survival, slope
