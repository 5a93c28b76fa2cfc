"""The screen of ``why``: each input alone, where it flips the advice, and what to measure."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tuner.records.decision import State
from tuner.records.why import Flip, Why
from tuner.report.decision import STATE_STYLES, STATE_WORDS, belief
from tuner.report.footer import measurement_part
from tuner.report.layout import Trimmed, labelled, paragraph, title_line
from tuner.report.names import config_text
from tuner.report.numbers import factor, sentence


def render_why(item: Why, *, width: int) -> list[RenderableType]:
    """Return the advice, the table of flips, and the next measurement."""
    state = item.decision.state
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    parts.append(labelled(STATE_WORDS[state], _advice(item), width=9, style=STATE_STYLES[state]))
    if item.flips:
        parts += ["", paragraph("each input changed alone"), _flips_table(item)]
    return parts + measurement_part(item.next_measurement)


def _advice(item: Why) -> str:
    is_off_though_faster = (
        item.decision.state is State.OFF and item.best and (item.best.speedup.mean > 1.0)
    )
    if item.best is None or is_off_though_faster:
        return sentence(item.decision.reason)
    gain = f"{factor(item.best.speedup.mean)}{belief(item.best.speedup)}"
    return f"{sentence(config_text(item.best.config))}: {gain}."


def _flips_table(item: Why) -> RenderableType:
    """Return input, value now, and where the advice changes; the last column wraps."""
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", width=2)
    for title in ("input", "now"):
        table.add_column(Text(title, style="bold"), no_wrap=True)
    table.add_column(Text("what it would change", style="bold"))
    for flip in item.flips:
        table.add_row("", Text(flip.what), Text(flip.now), Text(_change(flip)))
    return Trimmed(table)


def _change(flip: Flip) -> str:
    if flip.flips_at is None or flip.becomes is None:
        return flip.note or "the same in the range looked at"
    text = f"{STATE_WORDS[flip.becomes]} {_at(flip.flips_at)}"
    return f"{text} ({flip.note})" if flip.note else text


def _at(place: str) -> str:
    """Return "from 192" as it is, and "at 1.16" for a bare value."""
    return place if place.startswith(("from ", "up to ")) else f"at {place}"
