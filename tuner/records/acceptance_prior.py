"""The fitted acceptance prior: plain tables, as they ship. No computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass
from tuner.records.methods import Method, Task

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeLaw:
    """How conditional acceptance runs over positions, given its level.

    The two numbers behind the level (decay, curvature) are normal about
    ``base + slope·x + bend·x² + offset[method] + offset[task]`` with x = level − 1.
    """

    base: FloatArray
    slope: FloatArray
    bend: FloatArray
    #: method and task → offset, shape (2,)
    offsets: Mapping[str, FloatArray]
    #: covariance of the two numbers between curves, shape (2, 2)
    covariance: FloatArray
    #: curves that it was learned on
    n_curves: int = 0


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceptancePrior:
    """Everything that is believed about acceptance before the user measured anything."""

    #: names of the level's linear terms, see ``tuner.acceptance.level``
    terms: tuple[str, ...]
    #: their posterior means, shape (P,), and covariance, shape (P, P)
    coefficients: FloatArray
    covariance: FloatArray
    #: term → place in ``coefficients``
    index: Mapping[str, int]
    #: law of heads that draft from the target's states, of language models of their own, and of
    #: drafts copied from the text
    drafted_law: ShapeLaw
    standalone_law: ShapeLaw
    copied_law: ShapeLaw
    #: standard deviation of the level by kind of grouping ("target", "drafter", "source",
    #: "residual" and the groups of terms, for values that were never measured)
    spread: Mapping[str, float]
    #: measured offsets of targets (id), drafters, recipes of drafters ("method@owner") and series
    #: (source, data set)
    targets: Mapping[str, Effect] = field(default_factory=dict)
    drafters: Mapping[str, Effect] = field(default_factory=dict)
    recipes: Mapping[str, Effect] = field(default_factory=dict)
    series: Mapping[str, Effect] = field(default_factory=dict)
    #: factor on predictive standard deviations that makes 80 % intervals hold 80 % of left-out
    #: sources
    spread_factor: float = 1.0
    #: standard deviation of ln τ between two runs of the same setting
    run_log_sd: float = 0.01
    cells: tuple[PriorCell, ...] = ()
    #: the files that the tables were fitted on
    fitted_on: str = ""
    #: longest draft with a measured curve, by method
    deepest_position: Mapping[Method, int] = field(default_factory=dict)
