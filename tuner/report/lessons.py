"""Lessons on the screen, as JSON and as a page of the documentation."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console, RenderableType

from tuner.lessons.outcome import Lesson, LessonTable, Outcome
from tuner.report.layout import Column, fitted_table, labelled, literal, paragraph
from tuner.report.plots import Series, line_plot

SCHEMA_VERSION = 1
PROGRAM = "specdec-tune"
#: columns of the output on a documentation page
PAGE_WIDTH = 96


def render_list(lessons: Sequence[Lesson], *, width: int) -> list[RenderableType]:
    """Return the table of contents."""
    columns = [
        Column(title="lesson", cells=tuple(lesson.name for lesson in lessons), align="left"),
        Column(
            title="",
            cells=tuple(lesson.title for lesson in lessons),
            align="left",
            shortest=30,
        ),
    ]
    return [
        "",
        fitted_table(columns, width=width, indent=2),
        "",
        paragraph(f"{PROGRAM} lesson NAME runs one: explanation, output and plot."),
    ]


def render_lesson(
    lesson: Lesson, text: str, outcome: Outcome, *, width: int, blocks: bool
) -> list[RenderableType]:
    """Return the screen of a lesson: explanation, output, plot, commands that go with it."""
    parts: list[RenderableType] = ["", paragraph(lesson.title, style="bold"), ""]
    for block in plain_text(text).split("\n\n"):
        parts += [paragraph(block), ""]
    parts += render_output(outcome, width=width, blocks=blocks)
    if lesson.related:
        parts.append("")
        for place, command in enumerate(lesson.related):
            label = "try also" if place == 0 else ""
            parts.append(labelled(label, f"{PROGRAM} {command}", width=10))
    return parts


def render_output(outcome: Outcome, *, width: int, blocks: bool) -> list[RenderableType]:
    """Return tables, plot and findings."""
    parts: list[RenderableType] = []
    for table in outcome.tables:
        parts += [paragraph(table.title), _table(table, width), ""]
    parts += [literal(_plot(outcome, width, blocks)), ""]
    parts += [paragraph(finding, style="bold") for finding in outcome.findings]
    return parts


def plain_text(markdown: str) -> str:
    """Return a page without marks for bold, italics and code, its lines joined by paragraph."""
    text = re.sub(r"\*\*(.+?)\*\*", r"\1", markdown.strip())
    text = re.sub(r"(?<![\w*])\*([^*\n]+?)\*(?![\w*])", r"\1", text)
    text = text.replace("`", "")
    return "\n\n".join(" ".join(block.split()) for block in text.split("\n\n"))


def lesson_document(lesson: Lesson, outcome: Outcome) -> dict[str, object]:
    """Return the JSON document of a lesson."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": lesson.name,
        "title": lesson.title,
        "findings": list(outcome.findings),
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [list(row) for row in table.rows],
            }
            for table in outcome.tables
        ],
        "x": outcome.x_label,
        "y": outcome.y_label,
        "curves": [
            {"label": curve.label, "x": curve.x.tolist(), "y": curve.y.tolist()}
            for curve in outcome.curves
        ],
        "related": [f"{PROGRAM} {command}" for command in lesson.related],
    }


def list_document(lessons: Sequence[Lesson]) -> dict[str, object]:
    """Return the JSON document of the table of contents."""
    rows = [{"name": lesson.name, "title": lesson.title} for lesson in lessons]
    return {"schema_version": SCHEMA_VERSION, "lessons": rows}


def lesson_page(lesson: Lesson, text: str, outcome: Outcome) -> str:
    """Return the page of the documentation: the same explanation and output, and a figure."""
    console = Console(
        width=PAGE_WIDTH, no_color=True, highlight=False, record=True, file=io.StringIO()
    )
    for part in render_output(outcome, width=PAGE_WIDTH, blocks=True):
        console.print(part, markup=False)
    output = "\n".join(line.rstrip() for line in console.export_text().splitlines())
    commands = "".join(f"- `{PROGRAM} {command}`\n" for command in lesson.related)
    return (
        f"# {lesson.title}\n\n"
        f"<!-- written by {PROGRAM} lesson {lesson.name} --write docs/lessons -->\n\n"
        f"{text.strip()}\n\n"
        f"## {PROGRAM} lesson {lesson.name}\n\n"
        f"```text\n{output.strip(chr(10))}\n```\n\n"
        f"![{outcome.y_label} over {outcome.x_label}]({lesson.name}.svg)\n"
        + (f"\nTry also:\n\n{commands}" if commands else "")
    )


def contents_page(lessons: Sequence[Lesson]) -> str:
    """Return the index page of the documentation's lessons."""
    rows = "".join(
        f"{place}. [{lesson.title}]({lesson.name}.md) (`{PROGRAM} lesson {lesson.name}`)\n"
        for place, lesson in enumerate(lessons, start=1)
    )
    return (
        "# Lessons\n\n"
        f"<!-- written by {PROGRAM} lesson --write docs/lessons -->\n\n"
        "Each is a command that computes its tables and its plot with the exact sampler, and a "
        "page that explains them. They are best read in this order.\n\n"
        f"{rows}"
    )


def _table(table: LessonTable, width: int) -> RenderableType:
    columns = []
    for place, title in enumerate(table.columns):
        cells = tuple(row[place] for row in table.rows)
        is_first = place == 0
        columns.append(
            Column(
                title=title,
                cells=cells,
                align="left" if is_first else "right",
                shortest=16 if is_first else None,
            )
        )
    return fitted_table(columns, width=width, indent=4)


def _plot(outcome: Outcome, width: int, blocks: bool) -> list[str]:
    series = [Series(label=curve.label, x=curve.x, y=curve.y) for curve in outcome.curves]
    return line_plot(
        series,
        width=min(width, 90),
        x_label=outcome.x_label,
        y_label=outcome.y_label,
        y_min=outcome.y_min,
        blocks=blocks,
    )
