"""The fitted acceptance prior: plain tables, as they ship. No computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.records.methods import Method, Task

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapePrior:
    """How conditional acceptance of one method runs over positions, before anything is observed.

    logit α_i = level + decay · φ_1(i) + curvature · φ_2(i); the level has its own model
    (``AcceptancePrior.coefficients``), the other two are normal about ``mean``.
    """

    #: decay and curvature, shape (2,)
    mean: FloatArray
    #: their covariance between (target, drafter, task) curves, shape (2, 2)
    covariance: FloatArray
    #: slope of decay and curvature on the level's distance from ``centre``, shape (2,)
    slope: FloatArray
    centre: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One learned offset of the level, in logits."""

    mean: float
    sd: float
    n_measurements: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorCell:
    """Measurements behind one (method, task) cell, as ``catalog priors`` shows them."""

    method: Method
    #: None = all tasks together
    task: Task | None
    n_measurements: int
    n_sources: int
    evidence: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupPrior:
    """Acceptance of drafts copied from the text, by task: a draft is there or it is not."""

    #: share of steps that have a draft, 0…1
    coverage: float
    coverage_logit_sd: float
    #: conditional acceptance at position 1 given a draft, as a logit, and its spread
    level: float
    level_sd: float
    n_measurements: int
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceptancePrior:
    """Everything that is believed about acceptance before the user measured anything."""

    #: names of the level's linear terms, see ``tuner.acceptance.level``
    terms: tuple[str, ...]
    #: their posterior means, shape (P,), and covariance, shape (P, P)
    coefficients: FloatArray
    covariance: FloatArray
    shapes: Mapping[Method, ShapePrior]
    #: standard deviations of the level between targets, drafters, sources and single measurements
    between_target_sd: float
    between_drafter_sd: float
    between_source_sd: float
    residual_sd: float
    #: measured offsets of targets (id) and of drafters (name)
    targets: Mapping[str, Effect] = field(default_factory=dict)
    drafters: Mapping[str, Effect] = field(default_factory=dict)
    lookup: Mapping[tuple[Method, Task], LookupPrior] = field(default_factory=dict)
    #: factor on predictive standard deviations that makes 80 % intervals hold 80 % of left-out
    #: sources
    spread_factor: float = 1.0
    cells: tuple[PriorCell, ...] = ()
    #: the file that the tables were fitted on, and when
    fitted_on: str = ""
    #: positions that any measured curve reached, by method
    deepest_position: Mapping[Method, int] = field(default_factory=dict)
    #: term → place in ``coefficients``
    index: Mapping[str, int] = field(default_factory=dict)
