"""A progress bar on stderr, for commands that take seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tuner.cli.output import current_output


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that names the next of ``total`` tasks; silent off a terminal or asked to.

    The bar is erased at the end: what stays on the screen is the answer.
    """
    output = current_output()
    if output.quiet or output.json or not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, no_color=output.no_color or None, highlight=False)
    columns = (BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        done = -1

        def name_next(what: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=what)

        yield name_next
