"""Observed rows that say less than their author may think, each named with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tuner.advise.disagreeing import widen_disagreeing
from tuner.advise.points import ArmPoint
from tuner.advise.queries import is_about
from tuner.advise.situation import Situation
from tuner.advise.timed_rows import timed_rows
from tuner.advise.timings import (
    counted_length,
    drafted,
    elsewhere,
    is_timed,
    lacks_depths,
    same_hardware,
)
from tuner.records.methods import DRAFT_KIND, DraftKind, Method
from tuner.records.sources import Warning_
from tuner.records.workload import ObservedRow


class _Said(NamedTuple):
    """Why a row says less than it could."""

    reason: str
    #: whether something of the row is used all the same
    is_used: bool = False


def unused_rows(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Return a warning for each observed row that could not be used as it stands.

    Rows of methods that are not compared are passed over: they were not asked about.
    """
    compared = {Method.NONE, *(point.arm.method for point in points)}
    return [
        Warning_(code="observed-row", message=f"observed[{place}] ({row.method}) {said.reason}")
        for place, row in enumerate(situation.profile.observed)
        if row.method in compared and (said := _said(row, situation, points))
    ]


def used_rows(situation: Situation, points: Sequence[ArmPoint]) -> tuple[ObservedRow, ...]:
    """Return the observed rows of which something is used."""
    compared = {point.arm.method for point in points}
    found = []
    for row in situation.profile.observed:
        said = _said(row, situation, points)
        acts = row.method in compared or _tells_time(row, situation)
        if acts and (said is None or said.is_used):
            found.append(row)
    return tuple(found)


def disagreeing_rows(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Return a warning for each number that timed rows contradict each other about."""
    model = next((point.model for point in points), None)
    if model is None:
        return []
    arms = [(point.arm, point.acceptance) for point in points]
    _, found = widen_disagreeing(timed_rows(situation, arms), model.prior.measurement_noise)
    return [Warning_(code="observed-contradiction", message=str(one)) for one in found]


def _tells_time(row: ObservedRow, situation: Situation) -> bool:
    return situation.setup is not None and is_timed(row) and same_hardware(row, situation)


def _said(row: ObservedRow, situation: Situation, points: Sequence[ArmPoint]) -> _Said | None:
    tells_time, other = _tells_time(row, situation), elsewhere(row, situation)
    if row.method is Method.NONE:
        if tells_time or situation.setup is None:
            return None
        return _Said(f"is not used: {other}." if is_timed(row) and other else "states no time.")
    if drafted(row) == 0:
        return _Said(
            "has no num_speculative_tokens and no counts that tell the draft length: it says "
            "nothing about acceptance and is not used."
        )
    length = counted_length(row)
    if not any(is_about(row, point.arm) for point in points) and row.drafter is not None:
        what = "only its time is used" if tells_time and length is not None else "not used"
        return _Said(
            f"is about the drafter {row.drafter}, which is not compared here: {what}.",
            is_used=tells_time and length is not None,
        )
    if lacks_depths(row) and length is None:
        listed, depth = len(row.acceptance_per_position or ()), drafted(row)
        what = "only its time is used" if tells_time else "not used"
        return _Said(
            f"lists acceptance at {listed} of {depth} depths, which leaves τ of the tree open: "
            f"{what}. List every depth, or give acceptance_length.",
            is_used=tells_time,
        )
    if length is None and not tells_time:
        where = f" ({other})" if other and is_timed(row) else ""
        return _Said(
            f"has neither acceptance nor a time on this hardware, engine and dtype{where}: not "
            "used."
        )
    if is_timed(row) and other and situation.setup is not None:
        return _Said(f"was timed on {other}: only its acceptance is used.", is_used=True)
    return _said_of_lookup(row, tells_time) if DRAFT_KIND[row.method] is DraftKind.LOOKUP else None


def _said_of_lookup(row: ObservedRow, tells_time: bool) -> _Said | None:
    if counted_length(row) is None:
        return None
    if row.counts is not None and row.acceptance_length is None:
        reason = _lookup_counts(row)
        is_used = tells_time or bool(row.counts.accepted_per_position)
        return _Said(reason, is_used=is_used) if reason else None
    return _Said(
        "is read as over all decode steps; engine logs count only the steps that had a draft, "
        "which for lookups overstates τ.",
        is_used=True,
    )


def _lookup_counts(row: ObservedRow) -> str | None:
    counts = row.counts
    if counts is None or counts.num_steps is not None or row.acceptance_per_position is not None:
        return None
    what = "positions after the first are" if counts.accepted_per_position else "nothing is"
    return (
        "counts drafts, not steps, and a lookup does not draft at every step: how often it drafts "
        f"is unknown, so {what} taken from it. A measured speed or τ over all steps tells more."
    )
