"""Update of a curve by observations: a Gaussian approximation at the posterior's mode.

The unknowns are the level and the deviations of decay and curvature from their law (three numbers)
plus a small independent deviation of each position. The prior is Gaussian; observed ln τ and
logit α are Gaussian about the curve. Gauss–Newton finds the mode, its curvature is the covariance.
``tests/acceptance/test_posterior.py`` checks both against integration over a grid.
"""

from __future__ import annotations

import numpy as np

from tuner.acceptance.evidence import Measured
from tuner.acceptance.positions import FloatArray
from tuner.acceptance.shape import law_at, law_curve
from tuner.frozen import dataclass
from tuner.records.acceptance_prior import ShapeLaw

#: Standard deviation of one position's logit about the three-number curve (fitted residuals of
#: curves with per-position counts: 0.08 to 0.12).
POSITION_SD = 0.1
MAX_STEPS = 25
LONGEST_STEP = 0.8
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class CurvePosterior:
    """Mode and covariance of (level, decay deviation, curvature deviation), and of positions."""

    mean: FloatArray
    covariance: FloatArray
    #: deviation of each position's logit, shape (max_k,), and its variance
    deviation: FloatArray
    deviation_variance: FloatArray


def prior_curve(mean: FloatArray, covariance: FloatArray, max_k: int) -> CurvePosterior:
    """Return the posterior of no observation."""
    return CurvePosterior(
        mean=mean,
        covariance=covariance,
        deviation=np.zeros(max_k),
        deviation_variance=np.full(max_k, POSITION_SD**2),
    )


def posterior_curve(
    mean: FloatArray,
    covariance: FloatArray,
    law: ShapeLaw,
    offset: FloatArray,
    basis: FloatArray,
    measured: Measured,
) -> CurvePosterior:
    """Return the posterior of a curve.

    Parameters
    ----------
    mean, covariance
        Prior of the three numbers, shapes (3,) and (3, 3); the covariance is positive definite.
    law, offset
        Law of decay and curvature, and its offset for the method and task, shape (2,).
    basis
        Position columns, shape (max_k, 3); it must reach the longest observed K.
    measured
        Observed ln τ and logit α with variances.

    Notes
    -----
    A row measured under other conditions enters with the level shifted by the prior's expectation
    of the difference; its variance should contain the doubt about that difference.
    """
    precision = np.linalg.inv(covariance)
    at = mean.copy()
    hessian = precision
    for _ in range(MAX_STEPS):
        gradient = precision @ (mean - at)
        hessian = precision.copy()
        for residual, row, weight in _linearised(at, law, offset, basis, measured):
            gradient = gradient + row.T @ (weight * residual)
            hessian = hessian + row.T @ (weight[:, None] * row)
        move = np.linalg.solve(hessian, gradient)
        largest = float(np.abs(move).max())
        at = at + move * min(1.0, LONGEST_STEP / max(largest, 1e-12))
        if largest < TOLERANCE:
            break
    deviation, variance = _positions(at, law, offset, basis, measured)
    return CurvePosterior(at, np.linalg.inv(hessian), deviation, variance)


def _linearised(
    at: FloatArray, law: ShapeLaw, offset: FloatArray, basis: FloatArray, measured: Measured
) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return (residual, derivative rows, weights) of the observations at a point."""
    parts = []
    for shift in {row[3] for row in measured.lengths}:
        rows = [row for row in measured.lengths if row[3] == shift]
        index = np.array([row[0] for row in rows]) - 1
        moved = at + np.array((shift, 0.0, 0.0))
        survival, slope = law_curve(law, moved, offset, basis)
        length = 1.0 + np.cumsum(survival)[index]
        jacobian = np.cumsum(slope, axis=0)[index] / length[:, None]
        seen = np.array([row[1] for row in rows])
        parts.append((seen - np.log(length), jacobian, 1.0 / np.array([r[2] for r in rows])))
    if measured.rates:
        index, seen, variance = _rate_arrays(measured)
        expected, jacobian = _rates_at(at, law, offset, basis, index, measured)
        parts.append((seen - expected, jacobian, 1.0 / (variance + POSITION_SD**2)))
    return parts


def _rate_arrays(measured: Measured) -> tuple[np.ndarray, FloatArray, FloatArray]:
    index = np.array([row[0] for row in measured.rates]) - 1
    seen = np.array([row[1] for row in measured.rates])
    return index, seen, np.array([row[2] for row in measured.rates])


def _rates_at(
    at: FloatArray,
    law: ShapeLaw,
    offset: FloatArray,
    basis: FloatArray,
    index: np.ndarray,
    measured: Measured,
) -> tuple[FloatArray, FloatArray]:
    shifts = np.array([row[3] for row in measured.rates])
    expected, jacobian = np.empty(len(index)), np.empty((len(index), 3))
    for shift in set(shifts.tolist()):
        here = shifts == shift
        level = float(at[0]) + shift
        mean, slope = law_at(law, level, offset)
        rows = basis[index[here]]
        shape = np.array((level, mean[0] + at[1], mean[1] + at[2]))
        expected[here] = rows @ shape
        jacobian[here] = rows
        jacobian[here, 0] += rows[:, 1:] @ slope
    return expected, jacobian


def _positions(
    at: FloatArray, law: ShapeLaw, offset: FloatArray, basis: FloatArray, measured: Measured
) -> tuple[FloatArray, FloatArray]:
    """Return each position's own deviation: what the three numbers leave of measured rates."""
    deviation = np.zeros(len(basis))
    precision = np.full(len(basis), 1.0 / POSITION_SD**2)
    if measured.rates:
        index, seen, variance = _rate_arrays(measured)
        expected, _ = _rates_at(at, law, offset, basis, index, measured)
        np.add.at(precision, index, 1.0 / variance)
        np.add.at(deviation, index, (seen - expected) / variance)
    return deviation / precision, 1.0 / precision
