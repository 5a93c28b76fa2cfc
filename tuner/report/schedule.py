"""Where another configuration is best: one line by load, one by temperature."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tuner.records.decision import BatchRow, Schedule, TemperatureRow
from tuner.records.methods import Method
from tuner.report.layout import labelled
from tuner.report.names import column_name
from tuner.report.numbers import plain_number, whole_range

_LABEL_WIDTH = 16


def schedule_parts(schedule: Schedule) -> list[RenderableType]:
    """Return the lines that say something: a schedule of one row changes nothing."""
    parts: list[RenderableType] = []
    if len(schedule.by_batch) > 1:
        parts.append(labelled("by load", batch_text(schedule.by_batch), width=_LABEL_WIDTH))
    if len(schedule.by_temperature) > 1:
        text = temperature_text(schedule.by_temperature)
        parts.append(labelled("by temperature", text, width=_LABEL_WIDTH))
    return ["", *parts] if parts else []


def batch_text(rows: Sequence[BatchRow]) -> str:
    """Return "batch 1–16 K 5 · 17–64 K 3 · 65–512 off"; methods named where they change."""
    several = _has_several_methods(rows)
    parts = [f"{whole_range(row.start, row.end)} {_setting(row, several)}" for row in rows]
    return "batch " + " · ".join(parts)


def temperature_text(rows: Sequence[TemperatureRow]) -> str:
    """Return "T below 0.8 K 5 · 0.8 and above off"."""
    several = _has_several_methods(rows)
    parts = []
    for place, row in enumerate(rows):
        if place == 0:
            where = f"below {plain_number(row.end_exclusive)}"
        elif place == len(rows) - 1:
            where = f"from {plain_number(row.start)}"
        else:
            where = f"{plain_number(row.start)} to {plain_number(row.end_exclusive)}"
        parts.append(f"{where} {_setting(row, several)}")
    return "T " + " · ".join(parts)


def _setting(row: BatchRow | TemperatureRow, several: bool) -> str:
    if row.method is Method.NONE:
        return "off"
    count = f"tree {row.tree}" if row.tree else f"K {row.num_speculative_tokens}"
    return f"{column_name(row.method)} {count}" if several else count


def _has_several_methods(rows: Sequence[BatchRow] | Sequence[TemperatureRow]) -> bool:
    return len({row.method for row in rows if row.method is not Method.NONE}) > 1
