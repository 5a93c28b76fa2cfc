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

#: a step that much cheaper than a plain one, in ln, is no noise: of 1,018 published runs with τ and
#: a plain run beside them only those of one target go below 0.94 plain steps
#: (data/measurements.csv)
LEAST_GAP = math.log(1.1)
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
    """Rows that contradict each other strikingly, and what they state (seconds or a ratio)."""

    subject: Subject
    places: tuple[int, ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        method, is_ratio = self.subject.method, self.subject.is_ratio
        numbers = [f"{value if is_ratio else value / MILLI:.3g}" for value in self.values]
        told = (
            "They are trusted less by as much as they differ; check"
            if len(numbers) > 1
            else "No step takes less than a plain one: check"
        )
        return (
            f"{_listed([f'observed[{place}]' for place in self.places])} contradict each other: a "
            f"step of {METHOD_TITLES[method]} at batch {self.subject.batch:g} takes "
            f"{_listed(numbers)} {'plain steps' if is_ratio else 'ms'} by them. {told} that they "
            "come from one setup, and leave out what does not."
        )


class _Reading(NamedTuple):
    """A logarithm that rows (by their places among the timed ones) state together."""

    subject: Subject
    rows: tuple[int, ...]
    value: float
    variance: float


def widen_disagreeing(
    rows: Sequence[TimedRow], run_log_sd: float
) -> tuple[tuple[CostObservation, ...], tuple[Disagreement, ...]]:
    """Return the rows with the variance between them as doubt, and what contradicts strikingly.

    Compared are rows of one method, drafter, setting, batch and context (``between_variance``).
    Of plain step, step and ratio two give the third, and that is compared too; a lone ratio clearly
    below 1 is found striking and left as it is. ``run_log_sd`` is the standard deviation of ln time
    between runs of one setting.
    """
    stated = [found for row in range(len(rows)) for found in _readings(rows, row, run_log_sd)]
    readings = [*stated, *_ratios(stated)]
    extra = [0.0] * len(rows)
    found = []
    for subject in dict.fromkeys(one.subject for one in readings):
        alike = [one for one in readings if one.subject == subject]
        if len(alike) == 1:
            between, is_striking = 0.0, subject.is_ratio and alike[0].value < -LEAST_GAP
        else:
            between, is_striking = between_variance(
                np.array([one.value for one in alike]), np.array([one.variance for one in alike])
            )
        for row in (row for one in alike for row in one.rows):
            extra[row] = max(extra[row], between)
        if is_striking:
            places = sorted({rows[row].place for one in alike for row in one.rows})
            numbers = tuple(math.exp(one.value) for one in alike)
            found.append(Disagreement(subject, tuple(places), numbers))
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
            yield _Reading(own._replace(is_ratio=True), (place,), value, noise)
        elif on_step:
            step = value
            yield _Reading(own, (place,), value, noise)
    if step is not None and ratio is not None:
        yield _Reading(_plain(own), (place,), step - ratio, 2.0 * noise)


def _ratios(stated: Sequence[_Reading]) -> Iterator[_Reading]:
    """Ratio of each step that was measured, in the mean, to the plain one measured beside it.

    Rows that state their own ratio are left out: they were held to the plain step already.
    """
    has_ratio = {row for one in stated if one.subject.is_ratio for row in one.rows}
    means: dict[Subject, _Reading] = {}
    for one in stated:
        if not one.subject.is_ratio and not has_ratio & {*one.rows}:
            before = means.get(one.subject)
            means[one.subject] = one if before is None else _mean(before, one)
    for subject, step in means.items():
        plain = means.get(_plain(subject))
        if subject.method is not Method.NONE and plain is not None:
            yield _Reading(
                subject._replace(is_ratio=True),
                (*step.rows, *plain.rows),
                step.value - plain.value,
                step.variance + plain.variance,
            )


def _mean(many: _Reading, one: _Reading) -> _Reading:
    """Add a reading to the mean of several, weighted by their precision."""
    share = many.variance / (many.variance + one.variance)
    value = many.value + share * (one.value - many.value)
    return _Reading(many.subject, (*many.rows, *one.rows), value, many.variance * (1.0 - share))


def _plain(subject: Subject) -> Subject:
    return subject._replace(method=Method.NONE, setting=_PLAIN, text=None)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
