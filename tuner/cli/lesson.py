"""``lesson``: runnable lessons on speculative decoding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.bar import progress_bar
from tuner.cli.files import PLOT_ENDINGS, check_out_file, write_file
from tuner.cli.options import PlotFile
from tuner.cli.output import current_output, screen_width
from tuner.errors import InputError
from tuner.nearest import nearest


def lesson(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A lesson; without it all are listed.")
    ] = None,
    plot: PlotFile = None,
    write: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write the lesson (or all) as page and figure."),
    ] = None,
) -> None:
    """Run a lesson: an explanation, the numbers computed while you wait, and a plot."""
    plot_path = check_out_file("--plot", plot, endings=PLOT_ENDINGS) if plot is not None else None
    if write is not None:
        _write(name, _folder(write))
        return
    if name is None:
        if plot_path is not None:
            raise InputError("--plot draws one lesson; name it.")
        _show_list()
        return
    _show(_known(name), plot_path)


def _show_list() -> None:
    from tuner.lessons.catalogue import LESSONS
    from tuner.report.lessons import list_document, render_list

    output, lessons = current_output(), list(LESSONS.values())
    if output.json:
        output.emit_json(list_document(lessons))
    else:
        output.show(*render_list(lessons, width=screen_width()))


def _show(name: str, plot_path: Path | None) -> None:
    from tuner.lessons.catalogue import LESSONS, lesson_text
    from tuner.report.lessons import lesson_document, render_lesson

    chosen = LESSONS[name]
    with progress_bar(1) as report:
        report(chosen.title)
        outcome = chosen.run()
    if plot_path is not None:
        from tuner.report.lesson_figure import lesson_figure

        image = lesson_figure(outcome, plot_path.suffix.lower()[1:])
        write_file("--plot", plot_path, [image])
    output = current_output()
    if output.json:
        output.emit_json(lesson_document(chosen, outcome))
        return
    blocks = not output.console().options.ascii_only
    text = lesson_text(name)
    output.show(*render_lesson(chosen, text, outcome, width=screen_width(), blocks=blocks))


def _write(name: str | None, folder: Path) -> None:
    from tuner.lessons.catalogue import LESSONS, lesson_text
    from tuner.report.lesson_figure import lesson_figure
    from tuner.report.lessons import contents_page, lesson_page

    names = list(LESSONS) if name is None else [_known(name)]
    with progress_bar(len(names)) as report:
        for each in names:
            report(each)
            outcome = LESSONS[each].run()
            page = lesson_page(LESSONS[each], lesson_text(each), outcome)
            write_file("--write", folder / f"{each}.md", [page.encode()])
            write_file("--write", folder / f"{each}.svg", [lesson_figure(outcome, "svg")])
    if name is None:
        index = contents_page(list(LESSONS.values()))
        write_file("--write", folder / "README.md", [index.encode()])
    output = current_output()
    if output.json:
        output.emit_json({"schema_version": 1, "written": names})
    else:
        output.text(f"wrote {', '.join(names)} to {folder}")


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.is_dir():
        raise InputError(f"--write: {text} is not a directory.")
    return folder


def _known(name: str) -> str:
    from tuner.lessons.catalogue import LESSONS

    if name not in LESSONS:
        near = nearest(name, LESSONS)
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join(LESSONS)}."
        raise InputError(f"there is no lesson {name!r}. {hint}")
    return name
