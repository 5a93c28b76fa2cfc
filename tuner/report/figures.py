"""Figures for files, drawn with matplotlib, which is imported only here and only when asked for.

Every function returns the bytes of one image. Curves differ in dash and marker as well as colour.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.errors import InputError
from tuner.records.sweep import FloatArray, FormulaGrid
from tuner.report.numbers import factor, plain_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 8
_MOST_MARKERS = 30
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D")


def formula_figure(grid: FormulaGrid, image_format: str) -> bytes:
    """Return the curves over K, or the best of each over α or c where there are many."""
    figure = new_figure()
    axes = figure.subplots()
    values = grid.expected_tokens[:, None, :]
    label = "tokens per verify pass"
    if grid.time_per_token is not None:
        values, label = 1.0 / grid.time_per_token, "speedup over plain decoding"
        axes.axhline(1.0, color="0.6", linewidth=1.0)
    pairs = values.shape[0] * values.shape[1]
    if values.shape[2] > 1 and pairs <= MOST_CURVES:
        _draw_over_k(axes, grid, values)
    else:
        _draw_over_rates(axes, grid, values.max(axis=-1))
    axes.set_ylabel(label)
    axes.set_ylim(0.0, 1.1 * float(values.max()))
    return image_bytes(figure, image_format)


def new_figure(width: float = 8.0, height: float = 4.8) -> Figure:
    """Return an empty figure that belongs to no window; inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "--plot needs matplotlib, which is not installed: pip install 'specdec-tune[plot]'."
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def image_bytes(figure: Figure, image_format: str) -> bytes:
    """Return the figure as "png" or "svg"; the same figure gives the same bytes."""
    from matplotlib import rc_context

    stream = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if image_format == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "specdec-tune"}):
        figure.savefig(stream, format=image_format, dpi=150, metadata=metadata)
    return stream.getvalue()


def style_of(index: int, points: int) -> dict[str, Any]:
    """Return colour, dash and marker of curve ``index``; no markers where points are dense."""
    return {
        "color": f"C{index % 10}",
        "linestyle": _DASHES[index % len(_DASHES)],
        "marker": _MARKERS[index % len(_MARKERS)] if points <= _MOST_MARKERS else None,
        "markersize": 3.5,
    }


def _draw_over_k(axes: Axes, grid: FormulaGrid, values: FloatArray) -> None:
    counts = grid.num_speculative_tokens
    index = 0
    for row, alpha in enumerate(grid.acceptance_rate):
        for column in range(values.shape[1]):
            curve = values[row, column]
            label = f"α {plain_number(float(alpha))}"
            if grid.draft_cost_ratio is not None:
                label += f", c {plain_number(float(grid.draft_cost_ratio[column]))}"
            axes.plot(counts, curve, label=label, **style_of(index, len(counts)))
            if grid.best is not None:
                best = int(grid.best[row, column])
                note = f"K {counts[best]}: {factor(float(curve[best]))}"
                axes.annotate(
                    note,
                    (counts[best], curve[best]),
                    (0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                )
            index += 1
    axes.set_xlabel("draft tokens a step, K")
    if len(counts) <= 20:
        axes.set_xticks(counts)
    axes.legend(fontsize=8)


def _draw_over_rates(axes: Axes, grid: FormulaGrid, best: FloatArray) -> None:
    costs = grid.draft_cost_ratio
    many = len(grid.num_speculative_tokens) > 1
    suffix = " (each at its best K)" if many else ""
    if costs is None:
        axes.plot(grid.acceptance_rate, best[:, 0], **style_of(0, len(best)))
        axes.set_xlabel(f"acceptance rate α{suffix}")
        return
    along_alpha = best.shape[0] >= best.shape[1]
    curves, ticks = (best.T, grid.acceptance_rate) if along_alpha else (best, costs)
    names, symbol = (costs, "c") if along_alpha else (grid.acceptance_rate, "α")
    chosen = np.unique(np.linspace(0, len(curves) - 1, min(len(curves), MOST_CURVES)).astype(int))
    for index, place in enumerate(chosen):
        label = f"{symbol} {plain_number(float(names[place]))}"
        axes.plot(ticks, curves[place], label=label, **style_of(index, len(ticks)))
    axes.set_xlabel(("acceptance rate α" if along_alpha else "draft cost ratio c") + suffix)
    axes.legend(fontsize=8)
