"""Building stones of every screen: a table that fits, an indented paragraph, literal lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tuner.report.numbers import shorten_names

GAP = 2


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A renderable without the spaces that fill its lines up, which get in the way of copying."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.inner, options, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.strip():
                kept.pop()
            if kept:
                text, style, control = kept[-1]
                kept[-1] = Segment(text.rstrip(), style, control)
            yield from kept
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class Literally:
    """Lines as they are. A `Text` would not do: printing joins it to others and lets it wrap."""

    lines: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            yield Segment(line)
            yield Segment.line()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its cells, and what happens to it where the screen is narrow."""

    title: str
    cells: tuple[str, ...]
    align: Literal["left", "right", "center"] = "right"
    #: 0 = always shown; the highest number is left out first
    drop_order: int = 0
    #: cells may be shortened in the middle down to this width; None = never
    shortest: int | None = None

    @property
    def width(self) -> int:
        """Characters that the widest cell needs."""
        return max(cell_len(text) for text in (self.title, *self.cells))


def fitted_table(
    columns: Sequence[Column], *, width: int, indent: int = 2, bold_row: int | None = None
) -> Trimmed:
    """Return a table no wider than ``width``: unimportant columns go first, then names shorten."""
    room = width - indent
    shown = _chosen([column for column in columns if any(map(str.strip, column.cells))], room)
    spare = room - _least_width(shown)
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 0), expand=False)
    table.add_column("", width=indent)
    cells: list[list[str]] = []
    for place, column in enumerate(shown):
        size = column.width
        if column.shortest is not None and size > column.shortest:
            size = min(size, column.shortest + max(spare, 0))
            spare -= size - column.shortest
        gap = GAP if place + 1 < len(shown) else 0
        title = Text(column.title, style="bold", no_wrap=True, overflow="ellipsis")
        table.add_column(
            title, justify=column.align, no_wrap=True, overflow="ellipsis", min_width=size
        )
        if gap:
            table.add_column("", width=gap)
        cells.append(shorten_names(column.cells, size))
    for row in range(len(columns[0].cells) if columns else 0):
        line: list[Text] = [Text("")]
        for place, column_cells in enumerate(cells):
            line.append(Text(column_cells[row], style="bold" if row == bold_row else ""))
            if place + 1 < len(cells):
                line.append(Text(""))
        table.add_row(*line)
    return Trimmed(table)


def paragraph(text: str, *, indent: int = 2, style: str = "") -> Trimmed:
    """Return text that wraps at words, indented."""
    return Trimmed(Padding(Text(text, style=style), (0, 0, 0, indent), expand=False))


def title_line(name: str, text: str, width: int) -> Trimmed:
    """Return a bold name with text beside it, or under it where the line is too short."""
    gap = "   " if cell_len(name) + cell_len(text) + 3 <= width else "\n  "
    return Trimmed(Text.assemble(Text(name, style="bold"), gap, text))


def labelled(label: str, text: str, *, width: int, indent: int = 2, style: str = "") -> Trimmed:
    """Return a label with text beside it; the text wraps under itself."""
    grid = Table.grid(padding=0)
    grid.add_column(width=indent)
    grid.add_column(width=width, no_wrap=True)
    grid.add_column()
    grid.add_row("", Text(label, style=style), Text(text))
    return Trimmed(grid)


def literal(lines: Sequence[str]) -> Literally:
    """Return lines that are never wrapped, styled or read as markup."""
    return Literally(tuple(lines))


def _chosen(columns: list[Column], room: int) -> list[Column]:
    """Leave out what does not fit, then take back what still does, the most important first."""
    kept = list(columns)
    while _least_width(kept) > room and any(column.drop_order for column in kept):
        kept.remove(max(kept, key=lambda column: column.drop_order))
    left_out = [column for column in columns if column not in kept]
    for column in sorted(left_out, key=lambda column: column.drop_order):
        wider = [other for other in columns if other in kept or other is column]
        if _least_width(wider) <= room:
            kept = wider
    return kept


def _least_width(columns: Sequence[Column]) -> int:
    sizes = [
        column.width if column.shortest is None else min(column.width, column.shortest)
        for column in columns
    ]
    return sum(sizes) + GAP * max(len(columns) - 1, 0)
