"""How numbers look on the screen: one place for digits, units, ranges and shortened names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuner.records.interval import Interval
from tuner.records.methods import METHOD_TITLES, Engine, Method
from tuner.units import milliseconds

ELLIPSIS = "…"
DASH = "–"
#: where a name is cut, as the share that stays before the cut; the first that keeps names apart
_HEAD_SHARES = (0.4, 0.6, 0.2, 0.8, 0.0, 0.9)


#: words that are written small wherever they stand: engines, methods, weight formats
CODE_WORDS = frozenset(
    {
        *(engine.value for engine in Engine),
        *(method.value for method in Method if method is not Method.NONE),
        *("awq", "gptq", "gguf"),
    }
)
#: milliseconds that read better in seconds; 999.6 would be rounded up to them
MILLISECONDS_END = 999.5


def time_text(value_s: float) -> str:
    """Return a time as "9.5 ms" or, from a second on, "1.70 s"."""
    if milliseconds(value_s) >= MILLISECONDS_END:
        return f"{seconds_number(value_s)} s"
    return f"{milliseconds_number(value_s)} ms"


def time_change(before_s: float, after_s: float) -> str:
    """Return two times as "17.4 → 9.4 ms", or each with its own unit where these differ."""
    before, after = time_text(before_s), time_text(after_s)
    number, unit = before.rsplit(" ", 1)
    return f"{number if after.endswith(f' {unit}') else before} → {after}"


def time_with_belief(interval_s: Interval) -> str:
    """Return "9.8 ms (6.4–15.1)"; the ends are in the unit of the mean."""
    text = time_text(interval_s.mean)
    if interval_s.p90 <= interval_s.p10:
        return text
    written = seconds_number if text.endswith(" s") else milliseconds_number
    return f"{text} ({written(interval_s.p10)}{DASH}{written(interval_s.p90)})"


def number_with_belief(interval: Interval, *, digits: int) -> str:
    """Return "1,588 (1,290–1,950)"."""
    text = f"{interval.mean:,.{digits}f}"
    if interval.p90 <= interval.p10:
        return text
    return f"{text} ({interval.p10:,.{digits}f}{DASH}{interval.p90:,.{digits}f})"


def seconds_number(value_s: float) -> str:
    """Return the number of seconds without its unit, three digits from 1 s on."""
    if value_s >= 100.0:
        return f"{value_s:,.0f}"
    return f"{value_s:.1f}" if value_s >= 10.0 else f"{value_s:.2f}"


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
    """Return a share as "97 %"; what is not quite certain never reads as 100 %."""
    if 0.995 <= share < 1.0:
        return "over 99 %"
    return f"{share * 100.0:.0f} %"


def counted(count: int, noun: str) -> str:
    """Return "1 row" or "3 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shorten_middle(text: str, width: int, *, head_share: float = 0.4) -> str:
    """Return ``text`` in at most ``width`` characters, the middle replaced by an ellipsis."""
    if len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    kept = width - 1
    head = int(kept * head_share)
    return text[:head] + ELLIPSIS + text[len(text) - (kept - head) :]


def shorten_names(names: Sequence[str], width: int) -> list[str]:
    """Return names in at most ``width`` characters, different ones still different if possible.

    A name loses its owner ("meta-llama/") first, and then its middle.
    """
    bare = [name if len(name) <= width else name.rsplit("/", 1)[-1] for name in names]
    for share in _HEAD_SHARES:
        short = [shorten_middle(name, width, head_share=share) for name in bare]
        if len(set(short)) == len(set(names)):
            return short
    return [shorten_middle(name, width) for name in bare]


def sentence(text: str) -> str:
    """Return ``text`` with a capital at its start, unless its first word is code or a name."""
    is_title = text.startswith(tuple(METHOD_TITLES.values()))
    return text[:1].upper() + text[1:] if is_title or not _starts_with_code(text) else text


def _starts_with_code(text: str) -> bool:
    """Whether the first word has its own spelling: vLLM, llama.cpp, draft_model, awq, 4-bit."""
    first = text.split(" ", 1)[0].rstrip(".,:;")
    is_odd = not first.islower() or any(mark in first for mark in "._/:=") or first.startswith("--")
    return is_odd or first in CODE_WORDS or any(mark.isdigit() for mark in first)
