"""Choosing among predicted speeds: ties, decisions, and rows of a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tuner.records.decision import State

FloatArray = NDArray[np.float64]

#: Predicted speeds this close are a tie, which goes to the shorter draft. Repeated measurements of
#: one setting differ by 2.7 % (docs/accuracy.md); on measurements whose source was left out, ties
#: of 1.5 to 3 % lose less speed than one of half a percent, and 2 % is the middle of them.
TIE_TOLERANCE = 0.02
#: One row of a schedule may stand for another setting that is at most this much faster: what is a
#: tie at one load is a tie in a row. It keeps schedules short.
ROW_TOLERANCE = TIE_TOLERANCE

#: Speculation is switched on when it is believed to pay with at least this probability (assumed:
#: the level of the beliefs that are shown; docs/accuracy.md scores the decisions it gives) …
ON_CONFIDENCE = 0.8
#: … and left off below this one, which is where it is expected to lose (assumed: plain decoding is
#: what runs today, so an even chance is no reason to measure).
OFF_CONFIDENCE = 0.5


def shortest_within(speed: FloatArray, tolerance: float = TIE_TOLERANCE) -> int:
    """Return the first index whose speed is within ``tolerance`` of the best (shortest first)."""
    best = speed.max()
    return int(np.flatnonzero(speed >= best * (1.0 - tolerance))[0])


def probability_above_one(speedup: float, log_sd: float) -> float:
    """Return the belief that the true speedup exceeds 1, for a log-normal belief."""
    if log_sd <= 0.0:
        return 1.0 if speedup > 1.0 else 0.0
    return 0.5 * (1.0 + math.erf(math.log(speedup) / (log_sd * math.sqrt(2.0))))


def decide(speedup: float, log_sd: float) -> State:
    """Return on, off or measure for the best configuration's belief."""
    pays = probability_above_one(speedup, log_sd)
    if pays >= ON_CONFIDENCE:
        return State.ON
    return State.OFF if pays <= OFF_CONFIDENCE else State.MEASURE


def segments(
    speed: FloatArray,
    *,
    tolerance: float = ROW_TOLERANCE,
    fixed: Mapping[int, int] | None = None,
) -> list[tuple[int, int, int]]:
    """Cover the columns of ``speed`` with few rows that share one setting each.

    Parameters
    ----------
    speed
        Shape (settings, points): speed of each setting at each point of the axis (batch,
        temperature). Settings are in order of preference, the cheapest first.
    tolerance
        A setting may stand for a point when it is within this share of the best there.
    fixed
        Point → the setting that its row must have, such as what was chosen at the load of today.

    Returns
    -------
    (first point, last point, setting), first to last, without gaps.

    Notes
    -----
    Taking each row as long as some setting serves all of it gives the fewest rows (intervals on a
    line: the greedy choice is optimal).
    """
    good = speed >= speed.max(axis=0) * (1.0 - tolerance)
    for point, setting in (fixed or {}).items():
        good[:, point] = False
        good[setting, point] = True
    # one bit for each setting, the first the highest
    settings = [int.from_bytes(column.tobytes(), "big") for column in np.packbits(good, axis=0).T]
    highest = 8 * -(-len(good) // 8)
    rows: list[tuple[int, int, int]] = []
    start, points = 0, speed.shape[1]
    while start < points:
        alive, end = settings[start], start
        while end + 1 < points and alive & settings[end + 1]:
            end += 1
            alive &= settings[end]
        rows.append((start, end, highest - alive.bit_length()))
        start = end + 1
    return rows
