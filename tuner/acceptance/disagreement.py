"""Measurements of one thing that differ by more than their own errors explain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuner.acceptance.evidence import Measured
from tuner.acceptance.positions import FloatArray
from tuner.records.interval import Z90

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


class Striking(NamedTuple):
    """Rows that contradict each other strikingly (``between_variance``)."""

    is_any: bool
    #: (K, ln τ) of those that state τ under the conditions that are asked about
    lengths: tuple[tuple[int, float], ...]


def widen_disagreeing(measured: Measured) -> Striking:
    """Add the variance between rows to those of the same K (or position) and conditions.

    Rows that agree are left as they are. Returns those that contradict each other strikingly.
    """
    lengths, rates = _widen(measured.lengths), _widen(measured.rates)
    here = tuple((k, value) for k, value, _, shift in lengths if shift == 0.0)
    return Striking(bool(lengths or rates), here)


def covering(log_sd: FloatArray, length: FloatArray, striking: Striking) -> FloatArray:
    """Return standard deviations of ln τ whose 80 % intervals reach every contradicting τ.

    The prior would side with one of two rows and leave the other outside of the interval; which of
    them is right is not known. All K widen alike: the rows differ by what the text or the drafter
    was. ``log_sd`` and ``length`` have shape (max_k + 1,), for K = 0 … max_k.
    """
    reach = [
        abs(value - float(np.log(length[k]))) / (Z90 * float(log_sd[k]))
        for k, value in striking.lengths
        if k < len(length) and log_sd[k] > 0.0
    ]
    return log_sd * max([1.0, *reach])


def _widen(
    rows: list[tuple[int, float, float, float]],
) -> list[tuple[int, float, float, float]]:
    """Widen rows in place; return those of groups that contradict each other strikingly."""
    groups: dict[tuple[int, float], list[int]] = {}
    for place, (k, _, _, shift) in enumerate(rows):
        groups.setdefault((k, shift), []).append(place)
    striking = []
    for places in groups.values():
        if len(places) < 2:
            continue
        between, strikes = between_variance(
            np.array([rows[place][1] for place in places]),
            np.array([rows[place][2] for place in places]),
        )
        for place in places:
            k, value, variance, shift = rows[place]
            rows[place] = (k, value, variance + between, shift)
        striking += [rows[place] for place in places] if strikes else []
    return striking
