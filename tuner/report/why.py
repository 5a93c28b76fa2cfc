"""The screen of ``why``: each input alone, where it flips the advice, and what to measure."""

from __future__ import annotations

from rich.console import RenderableType

from tuner.records.decision import State
from tuner.records.why import Why
from tuner.report.decision import STATE_STYLES, STATE_WORDS, belief
from tuner.report.footer import measurement_part
from tuner.report.layout import Column, fitted_table, labelled, paragraph, title_line
from tuner.report.names import config_text
from tuner.report.numbers import factor, sentence


def render_why(item: Why, *, width: int) -> list[RenderableType]:
    """Return the advice, the table of flips, and the next measurement."""
    state = item.decision.state
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    parts.append(labelled(STATE_WORDS[state], _advice(item), width=9, style=STATE_STYLES[state]))
    if item.flips:
        parts += ["", paragraph("each input changed alone"), _flips_table(item, width)]
        notes = [(flip.what, flip.note) for flip in item.flips if flip.note]
        parts += [labelled(what, note, width=20, indent=4) for what, note in notes]
    return parts + measurement_part(item.next_measurement)


def _advice(item: Why) -> str:
    if item.best is None:
        return sentence(item.decision.reason)
    gain = f"{factor(item.best.speedup.mean)}{belief(item.best.speedup)}"
    return f"{config_text(item.best.config)}: {gain}."


def _flips_table(item: Why, width: int) -> RenderableType:
    flips = item.flips
    return fitted_table(
        [
            Column(title="input", cells=tuple(flip.what for flip in flips), align="left"),
            Column(title="now", cells=tuple(flip.now for flip in flips), align="left", shortest=10),
            Column(
                title="flips",
                cells=tuple(flip.flips_at or "nowhere looked at" for flip in flips),
                align="left",
                shortest=14,
            ),
            Column(
                title="to",
                cells=tuple(_word(flip.becomes) for flip in flips),
                align="left",
            ),
        ],
        width=width,
        indent=4,
    )


def _word(state: State | None) -> str:
    return "" if state is None else STATE_WORDS[state]
