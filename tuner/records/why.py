"""What would change the advice."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.config import Prediction
from tuner.records.decision import Decision, NextMeasurement, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """One input, changed alone until the advice changes."""

    #: the input: "acceptance length", "batch", "temperature" …
    what: str
    #: its value now, as text with its unit
    now: str
    #: where the advice changes; None = nowhere in the range looked at
    flips_at: str | None
    #: the advice beyond that point
    becomes: State | None
    #: range looked at, or what the change means
    note: str
    #: where the best setting breaks even, which is not where the advice changes: another setting
    #: may take its place, and a doubt has to be measured
    breaks_even_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The advice, the inputs that flip it, and what to measure next."""

    profile: str
    title: str
    decision: Decision
    best: Prediction | None
    flips: tuple[Flip, ...]
    next_measurement: NextMeasurement | None
