"""The fitted priors that ship with the package, read once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tuner.records.acceptance_prior import AcceptancePrior, PriorCell, ShapePrior
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
