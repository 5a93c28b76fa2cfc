"""Goodness-of-fit of sampled tokens against a known law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tuner.simulate.models import FloatArray, IntArray

#: cells expected fewer times than this are pooled, as is usual for the chi-square approximation
#: (Cochran 1954)
MIN_EXPECTED = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One goodness-of-fit test."""

    #: independent observations
    samples: int
    statistic: float
    degrees_of_freedom: int
    #: a larger statistic than this is called a deviation
    critical: float
    p_value: float

    @property
    def fits(self) -> bool:
        """Whether the statistic stays below its critical value."""
        return self.statistic <= self.critical


def chi_square(counts: list[IntArray], laws: list[FloatArray], *, level: float) -> Fit:
    """Return Pearson's test of several independent tables, statistics and degrees added up.

    Parameters
    ----------
    counts : one array of observed counts for each table
    laws : probabilities of the same shapes, each with sum 1
    level : chance of a false alarm

    Notes
    -----
    Cells expected fewer than ``MIN_EXPECTED`` times are pooled into one within their table. An
    observation where the law has probability 0 makes the statistic infinite.
    """
    statistic, degrees, samples = 0.0, 0, 0
    for observed, law in zip(counts, laws, strict=True):
        total = int(observed.sum())
        expected = total * law.ravel()
        seen, wanted = pooled(observed.ravel(), expected)
        samples += total
        if (observed.ravel()[law.ravel() == 0.0] > 0).any():
            statistic = math.inf
        statistic += float(((seen - wanted) ** 2 / wanted).sum())
        degrees += len(wanted) - 1
    return _fit(samples, statistic, degrees, level)


def g_test(counts: IntArray, law: FloatArray, *, level: float) -> Fit:
    """Return the likelihood-ratio test: G = 2 n KL(observed ‖ law), chi-square with V - 1 degrees.

    Parameters
    ----------
    counts : (V,) observed counts
    law : (V,) probabilities
    level : chance of a false alarm
    """
    samples = int(counts.sum())
    observed = counts > 0
    if (law[observed] == 0.0).any():
        statistic = math.inf
    else:
        share = counts[observed] / samples
        statistic = 2.0 * samples * float((share * np.log(share / law[observed])).sum())
    return _fit(samples, statistic, int((law > 0.0).sum()) - 1, level)


def kl_bias(vocab_size: int, samples: int) -> float:
    """Return the mean KL of an empirical distribution from its own law, (V - 1) / 2n nats."""
    return (vocab_size - 1) / (2.0 * samples)


def pooled(observed: IntArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return counts and expectations with rare cells in one; cells expected never are dropped."""
    rare = expected < MIN_EXPECTED
    seen = observed[~rare].astype(np.float64)
    wanted = expected[~rare]
    rest = float(expected[rare].sum())
    if rest <= 0.0:
        return seen, wanted
    tail = float(observed[rare].sum())
    if rest >= MIN_EXPECTED or not len(wanted):
        return np.append(seen, tail), np.append(wanted, rest)
    least = int(wanted.argmin())  # too rare even together: into the smallest of the others
    seen[least] += tail
    wanted[least] += rest
    return seen, wanted


def noncentrality(fault_law: FloatArray, law: FloatArray, samples: int) -> float:
    """Return n Σ (fault - law)² / law over cells, pooled as the test pools them."""
    seen, wanted = pooled(samples * fault_law.ravel(), samples * law.ravel())  # type: ignore[arg-type]
    return float(((seen - wanted) ** 2 / wanted).sum())


def chi_square_power(
    fault_law: FloatArray, law: FloatArray, *, samples: int, level: float
) -> float:
    """Return the chance that Pearson's test notices the fault, by the noncentral chi-square."""
    from scipy.special import chndtr

    degrees = len(pooled(np.zeros(law.size, dtype=np.int64), samples * law.ravel())[1]) - 1
    shift = noncentrality(fault_law, law, samples)
    critical = critical_value(degrees, level)
    # Beyond this shift the series behind chndtr loses digits; the power is 1 to all of them.
    if shift > 20.0 * (critical + degrees + 1.0):
        return 1.0
    return float(1.0 - chndtr(critical, degrees, shift))


def critical_value(degrees_of_freedom: int, level: float) -> float:
    """Return the chi-square value that is exceeded with chance ``level``."""
    from scipy.special import chdtri

    return float(chdtri(degrees_of_freedom, level)) if degrees_of_freedom else 0.0


def _fit(samples: int, statistic: float, degrees: int, level: float) -> Fit:
    from scipy.special import chdtrc

    if degrees:
        p_value = float(chdtrc(degrees, statistic)) if math.isfinite(statistic) else 0.0
    else:  # one possible outcome: it happened every time or the law is broken
        statistic = statistic if math.isfinite(statistic) else math.inf
        p_value = 1.0 if statistic < 1e-9 else 0.0
    return Fit(
        samples=samples,
        statistic=statistic,
        degrees_of_freedom=degrees,
        critical=critical_value(degrees, level) or 1e-9,
        p_value=p_value,
    )
