"""The batch where speculation stops paying, predicted from a run at one batch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy_choice import KnowledgeOf
from benchmarks.accuracy_predict import FloatArray, answer
from benchmarks.accuracy_questions import observed_plain, observed_speculative, question_of
from benchmarks.accuracy_subjects import Subjects
from scripts.evidence import SpeedRow
from tuner.advise.points import LOAD_GRID

#: how far off a predicted crossing may be
FACTOR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """One curve of speedup over batch."""

    name: str
    source: str
    batches: tuple[float, ...]
    speedups: tuple[float, ...]
    #: 0 = pays at no measured batch, infinite = pays at every one
    measured: float
    #: 0 = pays at no batch, infinite = pays at every batch looked at
    predicted: float

    @property
    def crosses(self) -> bool:
        """Whether the crossing lies inside the measured batches."""
        return 0.0 < self.measured < np.inf

    @property
    def is_right(self) -> bool:
        """Within the factor; without a measured crossing the prediction must lie outside too."""
        if self.crosses:
            return self.measured / FACTOR <= self.predicted <= self.measured * FACTOR
        if self.measured > 0.0:
            return self.predicted >= self.batches[-1] / FACTOR
        return self.predicted <= self.batches[0] * FACTOR


def score_crossings(subjects: Subjects, knowledge_of: KnowledgeOf) -> list[Crossing]:
    """Score every curve of at least three batches, calibrated at its smallest batch."""
    found = []
    for group in _curves(subjects):
        first = group[0]
        question = question_of(first.row)
        rows = [row for row in (observed_plain(first), observed_speculative(first)) if row]
        curve = answer(question, knowledge_of(first.row), rows, batches=LOAD_GRID.tolist())
        batches = np.array([speed.row.batch or 1.0 for speed in group])
        speedups = np.array([speed.speedup or np.nan for speed in group])
        found.append(
            Crossing(
                name=curve_name(first),
                source=first.row.source,
                batches=tuple(batches.tolist()),
                speedups=tuple(speedups.tolist()),
                measured=crossing(batches, speedups),
                predicted=crossing(LOAD_GRID, curve.speedup[:, 0]),
            )
        )
    return found


def curve_name(speed: SpeedRow) -> str:
    """Return a name by which a reader finds the curve."""
    row = speed.row
    length = row.setting[0] if row.setting else row.k
    parts = (row.source, row.target_raw, row.method_raw, f"K={length}", row.gpu_raw, row.task_raw)
    return " · ".join(part for part in parts if part)


def crossing(batches: FloatArray, speedups: FloatArray) -> float:
    """Return the batch after which the speedup stays below 1, interpolated in ln batch.

    0 when it is below 1 at every batch, infinite when it is not below 1 at the last.
    """
    above = np.flatnonzero(speedups >= 1.0)
    if above.size == 0:
        return 0.0
    at = int(above[-1])
    if at == len(speedups) - 1:
        return float(np.inf)
    share = (speedups[at] - 1.0) / (speedups[at] - speedups[at + 1])
    return float(np.exp(np.interp(share, [0.0, 1.0], np.log(batches[[at, at + 1]]))))


def _curves(subjects: Subjects) -> list[list[SpeedRow]]:
    columns = (
        "source",
        "sweep",
        "target_model",
        "draft_model",
        "method",
        "engine",
        "gpu",
        "n_gpus",
        "dtype",
        "task",
        "temperature",
        "context_len",
        "draft_len_k",
        "num_steps",
        "topk",
    )
    groups: dict[tuple[str, ...], dict[float, SpeedRow]] = defaultdict(dict)
    for speed in subjects.paired:
        if speed.row.batch is None:
            continue
        raw = dict(speed.row.raw)
        # sweeps that are named by batch hold one curve together
        raw["sweep"] = _without_batch(raw["sweep"], raw["batch"])
        groups[tuple(raw[column] for column in columns)].setdefault(speed.row.batch, speed)
    return [
        [group[batch] for batch in sorted(group)] for group in groups.values() if len(group) >= 3
    ]


def _without_batch(sweep: str, batch: str) -> str:
    for ending in (f"_b{batch}", f"_bs{batch}", f"_c{batch}"):
        sweep = sweep.removesuffix(ending)
    return sweep
