"""The curve of a formula sweep in the terminal: over K, or over α or c where that says more."""

from __future__ import annotations

from itertools import product

import numpy as np

from tuner.records.sweep import FloatArray, FormulaGrid
from tuner.report.numbers import plain_number
from tuner.report.plots import MAX_SERIES, Series, bars, line_plot

_MOST_BARS = 20
_MOST_CURVES = 3 * MAX_SERIES


def pair_label(grid: FormulaGrid, row: int, column: int) -> str:
    """Return "α 0.9 · c 0.04" for one curve."""
    text = f"α {plain_number(float(grid.acceptance_rate[row]))}"
    if grid.draft_cost_ratio is None:
        return text
    return f"{text} · c {plain_number(float(grid.draft_cost_ratio[column]))}"


def formula_plot(grid: FormulaGrid, *, width: int, blocks: bool) -> list[str]:
    """Draw over K; bars where one K was asked; the best of each curve where they are many."""
    values = grid.expected_tokens[:, None, :]
    y_label = "tokens/verify"
    if grid.time_per_token is not None:
        values, y_label = 1.0 / grid.time_per_token, "speedup"
    pairs = list(product(range(values.shape[0]), range(values.shape[1])))
    if values.shape[2] == 1 and len(pairs) <= _MOST_BARS:
        rows = [(pair_label(grid, a, c), float(values[a, c, 0])) for a, c in pairs]
        return [f"  {y_label}", *bars(rows, width=width, blocks=blocks)]
    if values.shape[2] == 1 or len(pairs) > _MOST_CURVES:
        label = y_label if values.shape[2] == 1 else f"best {y_label}"
        return _over_rates(grid, values.max(axis=-1), label, width, blocks)
    mark = None
    if len(pairs) == 1 and grid.best is not None:
        mark = float(grid.num_speculative_tokens[grid.best[0, 0]])
    series = [
        Series(label=pair_label(grid, a, c), x=grid.num_speculative_tokens, y=values[a, c])
        for a, c in pairs
    ]
    return line_plot(series, width=width, x_label="K", y_label=y_label, mark_x=mark, blocks=blocks)


def _over_rates(
    grid: FormulaGrid, best: FloatArray, y_label: str, width: int, blocks: bool
) -> list[str]:
    """Draw over the longer of α and c, one curve for each of up to four values of the other."""
    costs = grid.draft_cost_ratio
    if costs is None:
        series = [Series(label="", x=grid.acceptance_rate, y=best[:, 0])]
        return line_plot(series, width=width, x_label="α", y_label=y_label, blocks=blocks)
    along_alpha = best.shape[0] >= best.shape[1]
    curves, ticks = (best.T, grid.acceptance_rate) if along_alpha else (best, costs)
    names, symbol = (costs, "c") if along_alpha else (grid.acceptance_rate, "α")
    chosen = np.unique(np.linspace(0, len(curves) - 1, min(len(curves), MAX_SERIES)).astype(int))
    series = [
        Series(label=f"{symbol} {plain_number(float(names[index]))}", x=ticks, y=curves[index])
        for index in chosen
    ]
    x_label = "α" if along_alpha else "c"
    return line_plot(series, width=width, x_label=x_label, y_label=y_label, blocks=blocks)
