"""How many sequences a limit on the time per token leaves room for, plain and speculative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.advise.points import LOAD_GRID, ArmPoint
from tuner.frozen import dataclass
from tuner.records.decision import LatencyCheck
from tuner.records.interval import Z90, Interval
from tuner.units import MILLI

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TpotCurve:
    """Time per output token over LOAD_GRID, and what bounds the batch."""

    tpot_s: FloatArray
    #: standard deviation of ln TPOT that all configurations share: the plain step's
    plain_log_sd: FloatArray
    #: standard deviation of ln speedup; zeros for plain decoding
    speedup_log_sd: FloatArray
    #: sequences that fit; None = not known
    max_batch: int | None

    def largest_batch(self, limit_s: float, error: FloatArray) -> FloatArray:
        """Return the largest batch within the limit for errors of ln TPOT.

        ``error`` has shape (n, batches of LOAD_GRID), the answer (n,).
        """
        most = LOAD_GRID[-1] if self.max_batch is None else float(self.max_batch)
        found = _largest(self.tpot_s * np.exp(error), limit_s)
        return np.minimum(found, min(most, LOAD_GRID[-1]))

    def beliefs(self, limit_s: float) -> tuple[FloatArray, tuple[int, int]]:
        """Return the largest batch without error and for each pair of errors, and its span.

        The span is the 10th and 90th percentile of the belief about it.
        """
        pairs = _SHARED_ERROR * self.plain_log_sd + _OWN_ERROR * self.speedup_log_sd
        whole = _SPAN * np.hypot(self.plain_log_sd, self.speedup_log_sd)
        found = self.largest_batch(limit_s, np.concatenate((pairs, whole)))
        return np.floor(found[:-2]), (int(found[-2]), int(found[-1]))


def fastest_curve(point: ArmPoint, max_batch: int | None) -> TpotCurve:
    """Return an arm's TPOT over load, with the setting that is fastest at each batch."""
    at = point.over_load
    place = np.arange(len(LOAD_GRID)), np.argmin(at.tpot_s, axis=1)
    return TpotCurve(
        tpot_s=at.tpot_s[place],
        plain_log_sd=at.baseline_log_sd[place],
        speedup_log_sd=at.speedup_log_sd[place],
        max_batch=max_batch,
    )


def latency_check(limit_ms: float | None, plain: TpotCurve, best: TpotCurve) -> LatencyCheck | None:
    """Return the largest batches that keep TPOT within a limit, with beliefs."""
    if limit_ms is None or np.isnan(plain.tpot_s).any():
        return None
    limit_s = limit_ms * MILLI
    plain_batch, plain_span = plain.beliefs(limit_s)
    best_batch, best_span = best.beliefs(limit_s)
    return LatencyCheck(
        limit_s=limit_s,
        plain_batch=int(plain_batch[0]),
        best_batch=int(best_batch[0]),
        plain_span=plain_span,
        best_span=best_span,
        gain=_user_gain(plain_batch, best_batch),
        looked_up_to=int(LOAD_GRID[-1]),
    )


#: Middles of nine equal shares of a standard normal distribution.
_NORMAL_SHARES = np.array(
    (-1.5932, -0.9674, -0.5895, -0.2822, 0.0, 0.2822, 0.5895, 0.9674, 1.5932), dtype=np.float64
)


#: No error, then every pair of errors of the plain step and of the speedup, as columns; the ends
#: of the span.
_SHARED_ERROR = np.concatenate(([0.0], np.repeat(_NORMAL_SHARES, len(_NORMAL_SHARES))))[:, None]
_OWN_ERROR = np.concatenate(([0.0], np.tile(_NORMAL_SHARES, len(_NORMAL_SHARES))))[:, None]
_SPAN = np.array([[Z90], [-Z90]])


def _user_gain(before: FloatArray, after: FloatArray) -> Interval | None:
    """Users at the limit with speculation ÷ without; None where plain decoding misses it.

    The batches are those without error, then for each pair of errors. An error of the plain step
    moves both batches, so the ratio is surer than either: it is taken for each pair before its
    percentiles are.
    """
    if before[0] < 1.0:
        return None
    mean = float(after[0] / before[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        # neither holds even one: no gain to speak of; only speculation does: no finite one
        ratio = np.sort(np.where(before + after == 0.0, 1.0, after / before)[1:])
    low, high = (float(ratio[round(share * (len(ratio) - 1))]) for share in (0.1, 0.9))
    return Interval(mean=mean, p10=min(low, mean), p90=max(high, mean))


def _largest(tpot_s: FloatArray, limit_s: float) -> FloatArray:
    """The last batch before TPOT first exceeds the limit, interpolated; 0 = none.

    ``tpot_s`` has shape (n, batches of LOAD_GRID), the answer (n,).
    """
    over = tpot_s > limit_s
    first = np.argmax(over, axis=1)
    row, before = np.arange(len(tpot_s)), np.maximum(first - 1, 0)
    low, high = tpot_s[row, before], tpot_s[row, first]
    share = (limit_s - low) / np.where(high > low, high - low, 1.0)
    found = LOAD_GRID[before] + share * (LOAD_GRID[first] - LOAD_GRID[before])
    found = np.where(first == 0, 0.0, found)
    held: FloatArray = np.where(over.any(axis=1), found, LOAD_GRID[-1])
    return held
