"""Observed rows that were timed on the profile's hardware, with the τ that each is read with."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.acceptance import ArmAcceptance
from tuner.advise.arms import Arm
from tuner.advise.disagreeing import TimedRow
from tuner.advise.queries import is_about
from tuner.advise.situation import Situation
from tuner.advise.timings import cost_observation, counted_length, drafted, same_hardware
from tuner.records.workload import ObservedRow


def timed_rows(
    situation: Situation, arms: Sequence[tuple[Arm, ArmAcceptance]]
) -> tuple[TimedRow, ...]:
    """Return the rows that tell something about time here, in the order of the profile."""
    found = []
    for place, row in enumerate(situation.profile.observed):
        if not same_hardware(row, situation):
            continue
        arm, acceptance = next((pair for pair in arms if is_about(row, pair[0])), (None, None))
        seen = cost_observation(
            row,
            situation,
            acceptance_length=_length(row, arms),
            drafter=arm.plan.drafter if arm else None,
            coverage=acceptance.coverage if acceptance else 1.0,
        )
        if seen is not None:
            is_counted = counted_length(row) is not None or row.step_ms is not None
            text = None if is_counted else (row.task, row.temperature)
            found.append(TimedRow(place=place, seen=seen, tree=row.tree, text=text))
    return tuple(found)


def _length(row: ObservedRow, arms: Sequence[tuple[Arm, ArmAcceptance]]) -> float | None:
    """τ of a row: counted, else as the belief has it that the row's own speed has updated."""
    counted = counted_length(row)
    if counted is not None:
        return counted
    for arm, acceptance in arms:
        index = arm.index_of(drafted(row))
        if is_about(row, arm) and index is not None:
            return float(acceptance.acceptance_length[index])
    return None
