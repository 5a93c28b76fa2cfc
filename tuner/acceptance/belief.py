"""What is believed about acceptance: prior, updated by whatever was observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.acceptance.level import design
from tuner.acceptance.positions import length_and_slope, lengths_of
from tuner.acceptance.posterior import shape_posterior
from tuner.records.acceptance import AcceptanceBelief, AcceptanceObservation, AcceptanceQuery
from tuner.records.acceptance_prior import AcceptancePrior

FloatArray = np.typing.NDArray[np.float64]


def believe(
    prior: AcceptancePrior,
    query: AcceptanceQuery,
    observed: Sequence[AcceptanceObservation] = (),
    *,
    max_k: int = 16,
) -> AcceptanceBelief:
    """Return the belief about a chain's acceptance for every K up to ``max_k``."""
    mean, covariance = shape_prior(prior, query)
    if observed:
        mean, covariance = shape_posterior(mean, covariance, query, observed)
    survival, _, length_slope = length_and_slope(mean, max_k)
    length = lengths_of(survival)
    variance = np.einsum("ki,ij,kj->k", length_slope, covariance, length_slope)
    log_sd = np.concatenate(([0.0], np.sqrt(variance) / length[1:]))
    n, sources, evidence = _evidence(prior, query)
    return AcceptanceBelief(
        query=query,
        survival=survival,
        length=length,
        length_log_sd=log_sd,
        origin="posterior" if observed else "prior",
        n_measurements=n,
        n_sources=sources,
        evidence=evidence,
    )


def shape_prior(prior: AcceptancePrior, query: AcceptanceQuery) -> tuple[FloatArray, FloatArray]:
    """Return mean (3,) and covariance (3, 3) of (level, decay, curvature) for a query."""
    terms = design(query)
    where = prior.index
    known = [(where[name], value) for name, value in terms.items() if name in where]
    at = np.array([index for index, _ in known])
    value = np.array([number for _, number in known])
    level = float(value @ prior.coefficients[at])
    variance = float(value @ prior.covariance[np.ix_(at, at)] @ value)
    target = prior.targets.get(query.target.target_id or "")
    drafter = prior.drafters.get(query.drafter or "")
    level += (target.mean if target else 0.0) + (drafter.mean if drafter else 0.0)
    variance += (target.sd if target else prior.between_target_sd) ** 2
    variance += (drafter.sd if drafter else prior.between_drafter_sd) ** 2
    variance += prior.between_source_sd**2 + prior.residual_sd**2
    variance *= prior.spread_factor**2
    shape = prior.shapes[query.method]
    mean = np.array([level, *(shape.mean + shape.slope * (level - shape.centre))])
    tilt = np.array([1.0, *shape.slope])
    covariance = variance * np.outer(tilt, tilt)
    covariance[1:, 1:] += shape.covariance
    return mean, covariance


def _evidence(prior: AcceptancePrior, query: AcceptanceQuery) -> tuple[int, int, tuple[str, ...]]:
    for cell in prior.cells:
        if cell.method is query.method and cell.task is query.task:
            return cell.n_measurements, cell.n_sources, cell.evidence
    return 0, 0, ()
