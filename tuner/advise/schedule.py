"""Where another configuration is best: over load, and over temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tuner.advise.acceptance import lengths_over_temperature
from tuner.advise.arms import Arm
from tuner.advise.evaluate import Evaluated, evaluate
from tuner.advise.knowledge import Knowledge
from tuner.advise.points import LOAD_GRID, ArmPoint
from tuner.advise.situation import Situation
from tuner.optimize.choice import ROW_TOLERANCE, segments
from tuner.records.config import Prediction, SpecConfig, TreeSetting
from tuner.records.decision import BatchRow, BreakEven, Schedule, TemperatureRow
from tuner.records.interval import Z90
from tuner.records.methods import Method

FloatArray = NDArray[np.float64]

#: Temperatures at which the switch is looked for; the last row ends at the last of them: above it
#: there are no measurements of acceptance.
TEMPERATURES = (0.0, 0.3, 0.6, 0.9, 1.2, 1.5)
LAST_TEMPERATURE = TEMPERATURES[-1]
#: How many of the best arms are compared over temperature.
TEMPERATURE_ARMS = 3


def by_batch(
    points: Sequence[ArmPoint], chosen: Prediction
) -> tuple[tuple[BatchRow, ...], BreakEven | None]:
    """Return the batch → K rows of the first arm, and up to which batch it pays.

    An engine runs one method at a time, so the rows change only K; 0 is plain decoding. Where the
    first arm drafts trees, chains of the same drafter are among its settings: they go on paying
    where width no longer does. The row of the profile's own load has the configuration that was
    chosen there. The last batch looked at is the most that fits in memory.
    """
    point = points[0]
    cap = max(min(chosen.max_batch or int(LOAD_GRID[-1]), int(LOAD_GRID[-1])), 1)
    # not np.unique, which imports masked arrays: 40 ms of a command's start
    grid = np.array(sorted({int(load) for load in LOAD_GRID if load <= cap} | {cap}))
    settings: list[tuple[Arm | None, int]] = [(None, 0)]  # the place among the arm's settings
    speeds, doubts = [np.ones((1, len(grid)))], [np.zeros((1, len(grid)))]
    for drafting in (*_chains_of(points), point):
        settings += [(drafting.arm, place) for place in range(len(drafting.arm.lengths))]
        for parts, at in ((speeds, "speedup"), (doubts, "speedup_log_sd")):
            parts.append(np.vstack([getattr(item, at) for item in _over(drafting, grid)]).T)
    speed, log_sd = np.vstack(speeds), np.vstack(doubts)
    own = int(np.searchsorted(grid, chosen.batch, side="right")) - 1
    best = settings.index((point.arm, place_of(point.arm, chosen.config)))
    rows = segments(speed, fixed={own: best if chosen.speedup.mean > 1.0 else 0})
    return (
        tuple(
            BatchRow(
                start=int(grid[first]),
                end=int(grid[last + 1]) - 1 if last + 1 < len(grid) else cap,
                method=arm.method if arm else Method.NONE,
                num_speculative_tokens=arm.lengths[place] if arm else 0,
                speedup=float(speed[setting, first]),
                tree=_tree(arm, place) if arm else None,
            )
            for first, last, setting in rows
            for arm, place in (settings[setting],)
        ),
        _break_even_of(rows, speed, log_sd, grid, {own: best}, inclusive=True),
    )


def _chains_of(points: Sequence[ArmPoint]) -> list[ArmPoint]:
    """The arm that drafts chains with the plan of the first, where that one drafts trees."""
    first = points[0].arm
    if not first.trees:
        return []
    return [item for item in points[1:] if item.arm.plan == first.plan and not item.arm.trees]


def _over(point: ArmPoint, grid: NDArray[np.int64]) -> list[Evaluated]:
    """An arm over the batches of ``grid``: of LOAD_GRID, but for the last."""
    known = int(np.count_nonzero(grid[-1] >= LOAD_GRID))
    parts = [point.over_load.mapped(lambda values: values[:known])]
    if known < len(grid):
        last = (float(grid[-1]),)
        parts.append(evaluate(point.situation, point.model, point.arm, point.acceptance, last))
    return parts


def _break_even_of(
    rows: Sequence[tuple[int, int, int]],
    speed: FloatArray,
    log_sd: FloatArray,
    values: NDArray[np.float64] | NDArray[np.int64],
    chosen: Mapping[int, int],
    *,
    inclusive: bool = False,
) -> BreakEven | None:
    """Return up to where drafting pays with the settings of the rows.

    Setting 0 is plain decoding; where a row has it, and beyond the rows, the fastest other setting
    is looked at. ``chosen`` is what stands in the headline: point → setting.
    """
    points = np.arange(len(values))
    setting = 1 + speed[1:].argmax(axis=0)
    pays = speed[setting, points] >= 1.0 - ROW_TOLERANCE
    for first, last, used in rows:
        pays[first : last + 1] = used > 0
        if used:
            setting[first : last + 1] = used
    for point, used in chosen.items():
        setting[point] = used
    return break_even(
        speed[setting, points], log_sd[setting, points], values, pays=pays, inclusive=inclusive
    )


def break_even(
    speed: FloatArray,
    log_sd: FloatArray,
    values: NDArray[np.float64] | NDArray[np.int64],
    *,
    pays: NDArray[np.bool_] | None = None,
    inclusive: bool = False,
) -> BreakEven | None:
    """Return up to which of the ascending ``values`` speculation pays, with its belief.

    What loses less than a tie still counts as paying, as in the rows; ``pays`` says what the rows
    do. ``inclusive`` counts whole numbers and names the last that pays; else the first that does
    not. The ends of the belief may pay from a later value on, the central curve only from the
    first: None where it does not, or where one of the three pays in more than one stretch: one
    number would hide that.
    """
    least = 1.0 - ROW_TOLERANCE
    middle = speed >= least if pays is None else pays
    curves = (
        middle,
        middle & (speed * np.exp(-Z90 * log_sd) >= least),
        middle | (speed * np.exp(Z90 * log_sd) >= least),
    )
    if any(np.count_nonzero(np.diff(curve.astype(int), prepend=0) > 0) > 1 for curve in curves):
        return None
    if middle.any() and not middle[0]:
        return None
    (_, end), (low_start, low_end), (high_start, high_end) = (
        _stretch(curve, values, inclusive=inclusive) for curve in curves
    )
    return BreakEven(
        mean=end,
        p10=low_end,
        p90=high_end,
        looked_up_to=float(values[-1]),
        p10_from=low_start,
        p90_from=high_start,
    )


def _stretch(
    pays: NDArray[np.bool_],
    values: NDArray[np.float64] | NDArray[np.int64],
    *,
    inclusive: bool,
) -> tuple[float | None, float | None]:
    """Where the one stretch that pays starts and ends; None = with the first and the last value.

    An end of 0 = it pays nowhere.
    """
    paying = np.flatnonzero(pays)
    if not paying.size:
        return None, 0.0
    first, beyond = paying[0], paying[-1] + 1
    return (
        float(values[first]) if first else None,
        float(values[beyond]) - (1.0 if inclusive else 0.0) if beyond < len(values) else None,
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
    within = table[:, :-1]  # rows end at the last temperature
    found = segments(within, fixed=fixed)
    rows, used = [], []
    for first, last, setting in found:
        arm, place = settings[setting]
        used.append(setting)
        rows.append(
            TemperatureRow(
                start=heats[first],
                end_exclusive=heats[last + 1],
                method=arm.method if arm else Method.NONE,
                num_speculative_tokens=arm.lengths[place] if arm else 0,
                speedup=float(table[setting, first]),
                tree=_tree(arm, place) if arm else None,
            )
        )
    doubt = np.concatenate(doubts)
    log_sd = np.broadcast_to(doubt[:, None], table.shape)
    headline = {} if own is None else {own: best}
    return (
        tuple(rows),
        _break_even_of(found, table, log_sd, np.array(heats), headline),
        _within_belief([item for item in used if settings[item][0]], settings, within, doubt),
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
    batches, to_batch = by_batch(points, chosen) if known else ((), None)
    heats, to_temperature, alike = by_temperature(situation, knowledge, points, chosen)
    return Schedule(
        by_batch=batches,
        by_temperature=heats,
        pays_to_batch=to_batch,
        pays_to_temperature=to_temperature,
        methods_within_belief=alike,
    )
