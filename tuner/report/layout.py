"""Building stones of every screen: a table that fits, an indented paragraph, literal lines.

Nothing here fills lines up with spaces: they only get in the way of copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tuner.frozen import dataclass
from tuner.report.numbers import ELLIPSIS, shorten_names
from tuner.report.symbols import encodable

GAP = 2
#: what marks a shortened name where there is no ellipsis; as wide as one
ASCII_ELLIPSIS = "~"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A renderable moved to the right, without the spaces that fill its lines up."""

    inner: RenderableType
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inside = options.update(width=max(options.max_width - self.indent, 1))
        for line in console.render_lines(self.inner, inside, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.strip():
                kept.pop()
            if kept:
                text, style, control = kept[-1]
                kept[-1] = Segment(text.rstrip(), style, control)
                yield Segment(" " * self.indent)
            yield from kept
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class Literally:
    """Lines as they are. A `Text` would not do: printing joins it to others and lets it wrap."""

    lines: tuple[str, ...]
    #: to be pasted or saved: reaches standard output as these bytes whatever its encoding
    is_exact: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            yield Segment(line)
            yield Segment.line()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """Text that wraps at words under itself, right of an optional label.

    ``style`` is that of the label, or of the text where there is none.
    """

    text: str
    indent: int = 0
    label: str = ""
    #: columns from the label's start to the text; grows with a label that is too long
    label_width: int = 0
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label, whole = (encodable(text, options.encoding) for text in (self.label, self.text))
        shift = max(self.label_width, cell_len(label) + GAP) if label else 0
        style = console.get_style(self.style)
        room = max(options.max_width - self.indent - shift, 1)
        for place, line in enumerate(Text(whole).wrap(console, room)):
            text = line.plain.rstrip()
            if label and place == 0:
                yield Segment(" " * self.indent)
                yield Segment(label, style)
                yield Segment((" " * (shift - cell_len(label)) + text).rstrip())
            elif text:
                yield Segment(" " * (self.indent + shift))
                yield Segment(text, None if label else style)
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

    @property
    def least_width(self) -> int:
        """Characters that it needs when its cells are shortened."""
        return self.width if self.shortest is None else min(self.width, self.shortest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A table that is laid out when it is printed: its symbols depend on the encoding."""

    columns: tuple[Column, ...]
    width: int
    indent: int
    bold_row: int | None

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the columns that fit."""
        return tuple(column.title for column in _shown(self.columns, self.width - self.indent))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.columns
        is_ascii = options.ascii_only
        if is_ascii:
            columns = tuple(_rewritten(column, options.encoding) for column in columns)
        table = _table(columns, self.width - self.indent, self.bold_row, is_ascii)
        yield Trimmed(table, self.indent)


def fitted_table(
    columns: Sequence[Column], *, width: int, indent: int = 2, bold_row: int | None = None
) -> Fitted:
    """Return a table no wider than ``width``: unimportant columns go first, then names shorten."""
    return Fitted(columns=tuple(columns), width=width, indent=indent, bold_row=bold_row)


def _rewritten(column: Column, encoding: str) -> Column:
    title, *cells = (encodable(text, encoding) for text in (column.title, *column.cells))
    return replace(column, title=title, cells=tuple(cells))


def _table(columns: Sequence[Column], room: int, bold_row: int | None, is_ascii: bool) -> Table:
    shown = _shown(columns, room)
    spare = max(room - _least_width(shown), 0)
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0), expand=False)
    cells: list[list[str]] = []
    for column in shown:
        size = min(column.width, column.least_width + spare)
        spare -= size - column.least_width
        title = Text(column.title, style="bold", no_wrap=True, overflow="ellipsis")
        table.add_column(
            title, justify=column.align, no_wrap=True, overflow="ellipsis", min_width=size
        )
        short = shorten_names(column.cells, size)
        cells.append(
            [text.replace(ELLIPSIS, ASCII_ELLIPSIS) if is_ascii else text for text in short]
        )
    for row, line in enumerate(zip(*cells, strict=True)):
        style = "bold" if row == bold_row else ""
        table.add_row(*(Text(cell, style=style) for cell in line))
    return table


def paragraph(text: str, *, indent: int = 2, style: str = "") -> Wrapped:
    """Return text that wraps at words, indented."""
    return Wrapped(text=text, indent=indent, style=style)


def labelled(label: str, text: str, *, width: int, indent: int = 2, style: str = "") -> Wrapped:
    """Return a label with text beside it; the text wraps under itself."""
    return Wrapped(text=text, indent=indent, label=label, label_width=width, style=style)


def title_line(name: str, text: str, width: int) -> Trimmed:
    """Return a bold name with text beside it, or under it where the line is too short."""
    gap = "   " if cell_len(name) + cell_len(text) + 3 <= width else "\n  "
    return Trimmed(Text.assemble(Text(name, style="bold"), gap, text))


def literal(lines: Sequence[str]) -> Literally:
    """Return lines that are never wrapped, styled or read as markup."""
    return Literally(tuple(lines))


def pasteable(lines: Sequence[str]) -> Literally:
    """Return literal lines that someone runs or saves: nothing in them is ever rewritten."""
    return Literally(tuple(lines), is_exact=True)


def _shown(every: Sequence[Column], room: int) -> list[Column]:
    """Leave out the empty and what does not fit, then take back what still does, by importance."""
    columns = [column for column in every if any(map(str.strip, column.cells))]
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
    return sum(column.least_width for column in columns) + GAP * max(len(columns) - 1, 0)
