"""Where another configuration is best: one line by load, one by temperature."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tuner.records.decision import BatchRow, BreakEven, Schedule, TemperatureRow
from tuner.records.methods import Method
from tuner.report.layout import labelled
from tuner.report.names import column_name
from tuner.report.numbers import plain_number, whole_range

_LABEL_WIDTH = 16


def schedule_parts(schedule: Schedule) -> list[RenderableType]:
    """Return the lines that say something: a schedule of one row changes nothing."""
    parts: list[RenderableType] = []
    if len(schedule.by_batch) > 1:
        text = batch_text(schedule.by_batch) + _load_limit(schedule.pays_to_batch)
        parts.append(labelled("by load", text, width=_LABEL_WIDTH))
    heat = schedule.pays_to_temperature
    if len(schedule.by_temperature) > 1 or (heat and (heat.mean or heat.p10)):
        text = temperature_text(schedule.by_temperature) + _heat_limit(heat)
        if schedule.methods_within_belief:
            text += "; which method leads is within the belief at each"
        parts.append(labelled("by temperature", text, width=_LABEL_WIDTH))
    return ["", *parts] if parts else []


def _load_limit(item: BreakEven | None) -> str:
    """Return up to which batch speculation pays, in words."""
    return _limit(item, "up to batch", "batch")


def _heat_limit(item: BreakEven | None) -> str:
    """Return below which temperature speculation pays, in words."""
    return _limit(item, "below T", "T")


def _limit(item: BreakEven | None, until: str, what: str) -> str:
    if item is None:
        return ""
    last = plain_number(item.looked_up_to)
    low = _stretch(item.p10_from, item.p10, until, what)
    high = _stretch(item.p90_from, item.p90, until, what)
    if item.mean is None:
        text = f"; pays at every {what} looked at, up to {last}"
        is_sure = item.p10 is None and item.p10_from is None
        return text if is_sure else f"{text} (low end of the belief: {low})"
    if item.mean == 0.0:
        return f"; pays nowhere (high end of the belief: {high})"
    text = f"; pays {until} {plain_number(item.mean)}"
    if item.p10_from is not None:
        return f"{text} (low end of the belief: {low}; high end: {high})"
    return f"{text} (80 % belief: {_end(item.p10, last)} to {_end(item.p90, last)})"


def _stretch(start: float | None, end: float | None, until: str, what: str) -> str:
    """Return "up to batch 191", "from batch 64", "batch 64 to 191", "nowhere"."""
    if end == 0.0:
        return "nowhere"
    if start is None:
        return f"at every {what} looked at" if end is None else f"{until} {plain_number(end)}"
    if end is None:
        return f"from {what} {plain_number(start)}"
    return f"{what} {plain_number(start)} to {plain_number(end)}"


def _end(value: float | None, last: str) -> str:
    if value is None:
        return f"beyond {last}"
    return "nowhere" if value == 0.0 else plain_number(value)


def batch_text(rows: Sequence[BatchRow]) -> str:
    """Return "batch 1–16 K 5 · 17–64 K 3 · 65–512 off"; methods named where they change."""
    several = _has_several_methods(rows)
    parts = [f"{whole_range(row.start, row.end)} {_setting(row, several)}" for row in rows]
    return "batch " + " · ".join(parts)


def temperature_text(rows: Sequence[TemperatureRow]) -> str:
    """Return "T below 0.8 K 5 · 0.8 to 1.5 off"; beyond the last nothing was measured."""
    several = _has_several_methods(rows)
    parts = []
    for place, row in enumerate(rows):
        if place == 0:
            where = f"below {plain_number(row.end_exclusive)}"
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
