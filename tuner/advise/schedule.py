"""Where another configuration is best: over load, and over temperature."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tuner.advise.acceptance import lengths_over_temperature
from tuner.advise.arms import Arm
from tuner.advise.knowledge import Knowledge
from tuner.advise.points import LOAD_GRID, ArmPoint
from tuner.advise.situation import Situation
from tuner.optimize.choice import ROW_TOLERANCE, segments
from tuner.records.config import Prediction, SpecConfig, TreeSetting
from tuner.records.decision import BatchRow, BreakEven, Schedule, TemperatureRow
from tuner.records.interval import Z90
from tuner.records.methods import Method

FloatArray = NDArray[np.float64]

#: Temperatures at which the switch is looked for, and where the last row ends: above it there are
#: no measurements of acceptance.
TEMPERATURES = (0.0, 0.3, 0.6, 0.9, 1.2)
LAST_TEMPERATURE = 1.5
#: How many of the best arms are compared over temperature.
TEMPERATURE_ARMS = 3


def by_batch(point: ArmPoint, chosen: Prediction) -> tuple[tuple[BatchRow, ...], BreakEven | None]:
    """Return the batch → K rows of one arm, and up to which batch it pays.

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
    return tuple(rows), _pays_to_batch(point, speed, grid)


def _pays_to_batch(point: ArmPoint, speed: FloatArray, grid: NDArray[np.int64]) -> BreakEven | None:
    """Return the last batch before the first looked-at one that loses."""
    columns = np.arange(len(grid))
    log_sd = point.over_load.speedup_log_sd[: len(grid)].T[speed.argmax(axis=0), columns]
    return break_even(speed.max(axis=0), log_sd, grid, inclusive=True)


def break_even(
    speed: FloatArray,
    log_sd: FloatArray,
    values: NDArray[np.float64] | NDArray[np.int64],
    *,
    inclusive: bool = False,
) -> BreakEven | None:
    """Return up to which of the ascending ``values`` speculation pays, with its belief.

    What loses less than a tie still counts as paying, as in the rows. ``inclusive`` counts whole
    numbers and names the last that pays; else the first that does not. None where the central
    curve crosses more than once: one number would hide that.
    """
    least = 1.0 - ROW_TOLERANCE
    pays = speed >= least
    if np.count_nonzero(np.diff(pays.astype(int))) > 1 or (pays[-1] and not pays[0]):
        return None

    def first_loss(deviations: float) -> float | None:
        losing = np.flatnonzero(speed * np.exp(deviations * log_sd) < least)
        if losing.size == 0:
            return None
        if losing[0] == 0:
            return 0.0
        return float(values[losing[0]]) - (1.0 if inclusive else 0.0)

    return BreakEven(
        mean=first_loss(0.0),
        p10=first_loss(-Z90),
        p90=first_loss(Z90),
        looked_up_to=float(values[-1]),
    )


def by_temperature(
    situation: Situation, knowledge: Knowledge, points: Sequence[ArmPoint], chosen: Prediction
) -> tuple[tuple[TemperatureRow, ...], BreakEven | None, bool]:
    """Return the temperature switch over the given arms, below which temperature it pays, and
    whether the order of its methods is within the belief.

    All at the profile's load and tasks. Step time does not depend on temperature; acceptance does.
    Arms come best first. The row of the profile's own temperature has the configuration that was
    chosen there. The doubt about a speedup is taken to be that at the profile's own temperature.
    """
    heats, own = _temperatures(situation)
    speeds: list[FloatArray] = [np.ones((1, len(heats)))]
    settings: list[tuple[Arm | None, int]] = [(None, 0)]  # the place among the arm's lengths
    doubts = [np.zeros(1)]
    points = points[:TEMPERATURE_ARMS]
    lengths = lengths_over_temperature(situation, knowledge, [point.arm for point in points], heats)
    for point, tau in zip(points, lengths, strict=True):
        speeds.append(tau / point.own.step_ratio[:, None])
        settings += [(point.arm, place) for place in range(len(point.arm.lengths))]
        doubts.append(point.own.speedup_log_sd)
    table = np.vstack(speeds)
    best = 1 + place_of(points[0].arm, chosen.config)
    fixed = {} if own is None else {own: best if chosen.speedup.mean > 1.0 else 0}
    rows, used = [], []
    for first, last, setting in segments(table, fixed=fixed):
        arm, place = settings[setting]
        used.append(setting)
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
    doubt = np.concatenate(doubts)
    drafting = table[1:]
    log_sd = doubt[1:][drafting.argmax(axis=0)]
    return (
        tuple(rows),
        break_even(drafting.max(axis=0), log_sd, np.array(heats)),
        _within_belief([item for item in used if settings[item][0]], settings, table, doubt),
    )


def _within_belief(
    used: Sequence[int],
    settings: Sequence[tuple[Arm | None, int]],
    speed: FloatArray,
    log_sd: FloatArray,
) -> bool:
    """Whether rows of different arms are nowhere further apart than their belief allows.

    Errors of two arms are taken as independent. False where one arm has all rows.
    """
    pairs = [(a, b) for a, b in pairwise(used) if settings[a][0] is not settings[b][0]]
    return bool(pairs) and all(
        (np.abs(np.log(speed[a] / speed[b])) < Z90 * np.hypot(log_sd[a], log_sd[b])).all()
        for a, b in pairs
    )


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
    batches, to_batch = by_batch(points[0], chosen) if known else ((), None)
    heats, to_temperature, alike = by_temperature(situation, knowledge, points, chosen)
    return Schedule(
        by_batch=batches,
        by_temperature=heats,
        pays_to_batch=to_batch,
        pays_to_temperature=to_temperature,
        methods_within_belief=alike,
    )
