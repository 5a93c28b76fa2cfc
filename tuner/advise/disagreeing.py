"""Timed rows about one thing that differ by more than runs do: doubted, and named."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tuner.acceptance.disagreement import between_variance
from tuner.cost.observations import measured_logs
from tuner.frozen import dataclass
from tuner.records.cost import CostObservation
from tuner.records.methods import METHOD_TITLES, Method
from tuner.units import MILLI

#: drafter, draft steps, verified tokens and tree of plain decoding
_PLAIN = (None, 0, 1, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRow:
    """An observed row as the cost model reads it."""

    #: place in the profile's list
    place: int
    seen: CostObservation
    #: (steps, topk, draft tokens); None = a chain
    tree: tuple[int, int, int] | None = None
    #: task and temperature where τ was not counted: such a step compares with its like alone
    text: Hashable = None


class Subject(NamedTuple):
    """What several rows can state: the time of a step, or its ratio to a plain one."""

    method: Method
    setting: Hashable
    batch: float
    context_tokens: float | None
    is_ratio: bool = False
    text: Hashable = None


class Disagreement(NamedTuple):
    """Rows that contradict each other strikingly, and what each states (seconds or a ratio)."""

    subject: Subject
    places: tuple[int, ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        method, is_ratio = self.subject.method, self.subject.is_ratio
        numbers = [f"{value if is_ratio else value / MILLI:.3g}" for value in self.values]
        return (
            f"{_listed([f'observed[{place}]' for place in self.places])} contradict each other: a "
            f"step of {METHOD_TITLES[method]} at batch {self.subject.batch:g} takes "
            f"{_listed(numbers)} {'plain steps' if is_ratio else 'ms'} by them. They are "
            "trusted less by as much as they differ; check that they come from one setup, and "
            "leave out what does not."
        )


class _Reading(NamedTuple):
    subject: Subject
    #: place among the rows
    row: int
    log_value: float
    variance: float


def widen_disagreeing(
    rows: Sequence[TimedRow], run_log_sd: float
) -> tuple[tuple[CostObservation, ...], tuple[Disagreement, ...]]:
    """Return the rows with the variance between them as doubt, and what contradicts strikingly.

    Compared are rows of one method, drafter, setting, batch and context (``between_variance``).
    ``run_log_sd`` is the standard deviation of ln time between runs of one setting.
    """
    readings = [found for row in range(len(rows)) for found in _readings(rows, row, run_log_sd)]
    extra = [0.0] * len(rows)
    found = []
    for subject in dict.fromkeys(one.subject for one in readings):
        alike = [one for one in readings if one.subject == subject]
        if len(alike) < 2:
            continue
        values = np.array([one.log_value for one in alike])
        between, is_striking = between_variance(values, np.array([one.variance for one in alike]))
        for one in alike:
            extra[one.row] = max(extra[one.row], between)
        if is_striking:
            places = tuple(rows[one.row].place for one in alike)
            found.append(Disagreement(subject, places, tuple(np.exp(values).tolist())))
    widened = tuple(
        replace(row.seen, log_sd=math.sqrt(row.seen.log_sd**2 + between)) if between else row.seen
        for row, between in zip(rows, extra, strict=True)
    )
    return widened, tuple(found)


def _readings(rows: Sequence[TimedRow], place: int, run_log_sd: float) -> Iterator[_Reading]:
    """What a row states of its step, its ratio and, where it has both, of the plain step."""
    row, seen = rows[place], rows[place].seen
    noise = run_log_sd**2 + seen.log_sd**2
    setting = seen.drafter, seen.draft_steps, seen.verify_tokens, row.tree
    own = Subject(seen.method, setting, seen.batch, seen.context_tokens, text=row.text)
    step = ratio = None
    for value, on_step, on_baseline, _on_draft in measured_logs(seen):
        if on_baseline:
            ratio = value
            yield _Reading(own._replace(is_ratio=True), place, value, noise)
        elif on_step:
            step = value
            yield _Reading(own, place, value, noise)
    if step is not None and ratio is not None:
        own = own._replace(method=Method.NONE, setting=_PLAIN, text=None)
        yield _Reading(own, place, step - ratio, 2.0 * noise)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
