"""τ at temperature 1 from τ at temperature 0 alone, per source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scripts.acceptance_curves import AcceptanceCell
from scripts.acceptance_levels import length_at_temperature
from tuner.acceptance.level import is_lookup
from tuner.records.acceptance_prior import AcceptancePrior


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureScore:
    """Median absolute relative error of τ at T = 1 for one source."""

    source: str
    pairs: int
    this_model: float
    #: τ(0) times the mean ratio of the other sources' pairs
    ratio_of_means: float
    #: measured mean of τ(1) ÷ τ(0)
    mean_ratio: float


def score_temperature(
    cells: Sequence[AcceptanceCell], prior: AcceptancePrior
) -> list[TemperatureScore]:
    """Score every pair of cells that differ in temperature alone (0 and 1), trees included."""
    groups: dict[tuple[object, ...], dict[float, AcceptanceCell]] = defaultdict(dict)
    for cell in cells:
        if cell.temperature in (0.0, 1.0) and not is_lookup(cell.method):
            key = (
                cell.source, cell.target, cell.drafter, cell.method, cell.data_set, cell.is_tree,
                cell.context_tokens, tuple(cell.lengths),
            )  # fmt: skip
            groups[key][cell.temperature] = cell
    pairs: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for pair in groups.values():
        if len(pair) == 2:
            for k, length in pair[0.0].lengths.items():
                predicted = length_at_temperature(pair[1.0], k, length, prior.drafted_law)
                pairs[pair[0.0].source].append((length, pair[1.0].lengths[k], predicted))
    scores = []
    for source, rows in sorted(pairs.items()):
        cold, hot, predicted = np.array(rows).T
        others = np.array(
            [r[1] / r[0] for name, more in pairs.items() if name != source for r in more]
        )
        ratio = float(others.mean()) if len(others) else 1.0
        scores.append(
            TemperatureScore(
                source=source,
                pairs=len(rows),
                this_model=float(np.median(np.abs(predicted / hot - 1.0))),
                ratio_of_means=float(np.median(np.abs(ratio * cold / hot - 1.0))),
                mean_ratio=float((hot / cold).mean()),
            )
        )
    return scores
