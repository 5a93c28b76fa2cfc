"""The figure of ``recommend --plot``: speedup over draft length, and over load, with beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.advise.explain import batch_text
from tuner.frozen import dataclass
from tuner.records.config import Prediction
from tuner.records.decision import State
from tuner.records.interval import Interval
from tuner.records.methods import METHOD_TITLES, Method
from tuner.records.sweep import ProfileSweep, SweepAxis
from tuner.report.figures import image_bytes, new_figure, style_of
from tuner.report.names import setting_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_HEIGHT = 3.6
_WIDTH = 10.0
_MOST_TICKS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What is drawn of one profile: one row of the figure."""

    profile: str
    #: chains of the best method and drafter at the profile's load, ascending K
    over_k: tuple[Prediction, ...]
    over_batch: ProfileSweep


def recommendation_figure(panels: Sequence[Panel], image_format: str) -> bytes:
    """Return one row a profile: speedup over K on the left, over batch on the right."""
    figure = new_figure(_WIDTH, _ROW_HEIGHT * len(panels))
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for (left, right), panel in zip(grid, panels, strict=True):
        _draw_over_k(left, panel)
        _draw_points(right, panel.over_batch)
        left.set_title(panel.profile, loc="left", fontsize=10)
    return image_bytes(figure, image_format)


def profile_sweep_figure(sweep: ProfileSweep, image_format: str) -> bytes:
    """Return the speedup of the best configuration over batch or temperature."""
    figure = new_figure()
    axes = figure.subplots()
    _draw_points(axes, sweep)
    axes.set_title(sweep.profile, loc="left", fontsize=10)
    axes.set_ylabel("speedup over plain decoding")
    return image_bytes(figure, image_format)


def _draw_over_k(axes: Axes, panel: Panel) -> None:
    if panel.over_k:
        counts = [item.config.num_speculative_tokens for item in panel.over_k]
        title = METHOD_TITLES[panel.over_k[0].config.method]
        load = f"batch {batch_text(panel.over_k[0].batch)}"
        _draw_belief(axes, counts, [item.speedup for item in panel.over_k], f"{title}, {load}")
        axes.set_xticks(counts)
    else:
        axes.text(0.5, 0.5, "no chain of draft tokens", ha="center", transform=axes.transAxes)
    axes.set_xlabel("draft tokens a step, K")
    axes.set_ylabel("speedup over plain decoding")


def _draw_points(axes: Axes, sweep: ProfileSweep) -> None:
    points = sweep.points
    values = [point.value for point in points]
    _draw_belief(axes, values, [point.speedup for point in points], "best that drafts")
    if sweep.axis is SweepAxis.BATCH:
        axes.set_xscale("log", base=2)
    if len(values) <= _MOST_TICKS:
        axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xlabel(sweep.axis.value)
    before = ""
    for point in points:
        off = point.state is State.OFF or point.best.config.method is Method.NONE
        text = "off" if off else setting_text(point.best.config)
        if text != before:
            place = (point.value, point.speedup.mean)
            axes.annotate(text, place, (0, 6), textcoords="offset points", fontsize=8)
        before = text


def _draw_belief(
    axes: Axes, places: Sequence[float], speedups: Sequence[Interval], label: str
) -> None:
    style = style_of(0, len(places))
    lows = [speedup.p10 for speedup in speedups]
    highs = [speedup.p90 for speedup in speedups]
    axes.axhline(1.0, color="0.6", linewidth=1.0)
    axes.fill_between(places, lows, highs, color=style["color"], alpha=0.2, label="80 % belief")
    axes.plot(places, [speedup.mean for speedup in speedups], label=label, **style)
    axes.set_ylim(0.0, 1.1 * max([*highs, 1.0]))
    axes.legend(fontsize=8, loc="lower left")
