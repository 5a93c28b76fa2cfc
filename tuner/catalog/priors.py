"""The fitted priors that ship with the package, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.records.acceptance_prior import AcceptancePrior, Effect, PriorCell, ShapeLaw
from tuner.records.cost_prior import PARAMETERS, CostLevel, CostPrior
from tuner.records.methods import Method, Task

DATA = Path(__file__).parent / "data"


@cache
def load_acceptance_prior() -> AcceptancePrior:
    """Return the acceptance prior fitted by ``scripts/fit_priors.py``."""
    return acceptance_prior_from(json.loads((DATA / "acceptance_prior.json").read_text("utf-8")))


def acceptance_prior_from(document: dict[str, Any]) -> AcceptancePrior:
    """Return the prior in a parsed ``acceptance_prior.json``."""
    terms = tuple(document["terms"])
    lower = np.array(document["covariance_lower"], dtype=np.float64)
    covariance = np.zeros((len(terms), len(terms)))
    covariance[np.tril_indices(len(terms))] = lower
    covariance += np.tril(covariance, -1).T
    return AcceptancePrior(
        terms=terms,
        index={name: place for place, name in enumerate(terms)},
        coefficients=np.array(document["coefficients"]),
        covariance=covariance,
        drafted_law=_law_from(document["drafted_law"]),
        standalone_law=_law_from(document["standalone_law"]),
        copied_law=_law_from(document["copied_law"]),
        spread=document["spread"],
        targets=_effects_from(document["targets"]),
        drafters=_effects_from(document["drafters"]),
        recipes=_effects_from(document["recipes"]),
        series=_effects_from(document["series"]),
        spread_factor=document["spread_factor"],
        run_log_sd=document["run_log_sd"],
        cells=tuple(
            PriorCell(
                method=Method(cell["method"]),
                task=Task(cell["task"]) if cell["task"] else None,
                n_measurements=cell["n"],
                n_sources=len(cell["sources"]),
                evidence=tuple(cell["evidence"]),
                sources=tuple(document["sources"][place] for place in cell["sources"]),
            )
            for cell in document["cells"]
        ),
        fitted_on=document["fitted_on"],
        deepest_position={Method(name): k for name, k in document["deepest_position"].items()},
    )


def acceptance_prior_document(prior: AcceptancePrior) -> dict[str, Any]:
    """Return a prior as plain, rounded data: what ``acceptance_prior_from`` reads."""
    sources = sorted({source for cell in prior.cells for source in cell.sources})
    lower = prior.covariance[np.tril_indices(len(prior.terms))]
    return {
        "terms": list(prior.terms),
        "coefficients": [round(float(value), 4) for value in prior.coefficients],
        "covariance_lower": [round(float(value), 5) for value in lower],
        "drafted_law": _law_document(prior.drafted_law),
        "standalone_law": _law_document(prior.standalone_law),
        "copied_law": _law_document(prior.copied_law),
        "spread": dict(prior.spread),
        "targets": _effects_document(prior.targets),
        "drafters": _effects_document(prior.drafters),
        "recipes": _effects_document(prior.recipes),
        "series": _effects_document(prior.series),
        "spread_factor": prior.spread_factor,
        "run_log_sd": prior.run_log_sd,
        "sources": sources,
        "cells": [
            {
                "method": cell.method.value,
                "task": cell.task.value if cell.task else None,
                "n": cell.n_measurements,
                "sources": [sources.index(source) for source in cell.sources],
                "evidence": list(cell.evidence),
            }
            for cell in prior.cells
        ],
        "fitted_on": prior.fitted_on,
        "deepest_position": {m.value: k for m, k in sorted(prior.deepest_position.items())},
    }


def _law_from(document: dict[str, Any]) -> ShapeLaw:
    return ShapeLaw(
        base=np.array(document["base"]),
        slope=np.array(document["slope"]),
        bend=np.array(document["bend"]),
        offsets={name: np.array(values) for name, values in document["offsets"].items()},
        covariance=np.array(document["covariance"]),
        n_curves=document["n_curves"],
    )


def _law_document(law: ShapeLaw) -> dict[str, Any]:
    def rounded(values: NDArray[np.float64]) -> Any:
        return np.round(values, 4).tolist()

    return {
        "base": rounded(law.base),
        "slope": rounded(law.slope),
        "bend": rounded(law.bend),
        "offsets": {name: rounded(values) for name, values in sorted(law.offsets.items())},
        "covariance": np.round(law.covariance, 5).tolist(),
        "n_curves": law.n_curves,
    }


def _effects_from(document: dict[str, list[float]]) -> dict[str, Effect]:
    return {name: Effect(mean=mean, sd=sd) for name, (mean, sd) in document.items()}


def _effects_document(effects: Mapping[str, Effect]) -> dict[str, list[float]]:
    return {name: [effect.mean, effect.sd] for name, effect in sorted(effects.items())}


@cache
def load_cost_prior() -> CostPrior:
    """Return the step-time prior fitted by ``scripts/fit_costs.py``."""
    return cost_prior_from(json.loads((DATA / "cost_prior.json").read_text("utf-8")))


def cost_prior_from(document: dict[str, Any]) -> CostPrior:
    """Return the prior in a parsed ``cost_prior.json``; parameters are named, not ordered."""
    return CostPrior(
        mean=tuple(document["mean"][name] for name in PARAMETERS),
        spread=tuple(document["spread"][name] for name in PARAMETERS),
        levels={
            level: CostLevel(
                shift=tuple(entry["shift"].get(name, 0.0) for name in PARAMETERS),
                n_measurements=entry["n_measurements"],
                n_sources=entry["n_sources"],
            )
            for level, entry in document["levels"].items()
        },
        evidence=tuple(document["evidence"]),
        **document["noise"],
    )
