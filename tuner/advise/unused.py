"""Observed rows that say less than their author may think, each named with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.disagreeing import widen_disagreeing
from tuner.advise.points import ArmPoint
from tuner.advise.queries import is_about
from tuner.advise.situation import Situation
from tuner.advise.timed_rows import timed_rows
from tuner.advise.timings import counted_length, drafted, is_timed, same_hardware
from tuner.records.methods import DRAFT_KIND, DraftKind
from tuner.records.sources import Warning_
from tuner.records.workload import ObservedRow


def unused_rows(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Return a warning for each observed row that could not be used as it stands.

    Rows of methods that are not compared are passed over: they were not asked about.
    """
    compared = {point.arm.method for point in points}
    found = []
    for place, row in enumerate(situation.profile.observed):
        if row.method not in compared:
            continue
        said = _reason(row, situation, points)
        if said:
            message = f"observed[{place}] ({row.method}) {said}"
            found.append(Warning_(code="observed-row", message=message))
    return found


def disagreeing_rows(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Return a warning for each number that timed rows contradict each other about."""
    model = next((point.model for point in points), None)
    if model is None:
        return []
    arms = [(point.arm, point.acceptance) for point in points]
    _, found = widen_disagreeing(timed_rows(situation, arms), model.prior.measurement_noise)
    return [Warning_(code="observed-contradiction", message=str(one)) for one in found]


def _reason(row: ObservedRow, situation: Situation, points: Sequence[ArmPoint]) -> str | None:
    length = counted_length(row)
    if not any(is_about(row, point.arm) for point in points):
        return f"is about the drafter {row.drafter}, which is not compared here: not used."
    if drafted(row) == 0:
        return (
            "has no num_speculative_tokens and no counts that tell the draft length: it says "
            "nothing about acceptance."
        )
    if length is None and not (is_timed(row) and same_hardware(row, situation)):
        return "has neither acceptance nor a time on this hardware, engine and dtype: not used."
    if DRAFT_KIND[row.method] is not DraftKind.LOOKUP or length is None:
        return None
    if row.counts is not None and row.acceptance_length is None:
        return _lookup_counts(row)
    return (
        "is read as over all decode steps; engine logs count only the steps that had a draft, "
        "which for lookups overstates τ."
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
