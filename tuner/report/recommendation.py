"""The screen of ``recommend``: the decision, the reason, the candidates, the thing to paste."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tuner.advise.explain import batch_text
from tuner.engines import pretty
from tuner.records.config import Prediction
from tuner.records.decision import EngineCommand, Recommendation, State
from tuner.records.methods import Method
from tuner.report.candidates import candidates_table, difference_sentence
from tuner.report.clients import before_and_after
from tuner.report.decision import STATE_STYLES, STATE_WORDS, decision_lines, headline
from tuner.report.footer import measurement_part, rests_on_parts, warning_parts
from tuner.report.layout import (
    Column,
    fitted_table,
    labelled,
    paragraph,
    pasteable,
    title_line,
)
from tuner.report.names import best_drafting, column_name, setting_text
from tuner.report.numbers import factor, span, time_change, time_text
from tuner.report.schedule import schedule_parts

_LABEL_WIDTH = 9


def render_recommendations(
    found: Sequence[Recommendation], *, width: int, top: int | None = None, quiet: bool = False
) -> list[RenderableType]:
    """Return the screens of all profiles, after a summary where there are several."""
    parts: list[RenderableType] = []
    if len(found) > 1:
        parts += ["", summary_table(found, width=width)]
    for item in found:
        parts += render_recommendation(item, width=width, top=top, quiet=quiet)
    return parts


def render_recommendation(
    item: Recommendation, *, width: int, top: int | None = None, quiet: bool = False
) -> list[RenderableType]:
    """Return the screen of one profile, top to bottom.

    ``top`` limits the table, ``quiet`` leaves the warnings out. Commands are literal lines: print
    them without wrapping or cropping.
    """
    best = best_drafting(item.configs)
    configs = _top(item.configs, top)
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    parts += _decision_part(item, best)
    if item.decision.state is not State.OFF:
        parts += before_and_after(_plain(item.configs), best, width=width)
    parts += ["", paragraph(item.context_line)]
    marked = _plain(item.configs) if item.decision.state is State.OFF else best
    parts += candidates_table(configs, width=width, marked=marked)
    sentences = [difference_sentence(_first(item.configs, marked)), item.flatness]
    told = " ".join(text for text in sentences if text)
    if told:
        parts.append(paragraph(told))
    parts += schedule_parts(item.schedule)
    parts += _command_parts(item, width)
    if not quiet:
        parts += warning_parts([*item.warnings, *(w for c in item.commands for w in c.warnings)])
    parts += rests_on_parts(item.assumptions)
    parts += measurement_part(item.next_measurement)
    return parts


def summary_table(found: Sequence[Recommendation], *, width: int) -> RenderableType:
    """Return one row a profile: decision, setting, speedup, TPOT."""
    best = [best_drafting(item.configs) for item in found]
    return fitted_table(
        [
            Column(
                title="profile",
                cells=tuple(item.profile for item in found),
                align="left",
                shortest=16,
            ),
            Column(
                title="advice",
                cells=tuple(STATE_WORDS[item.decision.state] for item in found),
                align="left",
            ),
            Column(
                title="best draft",
                cells=tuple(
                    f"{column_name(b.config.method)} {setting_text(b.config)}" if b else ""
                    for b in best
                ),
                align="left",
            ),
            Column(
                title="batch",
                cells=tuple(batch_text(item.baseline.batch) for item in found),
                drop_order=1,
            ),
            Column(title="speedup", cells=tuple(factor(b.speedup.mean) if b else "" for b in best)),
            Column(
                title="80 %",
                cells=tuple(_spread(b) for b in best),
                align="left",
                drop_order=2,
            ),
            Column(title="TPOT", cells=tuple(map(_before_after, found, best)), align="right"),
        ],
        width=width,
        indent=2,
    )


def _spread(best: Prediction | None) -> str:
    return span(best.speedup) if best and best.speedup.p90 > best.speedup.p10 else ""


def _before_after(item: Recommendation, best: Prediction | None) -> str:
    plain = item.baseline.tpot_s
    if plain is None:
        return ""
    if item.decision.state is State.OFF or best is None or best.tpot_s is None:
        return time_text(plain.mean)
    return time_change(plain.mean, best.tpot_s.mean)


def _top(configs: tuple[Prediction, ...], top: int | None) -> tuple[Prediction, ...]:
    """Return the first ``top``, and plain decoding always: everything is measured against it."""
    if top is None:
        return configs
    return configs[:top] + tuple(
        item for item in configs[top:] if item.config.method is Method.NONE
    )


def _first(configs: tuple[Prediction, ...], marked: Prediction | None) -> tuple[Prediction, ...]:
    """Return what is marked before the others, which stay in order."""
    return tuple(sorted(configs, key=lambda item: item is not marked))


def _plain(configs: tuple[Prediction, ...]) -> Prediction | None:
    return next((item for item in configs if item.config.method is Method.NONE), None)


def _decision_part(item: Recommendation, best: Prediction | None) -> list[RenderableType]:
    state = item.decision.state
    word = STATE_WORDS[state]
    lines = [headline(item, best), *decision_lines(item, best)]
    text = "\n".join(lines)
    return [labelled(word, text, width=_LABEL_WIDTH, style=STATE_STYLES[state])]


def _command_parts(item: Recommendation, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for command in item.commands:
        parts += ["", *command_part(command, width)]
        if item.decision.state is State.OFF:
            parts.insert(-1, paragraph("without speculation:", style="dim"))
        elif item.decision.state is State.MEASURE:
            parts.insert(-1, paragraph("to try it:", style="dim"))
    return parts


def command_part(command: EngineCommand, width: int) -> list[RenderableType]:
    """Return the command as literal lines that paste back to the same arguments, and its files."""
    parts: list[RenderableType] = [pasteable(pretty(command.argv, width).split("\n"))]
    for name, content in command.files.items():
        parts += ["", paragraph(f"with {name}:", style="dim"), pasteable(content.splitlines())]
    return parts
