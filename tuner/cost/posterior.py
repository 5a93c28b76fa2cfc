"""What a few measured steps say: a Gaussian update of the logarithms of all parameters.

The logarithm of a measured time is ln f(θ) + δ + noise. θ is Gaussian around the prior of the
setup; δ is what the equations miss (stairs of tiles, switches of kernels), a Gaussian process over
ln batch and ln tokens. Plain runs share one δ, speculative steps have a second one that is
independent of it, so that a plain run fixes the scale but is not tied to the line through the
speculative steps. The mode is found by Gauss–Newton steps (Rasmussen and Williams 2006, sections
2.2 and 2.7 for the process with explicit basis functions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.cost.steps import StepParts, StepTerms, step_parts
from tuner.records.cost_prior import CostPrior

FloatArray = NDArray[np.float64]

#: e-folds of batch over which the missed part stays alike
BATCH_SCALE = 1.5
_MAX_STEPS = 12
_TOLERANCE = 1e-4
#: largest change of a logarithm in one Gauss–Newton step
_LARGEST_MOVE = 1.0
_TINY_S = 1e-12


@dataclass(frozen=True, slots=True)
class Places:
    """Where in (batch, tokens) times were taken or are wanted; arrays of shape (n,)."""

    log_batch: FloatArray
    log_tokens: FloatArray
    #: weights of ln(step), ln(baseline) and ln(draft) in the number: (1, 0, 0) is a step,
    #: (1, −1, 0) its ratio to a plain one, (0, 0, 1) the time spent drafting
    on_step: FloatArray
    on_baseline: FloatArray
    on_draft: FloatArray
    #: 1 where speculation is on or several tokens are verified
    is_wide: FloatArray

    @property
    def absolute(self) -> FloatArray:
        """1 for a time, 0 for a ratio of times of the same setup."""
        return self.on_step + self.on_baseline + self.on_draft


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measured logarithms with everything needed to predict them."""

    terms: StepTerms
    places: Places
    log_value: FloatArray
    #: variance of each logarithm, shape (n,)
    noise: FloatArray
    #: parameters that a row cannot inform, because another method was running: shape (P, n), 0 or 1
    informs: FloatArray
    #: shift of the parameters of each row by its own plan, shape (P, n)
    plan_shift: FloatArray


@dataclass(frozen=True, slots=True)
class Posterior:
    """Belief about the parameters and about what the equations miss."""

    log_parameters: FloatArray
    covariance: FloatArray
    rows: InformedRows | None = None


@dataclass(frozen=True, slots=True)
class InformedRows:
    """What a prediction needs of the rows that were measured."""

    places: Places
    #: (prior covariance of the rows)⁻¹, shape (n, n), and its product with their residuals, (n,)
    precision: FloatArray
    weight: FloatArray
    #: gradients of the rows by the parameters that they inform, shape (P, n)
    gradient: FloatArray
    #: prior variance of the parameters, shape (P,)
    variance: FloatArray


def update(
    prior: CostPrior, mean: FloatArray, variance: FloatArray, evidence: Evidence | None
) -> Posterior:
    """Return the belief after ``evidence``; the prior itself when there is none."""
    if evidence is None or len(evidence.log_value) == 0:
        return Posterior(mean, np.diag(variance))
    missed = missed_covariance(prior, evidence.places, evidence.places)
    missed = missed + np.diag(evidence.noise)
    current = mean.copy()
    for _ in range(_MAX_STEPS):
        predicted, gradient = _predict(evidence, current)
        informed = gradient * evidence.informs
        other = gradient * (1.0 - evidence.informs)
        unshared = missed + (other * variance[:, None]).T @ other
        total = unshared + (informed * variance[:, None]).T @ informed
        residual = evidence.log_value - predicted - informed.T @ (mean - current)
        precision: FloatArray = np.linalg.inv(total).astype(np.float64)
        weight = precision @ residual
        wanted = mean + variance * (informed @ weight)
        move = np.clip(wanted - current, -_LARGEST_MOVE, _LARGEST_MOVE)
        current = current + move
        if np.max(np.abs(move)) < _TOLERANCE:
            break
    scaled = informed * variance[:, None]
    covariance = np.diag(variance) - scaled @ precision @ scaled.T
    rows = InformedRows(evidence.places, precision, weight, informed, variance)
    return Posterior(current, covariance, rows)


def missed_covariance(prior: CostPrior, first: Places, second: Places) -> FloatArray:
    """Return the covariance of what the equations miss between two sets of places."""
    over_batch = _kernel(first.log_batch, second.log_batch, BATCH_SCALE)
    over_tokens = _kernel(first.log_tokens, second.log_tokens, prior.discrepancy_scale)
    shared = np.outer(first.absolute, second.absolute)
    wide = np.outer(first.on_step * first.is_wide, second.on_step * second.is_wide)
    return (
        prior.plain_discrepancy**2 * shared * over_batch
        + prior.discrepancy**2 * wide * over_batch * over_tokens
    )


def missed_part(
    prior: CostPrior, posterior: Posterior, places: Places, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected missed logarithm at ``places`` and the variance of the whole prediction.

    ``gradient``, shape (P, n), is that of the predicted logarithm by the parameters.
    """
    own = (
        prior.plain_discrepancy**2 * places.absolute**2
        + prior.discrepancy**2 * (places.on_step * places.is_wide) ** 2
    )
    rows = posterior.rows
    if rows is None:
        variance = np.einsum("pn,p,pn->n", gradient, np.diag(posterior.covariance), gradient)
        return np.zeros_like(own), variance + own
    scaled = rows.variance[:, None] * gradient
    cross = missed_covariance(prior, places, rows.places)
    joint = cross + scaled.T @ rows.gradient
    before = np.sum(gradient * scaled, axis=0) + own
    variance = before - np.sum((joint @ rows.precision) * joint, axis=1)
    return cross @ rows.weight, np.maximum(variance, 0.0)


def log_step_and_gradient(parts: StepParts, places: Places) -> tuple[FloatArray, FloatArray]:
    """Return the predicted logarithm that ``places`` asks for, and its gradient."""
    step = parts.step
    base = parts.baseline
    value = places.on_step * np.log(step.seconds) + places.on_baseline * np.log(base.seconds)
    gradient = (
        places.on_step * step.gradient / step.seconds
        + places.on_baseline * base.gradient / base.seconds
    )
    if np.any(places.on_draft):
        draft_s = np.maximum(parts.draft.seconds, _TINY_S)
        value = value + places.on_draft * np.log(draft_s)
        gradient = gradient + places.on_draft * parts.draft.gradient / draft_s
    return value, gradient


def _predict(evidence: Evidence, log_parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    columns = log_parameters[:, None] + evidence.plan_shift
    return log_step_and_gradient(step_parts(evidence.terms, columns), evidence.places)


def _kernel(first: FloatArray, second: FloatArray, scale: float) -> FloatArray:
    distance = np.abs(first[:, None] - second[None, :]) / scale
    return np.exp(-distance)
