"""Measurements of one thing that differ by more than their own errors explain."""

from __future__ import annotations

import numpy as np

from tuner.acceptance.evidence import Measured
from tuner.acceptance.positions import FloatArray

#: Rows are said to contradict each other when their spread is this many standard deviations more
#: than chance gives (assumed: three).
STRIKING_SD = 3.0


def between_variance(values: FloatArray, variances: FloatArray) -> tuple[float, bool]:
    """Return the variance between several measurements of one number beyond their own.

    The moment estimate of DerSimonian and Laird (1986, eq. 8): (Q − (n − 1)) / (Σw − Σw²/Σw) with
    Q = Σ w (y − ȳ)², w = 1/variance, never below 0. The second value says whether they contradict
    each other strikingly. ``values`` and ``variances`` (> 0) have shape (n,), n ≥ 2.
    """
    weight = 1.0 / variances
    total = weight.sum()
    excess = float(weight @ (values - weight @ values / total) ** 2) - (len(values) - 1)
    between = max(0.0, excess / float(total - (weight**2).sum() / total))
    return between, excess > STRIKING_SD * float(np.sqrt(2.0 * (len(values) - 1)))


def widen_disagreeing(measured: Measured) -> bool:
    """Add the variance between rows to those of the same K (or position) and conditions.

    Rows that agree are left as they are. Returns whether some rows contradict each other
    strikingly (``between_variance``).
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
        between, strikes = between_variance(
            np.array([rows[place][1] for place in places]),
            np.array([rows[place][2] for place in places]),
        )
        is_striking |= strikes
        for place in places:
            k, value, variance, shift = rows[place]
            rows[place] = (k, value, variance + between, shift)
    return is_striking
