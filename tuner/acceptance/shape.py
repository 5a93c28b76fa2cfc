"""The law that ties decay and curvature to the level, method and task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.acceptance.level import is_lookup, pooled_method
from tuner.acceptance.positions import FloatArray, copied_basis, drafted_basis
from tuner.records.acceptance_prior import ShapeLaw
from tuner.records.methods import Method, Task

#: Levels outside these take the law of the nearest: no curve was measured beyond them.
MIN_X, MAX_X = -2.0, 2.0


def basis_of(method: Method, max_k: int) -> FloatArray:
    """Return the position columns of a method, shape (max_k, 3)."""
    return copied_basis(max_k) if is_lookup(method) else drafted_basis(max_k)


def offset_of(law: ShapeLaw, method: Method, task: Task | None) -> FloatArray:
    """Return the law's offset of decay and curvature for a method and task, shape (2,)."""
    found = np.zeros(2)
    for name in (f"method:{pooled_method(method)}", f"task:{task}"):
        if name in law.offsets:
            found = found + law.offsets[name]
    return found


def stacked(laws: Sequence[ShapeLaw]) -> ShapeLaw:
    """Return the laws of several curves as one, for ``law_at``; offsets are looked up before."""
    return ShapeLaw(
        base=np.array([law.base for law in laws]),
        slope=np.array([law.slope for law in laws]),
        bend=np.array([law.bend for law in laws]),
        offsets={},
        covariance=np.array([law.covariance for law in laws]),
    )


def law_at(law: ShapeLaw, level: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return expected (decay, curvature) at levels and their derivative by the level.

    ``level`` has shape (…), ``offset`` and both results (…, 2).
    """
    x = (level - 1.0)[..., None]
    inside = np.minimum(np.maximum(x, MIN_X), MAX_X)
    mean = law.base + inside * law.slope + inside * inside * law.bend + offset
    return mean, (inside == x) * (law.slope + 2.0 * inside * law.bend)
