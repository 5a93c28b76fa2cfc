"""Plots made of text: an area or line plot, labelled bars, a histogram, a spark line.

Every function returns lines; nothing is printed. ``blocks=False`` draws with ASCII only, for
streams whose encoding has no block characters. No line is longer than ``width``, and series are
told apart by symbol, never by colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.frozen import dataclass

FloatArray = NDArray[np.float64]

_RISING = " ▁▂▃▄▅▆▇█"
_RISING_ASCII = " .:|#"
_GROWING = " ▏▎▍▌▋▊▉█"
_GROWING_ASCII = " #"
_SYMBOLS = "●▲■◆"
_SYMBOLS_ASCII = "*+ox"
#: more series than symbols are drawn as spark lines instead
MAX_SERIES = len(_SYMBOLS)
#: widest plot area, in characters: wider adds no information that a terminal could show
_MAX_COLUMNS = 72
_SHORTEST_WIDTH = 24
#: so many points are all named on the horizontal axis, as far as there is room
_MOST_LABELS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve. ``y`` may hold NaN where there is nothing to show."""

    label: str
    x: ArrayLike
    y: ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The horizontal axis: where each column lies, in scaled coordinates."""

    low: float
    high: float
    columns: int
    log: bool

    def centres(self) -> FloatArray:
        edges = np.linspace(self.low, self.high, self.columns + 1)
        return (edges[:-1] + edges[1:]) / 2.0

    def column(self, x: float) -> int:
        scaled = math.log(x) if self.log else x
        share = (scaled - self.low) / (self.high - self.low)
        return min(max(int(share * self.columns), 0), self.columns - 1)


def can_draw_blocks(encoding: str | None) -> bool:
    """Tell whether a stream of this encoding can carry the characters used here."""
    try:
        (_RISING + _GROWING + _SYMBOLS + "┤└─").encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def short_number(value: float) -> str:
    """Return ``value`` with about three significant digits, without an exponent below 10^6."""
    if value == 0.0:
        return "0"
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    if size >= 1e6 or size < 1e-3:
        return f"{value:.2e}"
    decimals = max(0, 2 - math.floor(math.log10(size)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def line_plot(
    series: Sequence[Series],
    *,
    width: int = 80,
    height: int = 8,
    x_label: str = "",
    y_label: str = "",
    x_log: bool = False,
    y_min: float | None = 0.0,
    mark_x: float | None = None,
    blocks: bool = True,
) -> list[str]:
    """Draw one filled curve, or two to four curves told apart by symbols.

    Parameters
    ----------
    series
        One to ``MAX_SERIES`` curves; each ``x`` ascending. With more, a spark line each is drawn.
    width, height
        Characters a line, and lines of the plot area.
    x_label, y_label
        Names of the axes.
    x_log
        Space ``x`` by its logarithm (batch sizes).
    y_min
        Where the vertical axis starts; None = the smallest value. A filled area that does not
        start at zero exaggerates differences.
    mark_x
        An ``x`` to point at below the axis.
    blocks
        False = ASCII only.
    """
    curves = [(s.label, np.asarray(s.x, dtype=float), np.asarray(s.y, dtype=float)) for s in series]
    finite = [y[np.isfinite(y)] for _, _, y in curves]
    if not any(part.size for part in finite):
        return []
    if len(curves) > MAX_SERIES:
        return spark_lines(series, width=width, blocks=blocks)
    top = max(float(part.max()) for part in finite if part.size)
    low = min(float(part.min()) for part in finite if part.size)
    bottom = low if y_min is None else min(y_min, low)
    if top <= bottom:
        top = bottom + 1.0
    ticks = _vertical_ticks(bottom, top, height)
    margin = max(map(len, ticks))
    room = max(width, _SHORTEST_WIDTH) - margin - len(x_label) - 6
    axis = _axis([x for _, x, _ in curves], room, log=x_log)
    levels = [(_sample(axis, x, y) - bottom) / (top - bottom) for _, x, y in curves]
    body = _body(levels, height, blocks)
    labels = _horizontal_labels(axis, [x for _, x, _ in curves], x_label, mark_x, blocks)
    lines = [f"  {y_label}"] if y_label else []
    lines += _framed(body, ticks, labels, axis.columns, blocks)
    if len(curves) > 1:
        symbols = _SYMBOLS if blocks else _SYMBOLS_ASCII
        keys = [f"{symbol} {label}" for symbol, (label, _, _) in zip(symbols, curves, strict=False)]
        lines += _packed(keys, width, indent=margin + 4)
    return [line[:width] for line in lines]


def _body(levels: Sequence[FloatArray], height: int, blocks: bool) -> list[str]:
    if len(levels) == 1:
        return _filled(levels[0], height, _RISING if blocks else _RISING_ASCII)
    return _scattered(levels, height, _SYMBOLS if blocks else _SYMBOLS_ASCII)


def _framed(
    body: Sequence[str], ticks: Sequence[str], labels: Sequence[str], columns: int, blocks: bool
) -> list[str]:
    """Put the vertical axis left of the plot and the horizontal one under it.

    ``ticks`` has one more entry than ``body``: the last stands at the corner.
    """
    stem, corner, rule = ("┤", "└", "─") if blocks else ("|", "+", "-")
    margin = max(map(len, ticks))
    rows = [
        f"  {tick.rjust(margin)} {stem}{row}".rstrip()
        for tick, row in zip(ticks[:-1], body, strict=True)
    ]
    rows.append(f"  {ticks[-1].rjust(margin)} {corner}{rule * columns}")
    return rows + [f"  {' ' * margin}  {label}".rstrip() for label in labels]


def bars(
    rows: Sequence[tuple[str, float]],
    *,
    width: int = 80,
    top: float | None = None,
    blocks: bool = True,
    number: Callable[[float], str] = short_number,
) -> list[str]:
    """Draw one horizontal bar a row: label, value, bar from zero. ``top`` fills the width."""
    if not rows:
        return []
    labels = max(len(label) for label, _ in rows)
    numbers = [number(value) for _, value in rows]
    digits = max(len(text) for text in numbers)
    room = max(min(width - labels - digits - 5, _MAX_COLUMNS), 4)
    full = top if top is not None else max(max(value for _, value in rows), 0.0)
    glyphs = _GROWING if blocks else _GROWING_ASCII
    lines = []
    for (label, value), text in zip(rows, numbers, strict=True):
        share = min(max(value / full, 0.0), 1.0) if full > 0.0 else 0.0
        bar = _bar(share * room, glyphs)
        lines.append(f"  {label.rjust(labels)}  {text.rjust(digits)} {bar}".rstrip()[:width])
    return lines


def histogram(
    values: ArrayLike, *, bins: int = 10, width: int = 80, blocks: bool = True
) -> list[str]:
    """Draw counts of ``values`` in equal bins as bars, one line a bin. NaN is left out."""
    data = np.asarray(values, dtype=float).ravel()
    data = data[np.isfinite(data)]
    if data.size == 0:
        return []
    counts, edges = np.histogram(data, bins=bins)
    labels = [f"{short_number(a)} to {short_number(b)}" for a, b in pairwise(edges)]
    rows = [(label, float(count)) for label, count in zip(labels, counts, strict=True)]
    return bars(rows, width=width, blocks=blocks, number=lambda count: f"{count:.0f}")


def spark(values: ArrayLike, *, low: float, high: float, blocks: bool = True) -> str:
    """Return one character a value, its height between ``low`` and ``high``; NaN is a space."""
    glyphs = _RISING if blocks else _RISING_ASCII
    data = np.asarray(values, dtype=float)
    span = high - low if high > low else 1.0
    steps = len(glyphs) - 1
    marks = []
    for value in data:
        if not math.isfinite(value):
            marks.append(" ")
            continue
        level = min(max((float(value) - low) / span, 0.0), 1.0)
        marks.append(glyphs[max(1, round(level * steps))])
    return "".join(marks)


def spark_lines(series: Sequence[Series], *, width: int = 80, blocks: bool = True) -> list[str]:
    """Draw one spark line a series, all on one scale, with the values at both ends."""
    curves = [(s.label, np.asarray(s.x, dtype=float), np.asarray(s.y, dtype=float)) for s in series]
    finite = np.concatenate([y[np.isfinite(y)] for _, _, y in curves]) if curves else np.empty(0)
    if finite.size == 0:
        return []
    labels = max(len(label) for label, _, _ in curves)
    ends = [(short_number(float(y[0])), short_number(float(y[-1]))) for _, _, y in curves]
    first = max(len(a) for a, _ in ends)
    last = max(len(b) for _, b in ends)
    room = max(width - labels - first - last - 7, 4)
    lines = []
    for (label, x, y), (left, right) in zip(curves, ends, strict=True):
        axis = _axis([x], room, log=False)
        mark = spark(_sample(axis, x, y), low=0.0, high=float(finite.max()), blocks=blocks)
        lines.append(f"  {label.ljust(labels)}  {left.rjust(first)} {mark} {right.rjust(last)}")
    return [line[:width] for line in lines]


def _axis(xs: Sequence[FloatArray], room: int, *, log: bool) -> _Axis:
    """Return an axis that gives every point of the densest curve the same number of columns."""
    points = np.unique(np.concatenate(xs))
    scaled = np.log(points) if log else points
    count = len(scaled)
    room = max(min(room, _MAX_COLUMNS), 1)
    if count == 1:
        return _Axis(low=scaled[0] - 0.5, high=scaled[0] + 0.5, columns=min(4, room), log=log)
    half_first = (scaled[1] - scaled[0]) / 2.0
    half_last = (scaled[-1] - scaled[-2]) / 2.0
    even = bool(np.allclose(np.diff(scaled), scaled[1] - scaled[0]))
    columns = count * (room // count) if even and count <= room else room
    return _Axis(
        low=float(scaled[0] - half_first),
        high=float(scaled[-1] + half_last),
        columns=columns,
        log=log,
    )


def _sample(axis: _Axis, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return ``y`` of the point nearest to each column's centre; NaN outside the curve."""
    scaled = np.log(x) if axis.log else x
    centres = axis.centres()
    right = np.clip(np.searchsorted(scaled, centres), 1, max(len(scaled) - 1, 1))
    if len(scaled) == 1:
        nearest = np.zeros(len(centres), dtype=int)
    else:
        nearest = np.where(centres - scaled[right - 1] <= scaled[right] - centres, right - 1, right)
    reach = (axis.high - axis.low) / axis.columns
    spacing = float(np.diff(scaled).max()) if len(scaled) > 1 else 1.0
    inside = np.abs(scaled[nearest] - centres) <= max(spacing, reach)
    return np.where(inside, y[nearest], np.nan)


def _filled(levels: FloatArray, height: int, glyphs: str) -> list[str]:
    steps = len(glyphs) - 1
    eighths = np.round(np.nan_to_num(levels, nan=0.0) * height * steps).astype(int)
    present = np.isfinite(levels)
    eighths = np.where(present, np.maximum(eighths, 1), 0)
    rows = []
    for row in range(height - 1, -1, -1):
        part = np.clip(eighths - row * steps, 0, steps)
        rows.append("".join(glyphs[value] for value in part))
    return rows


def _scattered(levels: Sequence[FloatArray], height: int, symbols: str) -> list[str]:
    columns = len(levels[0])
    canvas = [[" "] * columns for _ in range(height)]
    for symbol, level in zip(symbols, levels, strict=False):
        for column in range(columns):
            if math.isfinite(level[column]):
                row = height - 1 - min(int(level[column] * height), height - 1)
                canvas[row][column] = symbol
    return ["".join(row) for row in canvas]


def _vertical_ticks(bottom: float, top: float, height: int) -> list[str]:
    """Return a label for the upper edge of each row, from the top, and one for the bottom."""
    ticks = [""] * height + [short_number(bottom)]
    for row in {0, height // 2}:
        ticks[row] = short_number(top - row * (top - bottom) / height)
    return ticks


def _horizontal_labels(
    axis: _Axis, xs: Sequence[FloatArray], x_label: str, mark_x: float | None, blocks: bool
) -> list[str]:
    points = np.concatenate(xs)
    row = [" "] * (axis.columns + len(x_label) + 2)
    wanted = [float(points.min()), float(points.max())]
    if mark_x is not None:
        wanted.insert(0, mark_x)
    if len(unique := np.unique(points)) <= _MOST_LABELS:
        wanted += unique.tolist()
    taken: set[int] = set()
    for x in wanted:
        text = short_number(x)
        start = max(0, min(axis.column(x) - len(text) // 2, axis.columns - len(text)))
        cells = set(range(start - 1, start + len(text) + 1))
        if taken & cells:
            continue
        taken |= cells
        row[start : start + len(text)] = text
    row[axis.columns + 2 :] = x_label
    labels = ["".join(row)]
    if mark_x is not None:
        pointer = "▲" if blocks else "^"
        labels.insert(0, " " * axis.column(mark_x) + pointer)
    return labels


def _bar(length: float, glyphs: str) -> str:
    steps = len(glyphs) - 1
    units = round(length * steps)
    if length > 0.0:
        units = max(units, 1)
    whole, rest = divmod(units, steps)
    return glyphs[-1] * whole + (glyphs[rest] if rest else "")


def _packed(items: Sequence[str], width: int, *, indent: int) -> list[str]:
    """Lay items side by side, as many a line as fit."""
    lines = [" " * indent + items[0]]
    for item in items[1:]:
        longer = f"{lines[-1]}   {item}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(" " * indent + item)
    return lines
