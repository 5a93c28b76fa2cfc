"""Where another configuration is best: over load, and over temperature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.advise.acceptance import lengths_over_temperature
from tuner.advise.arms import Arm
from tuner.advise.knowledge import Knowledge
from tuner.advise.points import LOAD_GRID, ArmPoint
from tuner.advise.situation import Situation
from tuner.optimize.choice import segments
from tuner.records.config import TreeSetting
from tuner.records.decision import BatchRow, Schedule, TemperatureRow
from tuner.records.methods import Method

FloatArray = NDArray[np.float64]

#: Temperatures at which the switch is looked for; engines accept more, few people use it.
TEMPERATURES = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5)
#: How many of the best arms are compared over temperature.
TEMPERATURE_ARMS = 3


def by_batch(point: ArmPoint) -> tuple[tuple[BatchRow, ...], int | None]:
    """Return the batch → K rows of one arm, and the largest batch at which it still pays.

    An engine runs one method at a time, so the rows change only K; 0 is plain decoding. Batches
    beyond what fits in memory are left out.
    """
    cap = point.memory.max_batch if point.memory else int(LOAD_GRID[-1])
    columns = int(np.searchsorted(LOAD_GRID, max(cap, 1), side="right"))
    grid = LOAD_GRID[:columns].astype(int)
    speed = point.over_load.speedup[:columns].T
    lengths = point.arm.lengths
    table = np.vstack([np.ones(columns), speed])
    rows = [
        BatchRow(
            start=int(grid[first]),
            end=int(grid[last + 1]) - 1 if last + 1 < columns else int(min(cap, LOAD_GRID[-1])),
            method=point.arm.method if setting else Method.NONE,
            num_speculative_tokens=lengths[setting - 1] if setting else 0,
            speedup=float(table[setting, first]),
            tree=_tree(point.arm, setting - 1) if setting else None,
        )
        for first, last, setting in segments(table)
    ]
    losing = np.flatnonzero(speed.max(axis=0) < 1.0)
    if losing.size == 0:
        return tuple(rows), None
    return tuple(rows), max(int(grid[losing[0]]) - 1, 0)


def by_temperature(
    situation: Situation, knowledge: Knowledge, points: Sequence[ArmPoint]
) -> tuple[TemperatureRow, ...]:
    """Return the temperature switch over the given arms, at the profile's load and tasks.

    Step time does not depend on temperature; acceptance does. Arms come best first.
    """
    if not points:
        return ()
    speeds: list[FloatArray] = [np.ones((1, len(TEMPERATURES)))]
    settings: list[tuple[Arm | None, int]] = [(None, 0)]  # the place among the arm's lengths
    for point in points[:TEMPERATURE_ARMS]:
        tau = lengths_over_temperature(situation, knowledge, point.arm, TEMPERATURES)
        speeds.append(tau / point.own.step_ratio[:, None])
        settings += [(point.arm, place) for place in range(len(point.arm.lengths))]
    table = np.vstack(speeds)
    rows = []
    for first, last, setting in segments(table):
        arm, place = settings[setting]
        end = TEMPERATURES[last + 1] if last + 1 < len(TEMPERATURES) else 2.0
        rows.append(
            TemperatureRow(
                start=TEMPERATURES[first],
                end_exclusive=end,
                method=arm.method if arm else Method.NONE,
                num_speculative_tokens=arm.lengths[place] if arm else 0,
                speedup=float(table[setting, first]),
                tree=_tree(arm, place) if arm else None,
            )
        )
    return tuple(rows)


def _tree(arm: Arm, place: int) -> TreeSetting | None:
    return arm.trees[place] if arm.trees else None


def build_schedule(
    situation: Situation, knowledge: Knowledge, points: Sequence[ArmPoint]
) -> Schedule:
    """Return both switches; ``points`` best first."""
    if not points:
        return Schedule()
    rows, break_even = by_batch(points[0])
    return Schedule(
        by_batch=rows if situation.setup is not None else (),
        by_temperature=by_temperature(situation, knowledge, points),
        break_even_batch=break_even if situation.setup is not None else None,
    )
