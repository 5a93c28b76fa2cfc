"""Update of a curve by observations: a Gaussian approximation at the posterior's mode.

Unknown are the level, the deviations of decay and curvature from their law (three numbers) and a
small independent deviation of each position. Together they give the logit of conditional
acceptance at each position, whose prior is Gaussian up to the bend of the law. Observed ln τ and
logit α are Gaussian about the curve. An iterated Kalman update (Bell and Cathey 1993: the same as
Gauss–Newton) finds the mode; the linearisation there gives the covariance.
``tests/acceptance/test_posterior.py`` checks both against integration over a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tuner.acceptance.evidence import Measured
from tuner.acceptance.positions import FloatArray, logistic
from tuner.acceptance.shape import law_at
from tuner.records.acceptance_prior import ShapeLaw

#: Standard deviation of one position's logit about the three-number curve. Curves with
#: per-position counts leave 0.05 to 0.12 (the vLLM speculators blog's DFlash tables); of the values
#: tried from 0.03 to 0.2, this one predicts left-out targets of the file of τ by K best.
POSITION_SD = 0.2
#: The same for drafts copied from the text, of which no curve was tried (assumed).
COPIED_POSITION_SD = 0.08
MAX_ROUNDS = 30
LONGEST_STEP = 1.0
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class CurvePrior:
    """Prior of a curve, or of several: three numbers, the law behind them, position columns."""

    #: (level, decay deviation, curvature deviation), shape (…, 3), and covariance, (…, 3, 3)
    mean: FloatArray
    covariance: FloatArray
    #: one law, or the laws of several curves stacked (``tuner.acceptance.shape.stacked``)
    law: ShapeLaw
    #: the law's offset of decay and curvature for the method and task, shape (…, 2)
    offset: FloatArray
    #: shape (max_k, 3), or (…, max_k, 3) for columns of each curve's own
    basis: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class CurvePosterior:
    """Logits of conditional acceptance by position with covariance, and the three numbers'."""

    logits: FloatArray
    covariance: FloatArray
    numbers: FloatArray
    numbers_covariance: FloatArray


def linearised(prior: CurvePrior, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits by position at three numbers, (…, max_k), and their derivative, (…, max_k, 3).

    ``numbers`` has shape (…, 3).
    """
    mean, slope = law_at(prior.law, numbers[..., 0], prior.offset)
    shape = numbers.copy()
    shape[..., 1:] += mean
    jacobian = np.zeros((*numbers.shape[:-1], *prior.basis.shape[-2:])) + prior.basis
    jacobian[..., 0] += (prior.basis[..., 1:] @ slope[..., None])[..., 0]
    return (prior.basis @ shape[..., None])[..., 0], jacobian


def length_gradient(logits: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return survival, τ for K = 1 … max_k, and ∂ τ_K / ∂ logit_m, shape (…, max_k, max_k).

    The derivative is (1 − α_m) Σ_{m ≤ i ≤ K} survival_i.
    """
    rate = logistic(logits)
    survival: FloatArray = np.multiply.accumulate(rate, axis=-1)
    total = np.add.accumulate(survival, axis=-1)
    before = total - survival
    since = total[..., :, None] - before[..., None, :]
    return survival, 1.0 + total, (1.0 - rate)[..., None, :] * since * _up_to(logits.shape[-1])


@lru_cache(maxsize=64)
def _up_to(max_k: int) -> FloatArray:
    """1 where position m ≤ K, shape (max_k, max_k)."""
    return np.tril(np.ones((max_k, max_k)))


def prior_curve(prior: CurvePrior, position_sd: float | FloatArray = POSITION_SD) -> CurvePosterior:
    """Return the posterior of no observation, of each curve of the prior.

    ``position_sd`` is one number, or has shape (…, 1, 1).
    """
    logits, jacobian = linearised(prior, prior.mean)
    covariance = jacobian @ prior.covariance @ jacobian.swapaxes(-1, -2)
    covariance += position_sd**2 * np.eye(prior.basis.shape[-2])
    return CurvePosterior(logits, covariance, prior.mean, prior.covariance)


def posterior_curve(
    prior: CurvePrior, measured: Measured, position_sd: float = POSITION_SD
) -> CurvePosterior:
    """Return the posterior of a curve.

    Parameters
    ----------
    prior
        Its covariance is positive definite, its basis reaches the longest observed K.
    measured
        Observed ln τ and logit α with variances; a row measured under other conditions comes with
        the prior's expectation of how far its level lies from the asked one.
    position_sd
        Standard deviation of each position's own deviation, logits.
    """
    seen, variance = _seen(measured)
    numbers = prior.mean.copy()
    logits, jacobian = linearised(prior, numbers)
    for _ in range(MAX_ROUNDS):
        at_law, jacobian = linearised(prior, numbers)
        centre = at_law + jacobian @ (prior.mean - numbers)
        covariance = jacobian @ prior.covariance @ jacobian.T
        covariance[np.diag_indices_from(covariance)] += position_sd**2
        expected, rows = _expected(logits, jacobian, measured)
        crossed = covariance @ rows.T
        weights = np.linalg.inv(rows @ crossed + np.diag(variance))
        pull = weights @ (seen - expected + rows @ (logits - centre))
        moved = centre + crossed @ pull - logits
        largest = float(np.abs(moved).max())
        step = min(1.0, LONGEST_STEP / max(largest, 1e-12))
        logits = logits + step * moved
        wanted = prior.mean + prior.covariance @ jacobian.T @ rows.T @ pull
        numbers = numbers + step * (wanted - numbers)
        if largest < TOLERANCE:
            break
    gained = rows @ jacobian @ prior.covariance
    return CurvePosterior(
        logits=logits,
        covariance=covariance - crossed @ weights @ crossed.T,
        numbers=numbers,
        numbers_covariance=prior.covariance - gained.T @ weights @ gained,
    )


def _seen(measured: Measured) -> tuple[FloatArray, FloatArray]:
    rows = [*measured.lengths, *measured.rates]
    return np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def _expected(
    logits: FloatArray, jacobian: FloatArray, measured: Measured
) -> tuple[FloatArray, FloatArray]:
    """Return the observations' expected values and their derivative by the logits."""
    expected: list[float] = []
    rows: list[FloatArray] = []
    moved: dict[float, tuple[FloatArray, FloatArray]] = {}
    for k, _, _, shift in measured.lengths:
        if shift not in moved:
            _, length, gradient = length_gradient(logits + shift * jacobian[:, 0])
            moved[shift] = length, gradient
        length, gradient = moved[shift]
        expected.append(float(np.log(length[k - 1])))
        rows.append(gradient[k - 1] / length[k - 1])
    for position, _, _, shift in measured.rates:
        expected.append(float(logits[position - 1] + shift * jacobian[position - 1, 0]))
        row = np.zeros(len(logits))
        row[position - 1] = 1.0
        rows.append(row)
    return np.array(expected), np.array(rows)
