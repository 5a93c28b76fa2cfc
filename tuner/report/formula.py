"""The screen of a formula sweep: table, optima, curve, and what they say."""

from __future__ import annotations

from itertools import product

import numpy as np
from rich.console import Group, RenderableType

from tuner.optimize.grid import FLAT_SHARE, flat_range
from tuner.records.sweep import FloatArray, FormulaGrid, IntArray
from tuner.report.formula_plot import formula_plot, pair_label
from tuner.report.formula_story import grid_sentence, rises_beyond
from tuner.report.layout import Column, fitted_table, literal, paragraph
from tuner.report.numbers import factor, percent, plain_number

TOKENS_NOTE = (
    "E = (1 − α^(K+1)) ÷ (1 − α) tokens a verify pass, bonus included (Leviathan et al. 2023): "
    "every position is accepted alike."
)
COST_NOTE = (
    "E = (1 − α^(K+1)) ÷ (1 − α) tokens a verify pass, bonus included; time per token "
    "(K·c + 1) ÷ E plain steps (Leviathan et al. 2023): every position is accepted alike, and "
    "verifying costs as much as a plain step."
)
_ELSEWHERE = "--csv FILE or --json has all."
#: rows that are still read at a glance (a terminal's height)
MOST_ROWS = 40
_MATRIX_ROWS = 12
_MATRIX_CELL = 12


def render_formula_sweep(
    grid: FormulaGrid, *, width: int, blocks: bool = True
) -> list[RenderableType]:
    """Return the parts of the screen; what matters most stands last, next to the prompt."""
    parts: list[RenderableType] = ["", paragraph(_title(grid), style="bold"), ""]
    if grid.time_per_token is None or grid.draft_cost_ratio is None or grid.best is None:
        parts.append(_tokens_table(grid, width))
    elif grid.best.size == 1:
        parts.append(_curve_table(grid, 0, 0, width))
    else:
        parts += _many_tables(grid, width)
    plot = formula_plot(grid, width=width, blocks=blocks)
    note = TOKENS_NOTE if grid.time_per_token is None else COST_NOTE
    return [
        *parts,
        "",
        literal(plot),
        "",
        paragraph(grid_sentence(grid)),
        paragraph(note, style="dim"),
    ]


def _title(grid: FormulaGrid) -> str:
    axes: list[tuple[str, FloatArray | IntArray | None]] = [
        ("α", grid.acceptance_rate),
        ("c", grid.draft_cost_ratio),
        ("K", grid.num_speculative_tokens),
    ]
    return " · ".join(f"{name} {_values(axis)}" for name, axis in axes if axis is not None)


def _values(axis: FloatArray | IntArray) -> str:
    if len(axis) <= 6:
        return ", ".join(plain_number(float(value)) for value in axis)
    return f"{plain_number(float(axis[0]))} to {plain_number(float(axis[-1]))}"


def _curve_table(grid: FormulaGrid, row: int, column: int, width: int) -> RenderableType:
    """Return every K of one (α, c); a long range is thinned, the optimum always stays."""
    assert grid.time_per_token is not None
    assert grid.best is not None
    times = grid.time_per_token[row, column]
    best = int(grid.best[row, column])
    shown = _near(best, len(times), np.flatnonzero(flat_range(times)))
    mark = "◂ best" if times[best] < 1.0 else "◂ best, off"
    counts = grid.num_speculative_tokens[shown]
    table = fitted_table(
        [
            Column(title="K", cells=tuple(f"{count:,}" for count in counts)),
            Column(
                title="tokens/verify",
                cells=_decimals(grid.expected_tokens[row, shown]),
                drop_order=1,
            ),
            Column(title="time/token", cells=_decimals(times[shown])),
            Column(title="speedup", cells=tuple(factor(1.0 / value) for value in times[shown])),
            Column(title="", cells=tuple(mark if i == best else "" for i in shown), align="left"),
        ],
        width=width,
        indent=4,
        bold_row=int(np.flatnonzero(shown == best)[0]),
    )
    return _with_note(table, len(shown), len(times), "rows")


def _many_tables(grid: FormulaGrid, width: int) -> list[RenderableType]:
    assert grid.best is not None
    rows, columns = grid.best.shape
    if rows * columns > MOST_ROWS and min(rows, columns) > 1:
        return [_matrix(grid, width)]
    parts: list[RenderableType] = []
    if len(grid.num_speculative_tokens) > 1 and grid.size <= MOST_ROWS:
        for row, column in product(range(rows), range(columns)):
            title = paragraph(pair_label(grid, row, column), style="bold")
            parts += [title, _curve_table(grid, row, column, width), ""]
    return [*parts, _optima_table(grid, width)]


def _optima_table(grid: FormulaGrid, width: int) -> RenderableType:
    assert grid.time_per_token is not None
    assert grid.draft_cost_ratio is not None
    assert grid.best is not None
    pairs = list(product(range(grid.best.shape[0]), range(grid.best.shape[1])))
    shown = [pairs[index] for index in _thinned(len(pairs))]
    rows, columns = (np.array(axis) for axis in zip(*shown, strict=True))
    best = grid.best[rows, columns]
    times = grid.time_per_token[rows, columns, best]
    beyond = rises_beyond(grid)[rows, columns]
    counts = grid.num_speculative_tokens
    flat = flat_range(grid.time_per_token[rows, columns]).argmax(axis=-1)
    notes = tuple(
        "does not pay" if time >= 1.0 else "still rising" if more else ""
        for time, more in zip(times, beyond & (len(counts) > 1), strict=True)
    )
    several = len(counts) > 1
    table = fitted_table(
        [
            Column(title="α", cells=_settings(grid.acceptance_rate[rows])),
            Column(title="c", cells=_settings(grid.draft_cost_ratio[columns])),
            Column(title="best K" if several else "K", cells=_settings(counts[best])),
            Column(
                title="tokens/verify",
                cells=_decimals(grid.expected_tokens[rows, best]),
                drop_order=1,
            ),
            Column(title="time/token", cells=_decimals(times)),
            Column(title="speedup", cells=tuple(factor(1.0 / time) for time in times)),
            Column(
                title=f"within {percent(FLAT_SHARE)} from",
                cells=tuple(f"K {counts[place]:,}" if several else "" for place in flat),
                drop_order=2,
            ),
            Column(title="", cells=notes, align="left"),
        ],
        width=width,
        indent=4,
    )
    return _with_note(table, len(shown), len(pairs), "pairs")


def _matrix(grid: FormulaGrid, width: int) -> RenderableType:
    """Return the best K and its speedup for a selection of α (rows) and c (columns)."""
    assert grid.time_per_token is not None
    assert grid.draft_cost_ratio is not None
    assert grid.best is not None
    rows = _thinned(grid.best.shape[0], _MATRIX_ROWS)
    columns = _thinned(grid.best.shape[1], max((width - 12) // (_MATRIX_CELL + 2), 1))
    table_columns = [Column(title="α", cells=_settings(grid.acceptance_rate[rows]))]
    for column in columns:
        best = grid.best[rows, column]
        times = grid.time_per_token[rows, column, best]
        cells = tuple(
            f"K {count:,}  {factor(1.0 / time)}" if time < 1.0 else f"off {factor(1.0 / time)}"
            for count, time in zip(grid.num_speculative_tokens[best], times, strict=True)
        )
        title = f"c {plain_number(float(grid.draft_cost_ratio[column]))}"
        table_columns.append(Column(title=title, cells=cells))
    table = fitted_table(table_columns, width=width, indent=4)
    return _with_note(table, len(rows) * len(columns), grid.best.size, "pairs")


def _tokens_table(grid: FormulaGrid, width: int) -> RenderableType:
    """Return E with one row a K and one column an α; rows of α where only one K is asked."""
    counts = grid.num_speculative_tokens
    if len(counts) == 1:
        shown = _thinned(len(grid.acceptance_rate))
        columns = [
            Column(title="α", cells=_settings(grid.acceptance_rate[shown])),
            Column(title="tokens/verify", cells=_decimals(grid.expected_tokens[shown, 0])),
        ]
        table = fitted_table(columns, width=width, indent=4)
        return _with_note(table, len(shown), len(grid.acceptance_rate), "rows")
    shown = _thinned(len(counts))
    places = _thinned(len(grid.acceptance_rate), max((width - 12) // 8, 1))
    columns = [Column(title="K", cells=_settings(counts[shown]))]
    for place in places:
        title = f"α {plain_number(float(grid.acceptance_rate[place]))}"
        columns.append(Column(title=title, cells=_decimals(grid.expected_tokens[place, shown])))
    table = fitted_table(columns, width=width, indent=4)
    return _with_note(table, len(shown) * len(places), grid.size, "values")


def _with_note(table: RenderableType, shown: int, total: int, noun: str) -> RenderableType:
    if shown == total:
        return table
    note = f"{shown:,} of {total:,} {noun}; {_ELSEWHERE}"
    return Group(table, paragraph(note, indent=4, style="dim"))


def _settings(values: FloatArray | IntArray) -> tuple[str, ...]:
    return tuple(plain_number(float(value)) for value in values)


def _decimals(values: FloatArray) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in values)


def _thinned(count: int, most: int = MOST_ROWS) -> IntArray:
    """Return every n-th index, and the last, so that about ``most`` are left."""
    stride = -(-count // most)
    return np.union1d(np.arange(0, count, stride), [count - 1]).astype(np.int64)


def _near(best: int, count: int, flat: IntArray) -> IntArray:
    """Return all indices of a short range; of a long one those that tell its shape."""
    if count <= MOST_ROWS:
        return np.arange(count)
    spread = np.geomspace(1, count, 16).astype(np.int64) - 1
    around = np.clip(np.arange(best - 3, best + 4), 0, count - 1)
    return np.union1d(np.union1d(spread, around), [flat[0], flat[-1], count - 1]).astype(np.int64)
