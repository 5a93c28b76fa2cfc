"""Published measurements as the fits and the benchmark read them.

``read_measurements`` gives one :class:`MeasuredRow` a number; ``speed_rows`` brings the numbers of
one configuration together (speed, plain counterpart, τ); ``cells`` are the setups with several K.
"""

from __future__ import annotations

from scripts.evidence_names import method_of, tasks_of
from scripts.evidence_rows import DATA, MeasuredRow, by_source, read_measurements
from scripts.evidence_setups import (
    CHOICE_METRICS,
    RATIO_METRICS,
    SPEED_METRICS,
    Cell,
    PlainRuns,
    SpeedRow,
    acceptance_length_of,
    cells,
    config_key,
    is_chain,
    setup_key,
    speed_rows,
)

__all__ = [
    "CHOICE_METRICS",
    "DATA",
    "RATIO_METRICS",
    "SPEED_METRICS",
    "Cell",
    "MeasuredRow",
    "PlainRuns",
    "SpeedRow",
    "acceptance_length_of",
    "by_source",
    "cells",
    "config_key",
    "is_chain",
    "method_of",
    "read_measurements",
    "setup_key",
    "speed_rows",
    "tasks_of",
]
