"""The screen of a profile swept over batch or temperature."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.console import RenderableType

from tuner.optimize.grid import FLAT_SHARE
from tuner.records.decision import State
from tuner.records.methods import METHOD_TITLES, Method
from tuner.records.sweep import ProfileSweep, SweepAxis, SweepPoint
from tuner.report.decision import STATE_WORDS
from tuner.report.layout import Column, fitted_table, literal, paragraph, title_line
from tuner.report.names import column_name, config_text, drafter_text, setting_text
from tuner.report.numbers import factor, percent, plain_number, span, time_text
from tuner.report.plots import Series, line_plot

_AXIS_LABELS = {
    SweepAxis.BATCH: "batch",
    SweepAxis.TEMPERATURE: "T",
    SweepAxis.DRAFT_TOKENS: "K",
}


def render_profile_sweep(
    sweep: ProfileSweep, *, width: int, blocks: bool = True
) -> list[RenderableType]:
    """Return the table with its changes marked, the curve, and one sentence."""
    points = sweep.points
    series = Series(
        label="",
        x=[point.value for point in points],
        y=[point.speedup.mean for point in points],
    )
    plot = line_plot(
        [series],
        width=width,
        x_label=_AXIS_LABELS[sweep.axis],
        y_label="speedup of the best that drafts",
        x_log=sweep.axis is SweepAxis.BATCH,
        blocks=blocks,
    )
    return [
        "",
        title_line(sweep.profile, sweep.title, width),
        "",
        _table(sweep, width),
        *_legend(sweep),
        "",
        literal(plot),
        "",
        paragraph(sweep_sentence(sweep)),
    ]


def _legend(sweep: ProfileSweep) -> list[RenderableType]:
    """Return what the spans are of, where there are any."""
    if all(point.speedup.p90 <= point.speedup.p10 for point in sweep.points):
        return []
    text = "80 %: belief about the speedup"
    if any(point.plain_tpot_s is not None for point in sweep.points):
        text += "; times at the central plain step"
    return [paragraph(text, style="dim")]


def sweep_sentence(sweep: ProfileSweep) -> str:
    """Return where it should be on, off or measured, and with what."""
    if sweep.axis is SweepAxis.DRAFT_TOKENS:
        return _best_length(sweep.points)
    label = _AXIS_LABELS[sweep.axis]
    parts = []
    for first, last in runs(sweep.points):
        where = plain_number(first.value)
        if last.value != first.value:
            where += f" to {plain_number(last.value)}"
        parts.append(f"{label} {where}: {_advice(first)}")
    return "; ".join(parts) + "."


def _best_length(points: tuple[SweepPoint, ...]) -> str:
    """Return the best draft length, and the smallest that is as good within a few percent."""
    best = max(points, key=lambda point: point.speedup.mean)
    enough = best.speedup.mean / (1.0 + FLAT_SHARE)
    smallest = next(point for point in points if point.speedup.mean >= enough)
    title = METHOD_TITLES[best.best.config.method]
    text = f"Best at K {plain_number(best.value)}: {factor(best.speedup.mean)} with {title}"
    if smallest is best:
        return f"{text}."
    near = f"K {plain_number(smallest.value)} is within {percent(FLAT_SHARE)} of it"
    return f"{text}; {near}."


def _table(sweep: ProfileSweep, width: int) -> RenderableType:
    points = sweep.points
    changed = [False, *(_setup(a) != _setup(b) for a, b in pairwise(points))]
    if sweep.axis is SweepAxis.DRAFT_TOKENS:
        best = max(point.speedup.mean for point in points)
        changed = [point.speedup.mean == best for point in points]
    return fitted_table(
        [
            Column(
                title=_AXIS_LABELS[sweep.axis],
                cells=tuple(plain_number(point.value) for point in points),
            ),
            Column(
                title="advice",
                cells=tuple(STATE_WORDS[point.state] for point in points),
                align="left",
            ),
            Column(
                title="best",
                cells=tuple(column_name(point.best.config.method) for point in points),
                align="left",
            ),
            Column(
                title="drafter",
                cells=tuple(drafter_text(point.best.config) for point in points),
                align="left",
                shortest=14,
                drop_order=4,
            ),
            Column(
                title="K",
                cells=tuple(_setting(sweep.axis, point) for point in points),
            ),
            Column(
                title="τ",
                cells=tuple(f"{point.best.acceptance_length.mean:.2f}" for point in points),
                drop_order=2,
            ),
            Column(title="plain", cells=tuple(_plain(point) for point in points), drop_order=3),
            Column(title="TPOT", cells=tuple(_best(point) for point in points)),
            Column(title="speedup", cells=tuple(factor(point.speedup.mean) for point in points)),
            Column(
                title="80 %",
                cells=tuple(_spread(point) for point in points),
                align="left",
                drop_order=1,
            ),
            Column(title="", cells=tuple("◂" if flag else "" for flag in changed), align="left"),
        ],
        width=width,
        indent=2,
    )


def runs(points: tuple[SweepPoint, ...]) -> Iterator[tuple[SweepPoint, SweepPoint]]:
    """Yield first and last point of each stretch with one advice."""
    first = last = points[0]
    for point in points[1:]:
        if _setup(point) != _setup(first):
            yield first, last
            first = point
        last = point
    yield first, last


def _setup(point: SweepPoint) -> tuple[object, ...]:
    """Return what has to be changed on the server; where it is off, nothing else matters."""
    if point.state is State.OFF:
        return (point.state,)
    config = point.best.config
    return (point.state, config.method, drafter_text(config), setting_text(config))


def _advice(point: SweepPoint) -> str:
    if point.state is State.OFF:
        return "off"
    name = config_text(point.best.config)
    return name if point.state is State.ON else f"measure {name}"


def _setting(axis: SweepAxis, point: SweepPoint) -> str:
    """Return K or the tree; nothing where the row itself is a K."""
    config = point.best.config
    if axis is SweepAxis.DRAFT_TOKENS and config.tree is None:
        return ""
    return setting_text(config).removeprefix("K ")


def _plain(point: SweepPoint) -> str:
    return "" if point.plain_tpot_s is None else time_text(point.plain_tpot_s.mean)


def _best(point: SweepPoint) -> str:
    return "" if point.best.tpot_s is None else time_text(point.best.tpot_s.mean)


def _spread(point: SweepPoint) -> str:
    if point.best.config.method is Method.NONE or point.speedup.p90 <= point.speedup.p10:
        return ""
    return span(point.speedup, digits=2 if point.speedup.mean < 2.0 else 1)
