"""Priors refitted without what is scored, so that no answer has seen its own source or target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache

from benchmarks.accuracy_subjects import target_of
from scripts.acceptance_curves import cells_of, curves_by_k, more_rows
from scripts.acceptance_implied import implied_cells
from scripts.acceptance_levels import LevelFit
from scripts.cost_solver import Fitted
from scripts.evidence import MeasuredRow, read_measurements
from scripts.fit_costs import fit as fit_costs
from scripts.fit_costs import fit_with_state
from scripts.fit_priors import fit as fit_priors
from scripts.fit_priors import fit_cells
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.records.cost_prior import CostPrior

#: groups with fewer rows than this share a fold with others
SMALL = 50
#: how many folds the small groups are spread over
SMALL_FOLDS = 6
#: refits that run side by side
WORKERS = 2


@dataclass(slots=True)
class Folds:
    """Knowledge for each row with its own source or target left out of the fit.

    Sources (or targets) that the shipped priors were not fitted on need no refit. Large ones are
    left out one at a time, small ones in a few groups together, which leaves out a little more than
    needed. Another file's rows are answered by priors fitted on the shipped file.
    """

    by: str
    names: dict[str, int] = field(default_factory=dict)
    _knowledge: dict[int, Knowledge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.by == "nothing":
            return
        sizes = Counter(_group(row, self.by) for row in _training_rows())
        small = 0
        for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
            if size >= SMALL:
                self.names[name] = SMALL_FOLDS + len(self.names)
            else:
                self.names[name] = small % SMALL_FOLDS
                small += 1

    @property
    def refits(self) -> int:
        """How many times the priors were fitted."""
        return len(self._knowledge)

    def prepare(self, rows: Iterable[MeasuredRow]) -> None:
        """Refit everything that the rows need, side by side."""
        if self.by == "nothing":
            return
        wanted = {self.names.get(_group(row, self.by)) for row in rows}
        folds = sorted(fold for fold in wanted if fold is not None)
        if not folds:
            return
        groups = [
            tuple(sorted(name for name, at in self.names.items() if at == fold)) for fold in folds
        ]
        _acceptance_start(), _cost_start()  # once, for the workers to inherit
        with ProcessPoolExecutor(WORKERS) as pool:
            found = pool.map(_refit, [self.by] * len(groups), groups)
            self._knowledge = dict(zip(folds, found, strict=True))

    def knowledge_of(self, row: MeasuredRow) -> Knowledge:
        """Return the priors for a row."""
        fold = self.names.get(_group(row, self.by)) if self.by != "nothing" else None
        return shipped_knowledge() if fold is None else self._knowledge[fold]


def _group(row: MeasuredRow, by: str) -> str:
    return row.source if by == "source" else target_of(row)


@cache
def _training_rows() -> tuple[MeasuredRow, ...]:
    return tuple(read_measurements())


@cache
def _cost_start() -> Fitted:
    """The cost fit on everything, from which a fit on fewer rows needs only a few steps."""
    return fit_with_state(_training_rows())[1]


@cache
def _acceptance_start() -> LevelFit:
    """The acceptance fit on everything; refits keep its variances, not its effects."""
    rows = list(_training_rows())
    implied = implied_cells(rows, shipped_knowledge().cost)
    every = [*cells_of([*rows, *more_rows()]), *curves_by_k(), *implied]
    return fit_cells([cell for cell in every if not cell.is_random_text])[1]


def _refit(by: str, names: tuple[str, ...]) -> Knowledge:
    left_out = frozenset(names)
    rows = [row for row in _training_rows() if _group(row, by) not in left_out]
    sources = left_out if by == "source" else frozenset()
    targets = left_out if by == "target" else frozenset()
    cost = fit_costs(rows, exclude_sources=sources, exclude_targets=targets, start=_cost_start())
    acceptance = fit_priors(
        rows,
        exclude_sources=sources,
        exclude_targets=targets,
        start=_acceptance_start(),
        cost=cost,
    )
    return Knowledge(acceptance=acceptance, cost=cost)


@cache
def cost_prior_without(source: str) -> CostPrior:
    """Return the step-time prior refitted without one of the other data files."""
    return fit_costs(_training_rows(), exclude_sources=frozenset({source}), start=_cost_start())
