"""How acceptance moves with temperature, by the rule that decides it."""

from __future__ import annotations

from tuner.records.methods import Method, VerifyRule

#: Change of the level by one unit of temperature, in logits (fitted on published pairs).
SLOPE = -0.3


def temperature_shift(level: float, temperature: float, rule: VerifyRule, method: Method) -> float:
    """Return the change of the level from temperature 0, in logits."""
    return SLOPE * temperature
