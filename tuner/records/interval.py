"""A number with its uncertainty."""

from __future__ import annotations

import math

from tuner.frozen import dataclass

#: 90th percentile of the standard normal distribution
Z90 = 1.2815515655446004


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A central value with the 10th and 90th percentile of the belief about it."""

    mean: float
    p10: float
    p90: float

    @classmethod
    def exact(cls, value: float) -> Interval:
        """Return a number that is known."""
        return cls(mean=value, p10=value, p90=value)

    @classmethod
    def lognormal(
        cls, value: float, log_sd: float, *, lower: float = 0.0, upper: float = math.inf
    ) -> Interval:
        """Return ``value`` with percentiles at ``value * exp(±1.2816 log_sd)``, kept inside limits.

        ``value`` is the centre (median) of the belief; ``log_sd`` is the standard deviation of its
        natural logarithm.
        """
        spread = math.exp(Z90 * log_sd)
        return cls(
            mean=value,
            p10=min(max(value / spread, lower), value),
            p90=max(min(value * spread, upper), value),
        )

    def scaled(self, factor: float) -> Interval:
        """Return the interval in another unit (``factor`` > 0)."""
        return Interval(mean=self.mean * factor, p10=self.p10 * factor, p90=self.p90 * factor)
