"""Acceptance by position: three numbers a curve, and everything that follows from them.

A curve is ``shape = (level, decay, curvature)``; its conditional acceptance at draft position i is
the logistic function of ``level + decay · φ_1(i) + curvature · φ_2(i)``. The decision for this
form is in ``docs/decisions/0001-acceptance-by-position.md``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: Conditional acceptance is kept below this: a measured rate of 1 would have no finite logit.
MAX_CONDITIONAL = 0.999


@lru_cache(maxsize=64)
def position_basis(max_k: int) -> FloatArray:
    """Return φ at positions 1 … ``max_k``, shape (max_k, 3): 1, ln i, i − 1 scaled to decades.

    ln i saturates slowly, as measured conditionals do; the linear column lets a curve bend.
    """
    position = np.arange(1, max_k + 1, dtype=np.float64)
    basis = np.column_stack((np.ones(max_k), np.log(position), (position - 1.0) / 7.0))
    basis.setflags(write=False)
    return basis


def logistic(logit: ArrayLike) -> FloatArray:
    """Return 1 / (1 + exp(−logit)), without overflow for any finite logit."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(logit, dtype=np.float64)))


def logit(rate: ArrayLike) -> FloatArray:
    """Return ln(rate / (1 − rate)); rates are kept inside (1e-6, MAX_CONDITIONAL)."""
    kept = np.clip(np.asarray(rate, dtype=np.float64), 1e-6, MAX_CONDITIONAL)
    return np.log(kept / (1.0 - kept))


def conditional_acceptance(shape: ArrayLike, max_k: int) -> FloatArray:
    """Return α_i for i = 1 … ``max_k`` of one curve (shape (3,)) or many (shape (…, 3))."""
    return logistic(np.asarray(shape, dtype=np.float64) @ position_basis(max_k).T)


def survival_of(conditional: ArrayLike) -> FloatArray:
    """Return the chance that the first i drafts are all accepted: running products of α."""
    return np.cumprod(np.asarray(conditional, dtype=np.float64), axis=-1)


def lengths_of(survival: ArrayLike) -> FloatArray:
    """Return τ for K = 0 … len(survival): 1 + running sums of survival; entry 0 is 1."""
    given = np.asarray(survival, dtype=np.float64)
    ones = np.ones((*given.shape[:-1], 1))
    return np.concatenate((ones, 1.0 + np.cumsum(given, axis=-1)), axis=-1)


def length_and_slope(shape: FloatArray, max_k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return survival (K,), its derivative by the three numbers (K, 3), and of τ − 1 (K, 3).

    ∂ ln survival_i / ∂ shape_j = Σ_{m ≤ i} (1 − α_m) φ_j(m).
    """
    basis = position_basis(max_k)
    rate = logistic(basis @ shape)
    survival = np.cumprod(rate)
    slope = survival[:, None] * np.cumsum((1.0 - rate)[:, None] * basis, axis=0)
    return survival, slope, np.cumsum(slope, axis=0)
