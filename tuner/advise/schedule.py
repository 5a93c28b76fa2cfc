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
from tuner.records.config import Prediction, SpecConfig, TreeSetting
from tuner.records.decision import BatchRow, Schedule, TemperatureRow
from tuner.records.methods import Method

FloatArray = NDArray[np.float64]

#: Temperatures at which the switch is looked for, and where the last row ends: above it there are
#: no measurements of acceptance.
TEMPERATURES = (0.0, 0.3, 0.6, 0.9, 1.2)
LAST_TEMPERATURE = 1.5
#: How many of the best arms are compared over temperature.
TEMPERATURE_ARMS = 3


def by_batch(point: ArmPoint, chosen: Prediction) -> tuple[tuple[BatchRow, ...], int | None]:
    """Return the batch → K rows of one arm, and the largest batch at which it still pays.

    An engine runs one method at a time, so the rows change only K; 0 is plain decoding. The row of
    the profile's own load has the configuration that was chosen there. Batches beyond what fits in
    memory are left out.
    """
    cap = min(chosen.max_batch or int(LOAD_GRID[-1]), int(LOAD_GRID[-1]))
    columns = int(np.searchsorted(LOAD_GRID, max(cap, 1), side="right"))
    grid = LOAD_GRID[:columns].astype(int)
    speed = point.over_load.speedup[:columns].T
    lengths = point.arm.lengths
    table = np.vstack([np.ones(columns), speed])
    own = int(np.searchsorted(grid, chosen.batch, side="right")) - 1
    fixed = {own: place_of(point.arm, chosen.config) + 1 if chosen.speedup.mean > 1.0 else 0}
    rows = [
        BatchRow(
            start=int(grid[first]),
            end=int(grid[last + 1]) - 1 if last + 1 < columns else cap,
            method=point.arm.method if setting else Method.NONE,
            num_speculative_tokens=lengths[setting - 1] if setting else 0,
            speedup=float(table[setting, first]),
            tree=_tree(point.arm, setting - 1) if setting else None,
        )
        for first, last, setting in segments(table, fixed=fixed)
    ]
    losing = np.flatnonzero(speed.max(axis=0) < 1.0)
    if losing.size == 0:
        return tuple(rows), None
    return tuple(rows), max(int(grid[losing[0]]) - 1, 0)


def by_temperature(
    situation: Situation, knowledge: Knowledge, points: Sequence[ArmPoint], chosen: Prediction
) -> tuple[TemperatureRow, ...]:
    """Return the temperature switch over the given arms, at the profile's load and tasks.

    Step time does not depend on temperature; acceptance does. Arms come best first. The row of the
    profile's own temperature has the configuration that was chosen there.
    """
    heats, own = _temperatures(situation)
    speeds: list[FloatArray] = [np.ones((1, len(heats)))]
    settings: list[tuple[Arm | None, int]] = [(None, 0)]  # the place among the arm's lengths
    for point in points[:TEMPERATURE_ARMS]:
        tau = lengths_over_temperature(situation, knowledge, point.arm, heats)
        speeds.append(tau / point.own.step_ratio[:, None])
        settings += [(point.arm, place) for place in range(len(point.arm.lengths))]
    table = np.vstack(speeds)
    best = 1 + place_of(points[0].arm, chosen.config)
    fixed = {} if own is None else {own: best if chosen.speedup.mean > 1.0 else 0}
    rows = []
    for first, last, setting in segments(table, fixed=fixed):
        arm, place = settings[setting]
        rows.append(
            TemperatureRow(
                start=heats[first],
                end_exclusive=heats[last + 1] if last + 1 < len(heats) else LAST_TEMPERATURE,
                method=arm.method if arm else Method.NONE,
                num_speculative_tokens=arm.lengths[place] if arm else 0,
                speedup=float(table[setting, first]),
                tree=_tree(arm, place) if arm else None,
            )
        )
    return tuple(rows)


def _temperatures(situation: Situation) -> tuple[tuple[float, ...], int | None]:
    """The temperatures looked at, with the profile's own among them, and its place."""
    mix = situation.profile.workload.temperature
    if len(mix) > 1 or mix[0][0] >= LAST_TEMPERATURE:
        return TEMPERATURES, None
    heats = tuple(sorted({*TEMPERATURES, mix[0][0]}))
    return heats, heats.index(mix[0][0])


def _tree(arm: Arm, place: int) -> TreeSetting | None:
    return arm.trees[place] if arm.trees else None


def place_of(arm: Arm, config: SpecConfig) -> int:
    """Return the place of a configuration among an arm's settings."""
    if config.tree is not None:
        return arm.trees.index(config.tree)
    return arm.lengths.index(config.num_speculative_tokens)


def build_schedule(
    situation: Situation,
    knowledge: Knowledge,
    points: Sequence[ArmPoint],
    chosen: Prediction | None,
) -> Schedule:
    """Return both switches; ``points`` best first, ``chosen`` a configuration of the first."""
    if not points or chosen is None:
        return Schedule()
    points = [point for point in points if point.memory is None or point.memory.fits]
    if not points:
        return Schedule()
    known = situation.setup is not None
    rows, break_even = by_batch(points[0], chosen) if known else ((), None)
    return Schedule(
        by_batch=rows,
        by_temperature=by_temperature(situation, knowledge, points, chosen),
        break_even_batch=break_even,
    )
