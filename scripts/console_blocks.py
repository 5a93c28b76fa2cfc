"""Keep the console blocks of the documentation true: run each command, compare or rewrite.

A block is fenced as ``console`` and holds ``$ specdec-tune …`` with what it prints. Usage::

    python -m scripts.console_blocks          # say which blocks are out of date
    python -m scripts.console_blocks --write  # rewrite them
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/formula.md", "docs/using.md")
WIDTH = "100"
BLOCK = re.compile(
    r"^```console\n\$ specdec-tune (?P<command>[^\n]*)\n(?P<output>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Block:
    """One command with the output that the page shows."""

    page: Path
    command: str
    output: str
    span: tuple[int, int]


def blocks(page: Path) -> Iterator[Block]:
    """Return the console blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield Block(page, match["command"], match["output"], match.span("output"))


def printed(command: str) -> str:
    """Run a command in this process and return what it prints on stdout, as in a pipe."""
    from tuner.cli.app import run

    out = io.StringIO()
    before = dict(os.environ)
    os.environ.update({"COLUMNS": WIDTH, "NO_COLOR": "1"})
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = run(shlex.split(command))
        if code:
            raise RuntimeError(f"specdec-tune {command}: exit {code}")
    finally:
        os.environ.clear()
        os.environ.update(before)
    lines = [line.rstrip() for line in out.getvalue().strip("\n").split("\n")]
    return "\n".join(lines) + "\n"


def stale(page: Path) -> list[tuple[Block, str]]:
    """Return the blocks whose output is no longer what the command prints."""
    found = [(block, printed(block.command)) for block in blocks(page)]
    return [(block, output) for block, output in found if block.output != output]


def rewrite(page: Path) -> None:
    """Put the present output into every block."""
    text = page.read_text(encoding="utf-8")
    for block in reversed(list(blocks(page))):
        start, end = block.span
        text = text[:start] + printed(block.command) + text[end:]
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Check or rewrite all pages."""
    pages = [ROOT / name for name in PAGES if (ROOT / name).exists()]
    if "--write" in arguments:
        for page in pages:
            rewrite(page)
        return 0
    old = [block for page in pages for block, _ in stale(page)]
    for block in old:
        print(f"{block.page.relative_to(ROOT)}: specdec-tune {block.command}: out of date")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
