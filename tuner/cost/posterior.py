"""What a few measured steps say: a Gaussian update of the logarithms of all parameters.

The parameters are Gaussian around the prior of the setup, and what the equations miss is a
Gaussian process (``tuner.cost.missed``), so that a plain run fixes the scale but is not tied to
the line through the speculative steps. The mode is found by Gauss–Newton steps (Rasmussen and
Williams 2006, sections 2.2 and 2.7: a process with explicit basis functions).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.layout import StepTerms
from tuner.cost.missed import Missed, Places, missed_covariance, missed_variance
from tuner.cost.steps import StepParts, step_parts
from tuner.frozen import dataclass

FloatArray = NDArray[np.float64]

_MAX_STEPS = 12
_MAX_HALVINGS = 5
#: improvement of the misfit (twice the log density) below which the search stops
_SMALLEST_GAIN = 1e-3
#: largest change of a logarithm in one Gauss–Newton step
_LARGEST_MOVE = 1.0
_TINY_S = 1e-12


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measured logarithms with everything needed to predict them."""

    terms: StepTerms
    places: Places
    log_value: FloatArray
    #: variance of each logarithm, shape (n,)
    noise: FloatArray
    #: 0 for parameters that a row cannot inform, because another method was running: shape (P, n)
    informs: FloatArray
    #: shift of the parameters of each row by its own plan, shape (P, n)
    plan_shift: FloatArray


@dataclass(frozen=True, slots=True)
class InformedRows:
    """What a prediction needs of the rows that were measured."""

    places: Places
    #: (prior covariance of the rows)⁻¹, shape (n, n), and its product with their residuals, (n,)
    precision: FloatArray
    weight: FloatArray
    #: gradients of the rows by the parameters that they inform, shape (P, n)
    gradient: FloatArray


@dataclass(frozen=True, slots=True)
class Posterior:
    """Belief about the parameters and about what the equations miss."""

    log_parameters: FloatArray
    #: prior variance of the parameters, shape (P,)
    variance: FloatArray
    missed: Missed
    rows: InformedRows | None = None


def update(
    missed: Missed, mean: FloatArray, variance: FloatArray, evidence: Evidence | None
) -> Posterior:
    """Return the belief after ``evidence``; the prior itself when there is none.

    A speculative row far outside of what the prior expects widens the offset of its method until
    it is no surprise: such a run shows an implementation's habit, and the habit is believed.
    """
    if evidence is None or len(evidence.log_value) == 0:
        return Posterior(mean, variance, missed)
    missed = _with_room(missed, mean, variance, evidence)
    unshared = missed_covariance(missed, evidence.places, evidence.places)
    unshared += np.diag(evidence.noise)
    here = _linearise(unshared, mean, variance, evidence, mean.copy())
    for _ in range(_MAX_STEPS):
        move = np.clip(here.wanted - here.log_parameters, -_LARGEST_MOVE, _LARGEST_MOVE)
        there = _linearise(unshared, mean, variance, evidence, here.log_parameters + move)
        for _ in range(_MAX_HALVINGS):
            if there.misfit <= here.misfit:
                break
            move = 0.5 * move
            there = _linearise(unshared, mean, variance, evidence, here.log_parameters + move)
        if there.misfit > here.misfit:
            break
        gain, here = here.misfit - there.misfit, there
        if gain < _SMALLEST_GAIN:
            break
    rows = InformedRows(evidence.places, here.precision, here.weight, here.gradient)
    return Posterior(here.log_parameters, variance, missed, rows)


class _Point(NamedTuple):
    """The rows linearised at some parameters, and where the line says the mode is."""

    log_parameters: FloatArray
    wanted: FloatArray
    #: twice the negative logarithm of the posterior density, up to a constant
    misfit: float
    precision: FloatArray
    weight: FloatArray
    gradient: FloatArray


def _linearise(
    unshared: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    evidence: Evidence,
    current: FloatArray,
) -> _Point:
    predicted, gradient = _predict(evidence, current)
    informed = gradient * evidence.informs
    rows = unshared + _spread_by(gradient - informed, variance)
    residual = evidence.log_value - predicted
    away = current - mean
    misfit = float(residual @ np.linalg.solve(rows, residual) + np.sum(away**2 / variance))
    precision: FloatArray = np.linalg.inv(rows + _spread_by(informed, variance)).astype(np.float64)
    weight = precision @ (residual + informed.T @ away)
    wanted = mean + variance * (informed @ weight)
    return _Point(current, wanted, misfit, precision, weight, informed)


def expected_missed(
    posterior: Posterior, places: Places, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected missed logarithm at ``places`` and the variance of the prediction.

    ``gradient``, shape (P, n), is that of the predicted logarithm by the parameters.
    """
    scaled = posterior.variance[:, None] * gradient
    before = np.sum(gradient * scaled, axis=0) + missed_variance(posterior.missed, places)
    rows = posterior.rows
    if rows is None:
        return np.zeros_like(before), before
    cross = missed_covariance(posterior.missed, places, rows.places)
    joint = cross + scaled.T @ rows.gradient
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


def _with_room(
    missed: Missed, mean: FloatArray, variance: FloatArray, evidence: Evidence
) -> Missed:
    has_offset = evidence.places.has_offset > 0.0
    if not np.any(has_offset):
        return missed
    predicted, gradient = _predict(evidence, mean)
    own = missed_variance(missed, evidence.places) + evidence.noise
    expected = own + np.einsum("pn,p,pn->n", gradient, variance, gradient)
    residual = evidence.log_value - predicted
    surprise = np.where(has_offset, residual**2 - expected, 0.0)
    return missed._replace(offset=float(np.sqrt(missed.offset**2 + max(surprise.max(), 0.0))))


def _spread_by(gradient: FloatArray, variance: FloatArray) -> FloatArray:
    return (gradient * variance[:, None]).T @ gradient


def _predict(evidence: Evidence, log_parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    parts = step_parts(evidence.terms, log_parameters, evidence.plan_shift)
    return log_step_and_gradient(parts, evidence.places)
