"""What a command prints with: one JSON document or text on stdout, the rest on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: nothing is laid out by height; with both given rich does not read COLUMNS and LINES itself
SCREEN_HEIGHT = 25
PIPE_WIDTH = 100
MIN_WIDTH = 40
MAX_WIDTH = 160


@dataclass(slots=True)
class Output:
    """The four options that every command has, and how they act."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False
    debug: bool = False
    has_emitted: bool = False

    def console(self) -> Console:
        """Return a console on stdout; plain text in a pipe, with NO_COLOR or --no-color."""
        from rich.console import Console

        class PipeConsole(Console):
            """Lets a reader that went away reach the error boundary; rich would exit with 1."""

            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        return PipeConsole(
            file=sys.stdout,
            width=screen_width(),
            height=SCREEN_HEIGHT,
            no_color=self.no_color or None,
            highlight=False,
            soft_wrap=False,
            emoji=False,
        )

    def show(self, *renderables: RenderableType) -> None:
        """Print renderables (or text, taken literally) to stdout; literal lines are never cut."""
        from tuner.report.layout import Literally

        console = self.console()
        for renderable in renderables:
            if isinstance(renderable, Literally) and renderable.is_exact:
                self.text("\n".join(renderable.lines))
            else:
                console.print(renderable, markup=False, crop=False)

    def text(self, text: str) -> None:
        """Print what someone runs or saves: its own bytes (UTF-8), whatever the locale says.

        Bytes of a command line that are no UTF-8 come out as they went in.
        """
        text = text if text.endswith("\n") else text + "\n"
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None:  # a stand-in for text alone
            sys.stdout.write(text)
            return
        sys.stdout.flush()
        try:
            buffer.write(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:  # half of a pair, which only an escape in a file can write
            buffer.write(text.encode("utf-8", "backslashreplace"))
        buffer.flush()

    def emit_json(
        self, document: Mapping[str, object], *, lines: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Print the one JSON document of this run; NaN is refused, it has no place in JSON.

        ``lines`` holds more members of the document: lists whose entries are JSON already, each
        printed in one line. A key of the document keeps its place.
        """
        is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        stand_ins = {key: f"lines of {key}" for key in lines or {}}
        text = json.dumps(
            {**document, **stand_ins}, indent=2, ensure_ascii=not is_utf8, allow_nan=False
        )
        for key, entries in (lines or {}).items():
            written = ",\n".join(f"    {entry}" for entry in entries)
            member = f'  "{key}": '
            text = text.replace(f'{member}"{stand_ins[key]}"', f"{member}[\n{written}\n  ]", 1)
        self.has_emitted = True
        sys.stdout.write(text + "\n")

    def warn(self, message: str) -> None:
        """Print a warning to stderr, unless --quiet."""
        if not self.quiet:
            print(f"warning: {message}", file=sys.stderr)

    def note(self, message: str) -> None:
        """Print to stderr what goes with the answer and is no part of it, unless --quiet."""
        if not self.quiet:
            print(message, file=sys.stderr)

    def progress(self, done: int, total: int, what: str) -> None:
        """Redraw one line on stderr; silent when stderr is no terminal, with --quiet or --json."""
        if self.quiet or self.json or not sys.stderr.isatty():
            return
        end = "\n" if done >= total else ""
        print(f"\r{what}: {done:,} of {total:,}", end=end, file=sys.stderr, flush=True)


#: The one of this run; the shell replaces it before a command starts.
_current = Output()


def start_output() -> Output:
    """Begin a run with the defaults."""
    global _current
    _current = Output()
    return _current


def current_output() -> Output:
    """Return the output settings of this run."""
    return _current


def has_emitted_json() -> bool:
    """Whether the JSON document of this run is already on stdout."""
    return _current.has_emitted


def screen_width() -> int:
    """Columns to lay out for: COLUMNS, else the terminal's, else 100 in a pipe."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) <= 9 and int(columns) > 0:
        width = int(columns)
    elif sys.stdout.isatty():
        try:
            width = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):
            width = PIPE_WIDTH
    else:
        width = PIPE_WIDTH
    return min(max(width, MIN_WIDTH), MAX_WIDTH)
