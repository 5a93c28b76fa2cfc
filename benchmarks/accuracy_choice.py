"""Choice of K, and speedup at draft lengths that were not observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.accuracy_predict import answer
from benchmarks.accuracy_questions import observed_plain, observed_speculative, question_of
from benchmarks.accuracy_rules import (
    fixed_rules,
    formula_choice,
    formula_speedups,
    observed_k,
)
from benchmarks.accuracy_subjects import Subjects
from scripts.evidence import Cell, MeasuredRow
from tuner.advise.knowledge import Knowledge
from tuner.optimize.choice import shortest_within
from tuner.records.workload import ObservedRow

KnowledgeOf = Callable[[MeasuredRow], Knowledge]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What every rule loses on one cell, and how the product's curve fits it."""

    cell: Cell
    observed_k: int
    #: rule → 1 − speed at its choice ÷ best measured speed
    regret: dict[str, float]
    chosen: dict[str, int]
    #: K → predicted ÷ measured speedup at K that were not observed
    ratio: dict[int, float] = field(default_factory=dict)
    #: the same by the formula with α and c fitted at the observed K
    formula_ratio: dict[int, float] = field(default_factory=dict)
    #: a plain run stands beside the cell
    has_plain: bool = False


def score_cells(
    subjects: Subjects, knowledge_of: KnowledgeOf, *, cold: bool, calibrated: bool
) -> list[CellResult]:
    """Score every cell cold and calibrated, with the simple rules on the same cells."""
    return [
        _score(subjects, cell, knowledge_of(cell.row), cold=cold, calibrated=calibrated)
        for cell in subjects.cells
    ]


def _score(
    subjects: Subjects, cell: Cell, knowledge: Knowledge, *, cold: bool, calibrated: bool
) -> CellResult:
    measured = sorted(cell.speed)
    at = observed_k(cell)
    question = question_of(cell.row, tuple(measured))
    chosen = fixed_rules(cell)
    formula = formula_choice(cell, at)
    if formula is not None:
        chosen["formula, α at the observed K, c = .05"] = formula
    if cold:
        chosen["product, cold"] = _best(measured, answer(question, knowledge).speedup[0])
    ratio: dict[int, float] = {}
    if calibrated:
        speedups = answer(question, knowledge, observations(subjects, cell, at)).speedup[0]
        chosen["product, calibrated"] = _best(measured, speedups)
        ratio = _ratios(cell, at, dict(zip(measured, speedups.tolist(), strict=True)))
    fitted = formula_speedups(cell, at) or {}
    best = max(cell.speed, key=lambda k: cell.speed[k])
    return CellResult(
        cell=cell,
        observed_k=at,
        regret={rule: 1.0 - cell.speed[k] / cell.speed[best] for rule, k in chosen.items()},
        chosen=chosen,
        ratio=ratio,
        formula_ratio={k: value / cell.speedup[k] for k, value in fitted.items() if k != at},
        has_plain=at in cell.speedup,
    )


def observations(subjects: Subjects, cell: Cell, k: int) -> list[ObservedRow]:
    """Return the plain run of a cell, where there is one, and its speculative run at K."""
    run = subjects.runs.get(cell.key, {}).get(k)
    if run is None:
        return []
    found = [observed_plain(run), observed_speculative(run)]
    return [row for row in found if row is not None]


def _best(measured: list[int], speedups: np.typing.NDArray[np.float64]) -> int:
    """The product's choice among the measured K."""
    return measured[shortest_within(speedups)]


def _ratios(cell: Cell, at: int, predicted: dict[int, float]) -> dict[int, float]:
    """Predicted ÷ measured speedup at the other K; without a plain run relative to the observed."""
    if at in cell.speedup:
        return {
            k: predicted[k] / value
            for k, value in cell.speedup.items()
            if k != at and k in predicted
        }
    return {
        k: (predicted[k] / predicted[at]) / (cell.speed[k] / cell.speed[at])
        for k in cell.speed
        if k != at
    }
