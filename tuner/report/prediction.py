"""The screen of ``predict``: numbers for named configurations, in the order asked."""

from __future__ import annotations

from rich.console import RenderableType

from tuner.advise.predict import Answer
from tuner.report.candidates import candidates_table
from tuner.report.clients import client_table
from tuner.report.footer import rests_on_parts, warning_parts
from tuner.report.layout import paragraph, title_line


def render_predictions(item: Answer, *, width: int, quiet: bool = False) -> list[RenderableType]:
    """Return title, table, what clients would see, warnings unless quiet, what it rests on.

    Plain decoding stands before each load even where it was not asked for: every ratio is a ratio
    to it.
    """
    configs = item.beside_plain
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    parts.append(paragraph(item.context_line))
    parts += candidates_table(configs, width=width, with_load=True)
    parts += client_table(configs, width=width)
    if not quiet:
        parts += warning_parts(item.warnings)
    parts += rests_on_parts(item.assumptions)
    return parts
