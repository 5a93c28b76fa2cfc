"""How numbers look on the screen: one place for digits, units, ranges and shortened names."""

from __future__ import annotations

import math

from tuner.records.interval import Interval
from tuner.units import milliseconds

ELLIPSIS = "…"
DASH = "–"
_MARK_WIDTH = 1


def milliseconds_text(value_s: float) -> str:
    """Return a time as "9.5 ms": one decimal from 1 ms to 100 ms, more below, none above."""
    return f"{milliseconds_number(value_s)} ms"


def milliseconds_number(value_s: float) -> str:
    """Return the number of milliseconds without its unit."""
    value = milliseconds(value_s)
    if value >= 100.0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1.0 else f"{value:.2f}"


def factor(value: float) -> str:
    """Return a ratio as "2.64×"."""
    return f"{ratio(value)}×"


def ratio(value: float) -> str:
    """Return a ratio with two decimals, with fewer from 10 and from 100."""
    return f"{value:.2f}" if value < 10.0 else f"{value:.1f}" if value < 100.0 else f"{value:,.0f}"


def span(interval: Interval, *, digits: int = 1) -> str:
    """Return the 80 % interval as "2.2–3.0", with a second decimal where the ends look alike."""
    low, high = f"{interval.p10:.{digits}f}", f"{interval.p90:.{digits}f}"
    if low == high and interval.p90 > interval.p10:
        low, high = f"{interval.p10:.{digits + 1}f}", f"{interval.p90:.{digits + 1}f}"
    return f"{low}{DASH}{high}"


def half_width(interval: Interval) -> float:
    """Return half the length of the 80 % interval."""
    return (interval.p90 - interval.p10) / 2.0


def whole_range(start: float, end: float) -> str:
    """Return "17–64", or one number where both ends agree."""
    return f"{start:,.0f}" if start == end else f"{start:,.0f}{DASH}{end:,.0f}"


def plain_number(value: float) -> str:
    """Return a setting (batch, temperature, α) with no more digits than it needs."""
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) else f"{value:.6g}"


def percent(share: float) -> str:
    """Return a share as "97 %"."""
    return f"{share * 100.0:.0f} %"


def counted(count: int, noun: str) -> str:
    """Return "1 row" or "3 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shorten_middle(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters, the middle replaced by an ellipsis.

    The end is favoured: names of drafters differ there.
    """
    if len(text) <= width:
        return text
    if width <= _MARK_WIDTH:
        return ELLIPSIS[: max(width, 0)]
    kept = width - _MARK_WIDTH
    head = kept * 2 // 5
    return text[:head] + ELLIPSIS + text[len(text) - (kept - head) :]
