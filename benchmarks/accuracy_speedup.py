"""Speedup and the on/off decision over all rows that stand beside a plain run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy_choice import KnowledgeOf
from benchmarks.accuracy_predict import answer
from benchmarks.accuracy_questions import observed_plain, observed_speculative, question_of
from benchmarks.accuracy_rules import nearest
from benchmarks.accuracy_subjects import Subjects
from scripts.evidence import SpeedRow
from tuner.optimize.choice import decide
from tuner.records.decision import State
from tuner.records.workload import ObservedRow

#: a row counts as off when speculation cost more than three per cent of the speed
OFF_BELOW = 0.97


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedResult:
    """One measured speedup beside its prediction."""

    speed: SpeedRow
    measured: float
    predicted: float
    log_sd: float
    low: float
    high: float
    acceptance_length: float
    step_ratio: float
    #: what was observed: "nothing", "plain", "plain and speculative"
    observed: str = "nothing"
    #: the observed run is this very row
    is_own: bool = False

    @property
    def is_on(self) -> bool:
        return self.measured >= OFF_BELOW

    @property
    def favours_on(self) -> bool:
        """Whether the belief favours on, however slightly."""
        return self.predicted >= 1.0

    @property
    def state(self) -> State:
        """What the product would say: on, off, or measure first."""
        return decide(self.predicted, self.log_sd)

    @property
    def says_on(self) -> bool:
        """Whether the product would switch speculation on without a measurement."""
        return self.state is State.ON


def predict_cold(speeds: Sequence[SpeedRow], knowledge_of: KnowledgeOf) -> list[SpeedResult]:
    """Predict every row with nothing observed."""
    return [_result(speed, knowledge_of, ()) for speed in speeds]


def _result(
    speed: SpeedRow,
    knowledge_of: KnowledgeOf,
    observed: Sequence[ObservedRow],
    *,
    what: str = "nothing",
    is_own: bool = False,
) -> SpeedResult:
    row = speed.row
    question = question_of(row)
    got = answer(question, knowledge_of(row), observed)
    low, high = got.interval()
    assert speed.speedup is not None
    return SpeedResult(
        speed=speed,
        measured=speed.speedup,
        predicted=float(got.speedup[0, 0]),
        log_sd=float(got.log_sd[0, 0]),
        low=float(low[0, 0]),
        high=float(high[0, 0]),
        acceptance_length=float(got.acceptance_length[0, 0]),
        step_ratio=float(got.step_ratio[0, 0]),
        observed=what,
        is_own=is_own,
    )


def predict_calibrated(subjects: Subjects, knowledge_of: KnowledgeOf) -> list[SpeedResult]:
    """Predict every row with the plain run and one speculative run of its setup observed.

    The observed run is the one of the same cell with K nearest 3; a setup with a single K borrows
    none, so there the row itself is observed (``is_own``) as a user would who measured what runs.
    """
    groups: dict[tuple[str, ...], list[SpeedRow]] = defaultdict(list)
    for speed in subjects.paired:
        groups[_same_load(speed)].append(speed)
    found = []
    for group in groups.values():
        at = nearest([_length(speed) for speed in group], 3)
        run = next(speed for speed in group if _length(speed) == at)
        rows = [row for row in (observed_plain(run), observed_speculative(run)) if row]
        for speed in group:
            found.append(
                _result(
                    speed,
                    knowledge_of,
                    rows,
                    what="plain and speculative",
                    is_own=speed is run,
                )
            )
    return found


def _length(speed: SpeedRow) -> int:
    return speed.row.setting[0] if speed.row.setting else 0


def _same_load(speed: SpeedRow) -> tuple[str, ...]:
    """What a user holds fixed when only K changes."""
    raw = speed.row.raw
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
        "batch",
        "rate",
        "context_len",
    )
    return tuple(raw[column] for column in columns)
