"""Measurements of one thing that differ by more than their own errors explain."""

from __future__ import annotations

import numpy as np

from tuner.acceptance.evidence import Measured

#: Rows are said to contradict each other when their spread is this many standard deviations more
#: than chance gives (assumed: three).
STRIKING_SD = 3.0


def widen_disagreeing(measured: Measured) -> bool:
    """Add the variance between rows to those of the same K (or position) and conditions.

    The between-row variance is the moment estimate of DerSimonian and Laird (1986, eq. 8):
    (Q − (n − 1)) / (Σw − Σw²/Σw) with Q = Σ w (y − ȳ)², w = 1/variance, never below 0. Rows that
    agree are left as they are. Returns whether some rows contradict each other strikingly.
    """
    return any([_widen(measured.lengths), _widen(measured.rates)])


def _widen(rows: list[tuple[int, float, float, float]]) -> bool:
    groups: dict[tuple[int, float], list[int]] = {}
    for place, (k, _, _, shift) in enumerate(rows):
        groups.setdefault((k, shift), []).append(place)
    is_striking = False
    for places in groups.values():
        if len(places) < 2:
            continue
        seen = np.array([rows[place][1] for place in places])
        weight = 1.0 / np.array([rows[place][2] for place in places])
        total = weight.sum()
        excess = float(weight @ (seen - weight @ seen / total) ** 2) - (len(places) - 1)
        between = max(0.0, excess / float(total - (weight**2).sum() / total))
        is_striking |= excess > STRIKING_SD * np.sqrt(2.0 * (len(places) - 1))
        for place in places:
            k, value, variance, shift = rows[place]
            rows[place] = (k, value, variance + between, shift)
    return is_striking
