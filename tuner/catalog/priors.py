"""The fitted priors that ship with the package, read once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tuner.records.acceptance_prior import AcceptancePrior, PriorCell, ShapePrior
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
    spread = document["sd"]
    return AcceptancePrior(
        terms=terms,
        index={name: place for place, name in enumerate(terms)},
        coefficients=np.array(document["coefficients"]),
        covariance=np.array(document["covariance"]),
        shapes={
            Method(name): ShapePrior(
                mean=np.array(shape["mean"]),
                covariance=np.array(shape["covariance"]),
                slope=np.array(shape["slope"]),
                centre=shape["centre"],
            )
            for name, shape in document["shapes"].items()
        },
        between_target_sd=spread["target"],
        between_drafter_sd=spread["drafter"],
        between_source_sd=spread["source"],
        residual_sd=spread["residual"],
        spread_factor=spread["factor"],
        cells=tuple(
            PriorCell(
                method=Method(cell["method"]),
                task=Task(cell["task"]) if cell["task"] else None,
                n_measurements=cell["n"],
                n_sources=len(cell["sources"]),
                evidence=tuple(cell["evidence"]),
                sources=tuple(cell["sources"]),
            )
            for cell in document["cells"]
        ),
        fitted_on=document["fitted_on"],
    )


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
