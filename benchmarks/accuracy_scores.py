"""Scores: errors, intervals, decisions, and how sure each figure is. Arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], float]

#: share of the belief that an interval from p10 to p90 holds
COVERAGE = 0.8
RESAMPLES = 1000
_SEED = 20261129


def quantile(values: Sequence[float] | FloatArray, share: float) -> float | None:
    """Return a quantile; None for nothing."""
    return float(np.quantile(values, share)) if len(values) else None


def mean(values: Sequence[float] | FloatArray) -> float | None:
    """Return the mean; None for nothing."""
    return float(np.mean(values)) if len(values) else None


def interval_score(log_value: FloatArray, log_low: FloatArray, log_high: FloatArray) -> FloatArray:
    """Return the interval score of 80 % intervals on the log scale; smaller is better.

    Width, plus ten times the distance by which the value is outside.

    References
    ----------
    Gneiting and Raftery 2007, "Strictly Proper Scoring Rules, Prediction, and Estimation",
    equation 43 with α = .2.
    """
    miss = 2.0 / (1.0 - COVERAGE)
    below = np.maximum(log_low - log_value, 0.0)
    above = np.maximum(log_value - log_high, 0.0)
    return log_high - log_low + miss * (below + above)


def balanced_accuracy(is_on: NDArray[np.bool_], says_on: NDArray[np.bool_]) -> float | None:
    """Return the mean of the two recalls; None when one class is empty."""
    if is_on.all() or not is_on.any():
        return None
    return float((says_on[is_on].mean() + (~says_on[~is_on]).mean()) / 2.0)


def by_source(values: Sequence[float], sources: Sequence[str]) -> dict[str, FloatArray]:
    """Group values by source, in order of appearance."""
    groups: dict[str, list[float]] = {}
    for value, source in zip(values, sources, strict=True):
        groups.setdefault(source, []).append(value)
    return {source: np.array(group) for source, group in groups.items()}


def macro(groups: Mapping[str, FloatArray], statistic: Statistic) -> float | None:
    """Return the mean over sources of a statistic, so that a large source counts once."""
    return mean([statistic(group) for group in groups.values()]) if groups else None


def bootstrap(
    groups: Mapping[str, FloatArray], statistic: Statistic, *, pooled: bool
) -> tuple[float, float] | None:
    """Return the 5th and 95th percentile of a statistic when sources are drawn with replacement.

    ``pooled`` takes the statistic over all values of the drawn sources, else the mean over sources.
    """
    if len(groups) < 2:
        return None
    rng = np.random.default_rng(_SEED)
    parts = list(groups.values())
    single = np.array([statistic(part) for part in parts])
    found = np.empty(RESAMPLES)
    for at in range(RESAMPLES):
        drawn = rng.integers(0, len(parts), len(parts))
        if pooled:
            found[at] = statistic(np.concatenate([parts[index] for index in drawn]))
        else:
            found[at] = single[drawn].mean()
    low, high = np.quantile(found, [0.05, 0.95])
    return float(low), float(high)


def summary(
    values: Sequence[float], sources: Sequence[str], statistics: Mapping[str, Statistic]
) -> dict[str, object]:
    """Return pooled and macro figures with bootstrap intervals, and the figures by source."""
    groups = by_source(values, sources)
    pool = np.array(values)
    found: dict[str, object] = {"n": len(values), "sources": len(groups)}
    for name, statistic in statistics.items():
        found[name] = {
            "pooled": statistic(pool) if len(pool) else None,
            "pooled_90": bootstrap(groups, statistic, pooled=True),
            "macro": macro(groups, statistic),
            "macro_90": bootstrap(groups, statistic, pooled=False),
        }
    return found


def median_of(values: FloatArray) -> float:
    return float(np.median(values))


def mean_of(values: FloatArray) -> float:
    return float(np.mean(values))


def p90_of(values: FloatArray) -> float:
    return float(np.quantile(values, 0.9))
