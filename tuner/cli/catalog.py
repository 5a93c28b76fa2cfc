"""``specdec-tune catalog``: what the tool knows, from where, how old."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.output import current_output, screen_width
from tuner.errors import InputError
from tuner.nearest import nearest

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = dict[str, Any]
#: the rows of a topic, and what draws them
Answer = tuple[list[Row], Callable[[], "list[RenderableType]"]]


class Topic(StrEnum):
    """The tables of the catalog."""

    METHODS = "methods"
    DRAFTERS = "drafters"
    GPUS = "gpus"
    MODELS = "models"
    ENGINES = "engines"
    PRIORS = "priors"


def catalog(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help=f"One of {', '.join(Topic)}.")
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]", help="Rows whose names hold these words; one row in full."
        ),
    ] = None,
) -> None:
    """Show what is known, from where, and how old it is."""
    if topic is None:
        _overview()
        return
    if topic not in set(Topic):
        near = nearest(topic, Topic)
        hint = f"Did you mean {near}?" if near else f"There are {', '.join(Topic)}."
        raise InputError(f"there is no table {topic!r} in the catalog. {hint}")
    wanted = " ".join(words or ()).strip()
    rows, screen = _TOPICS[Topic(topic)](wanted)
    output = current_output()
    if output.json:
        output.emit_json(_document(topic, wanted, rows))
    else:
        output.show(*screen())


def _overview() -> None:
    """Say how much each table holds."""
    from tuner.report.catalog import render_overview

    counts = {topic.value: count() for topic, count in _COUNTS.items()}
    output = current_output()
    if output.json:
        output.emit_json(_document(None, "", [{"topic": t, "rows": n} for t, n in counts.items()]))
    else:
        from tuner.catalog import CATALOG_DATE

        output.show(*render_overview(counts, date=CATALOG_DATE, width=screen_width()))


def _document(topic: str | None, words: str, rows: list[Row]) -> dict[str, object]:
    from tuner import __version__
    from tuner.catalog import CATALOG_DATE

    return {
        "schema_version": 1,
        "tool_version": __version__,
        "catalog_date": CATALOG_DATE,
        "topic": topic,
        "filter": words or None,
        "rows": rows,
    }


def _methods(words: str) -> Answer:
    from tuner.report.catalog_knowledge import render_methods
    from tuner.report.catalog_rows import method_rows

    rows = method_rows(words)
    return rows, lambda: render_methods(rows, width=screen_width())


def _drafters(words: str) -> Answer:
    from tuner.catalog import CATALOG_DATE
    from tuner.catalog.listing import drafter_rows, small_model_rows
    from tuner.report.catalog import render_drafters

    rows = drafter_rows(words)
    targets = {row["target"] for row in rows} if words else set()
    small = (
        small_model_rows(targets.pop() if targets else words) if len(targets) < 2 and words else []
    )
    return [*rows, *small], lambda: render_drafters(
        rows, small, words=words, date=CATALOG_DATE, width=screen_width()
    )


def _gpus(words: str) -> Answer:
    from tuner.catalog import CATALOG_DATE
    from tuner.catalog.listing import gpu_rows
    from tuner.report.catalog import render_gpus

    rows = gpu_rows(words)
    return rows, lambda: render_gpus(rows, date=CATALOG_DATE, width=screen_width())


def _models(words: str) -> Answer:
    from tuner.catalog import CATALOG_DATE
    from tuner.catalog.listing import model_rows
    from tuner.report.catalog import render_models

    rows = model_rows(words)
    return rows, lambda: render_models(rows, date=CATALOG_DATE, width=screen_width())


def _engines(words: str) -> Answer:
    from tuner.report.catalog_knowledge import render_engines
    from tuner.report.catalog_rows import engine_rows

    rows = engine_rows(words)
    return rows, lambda: render_engines(rows, width=screen_width())


def _priors(words: str) -> Answer:
    from tuner.catalog.priors import load_acceptance_prior
    from tuner.report.catalog_knowledge import render_priors
    from tuner.report.catalog_rows import cost_prior_rows, prior_rows

    rows, cost = prior_rows(words), cost_prior_rows()
    fitted_on = load_acceptance_prior().fitted_on
    return rows, lambda: render_priors(
        rows, cost, words=words, fitted_on=fitted_on, width=screen_width()
    )


def _n_methods() -> int:
    from tuner.catalog.methods import all_methods

    return len(all_methods())


def _n_engines() -> int:
    from tuner.engines import NEWEST_KNOWN

    return len(NEWEST_KNOWN)


def _n_priors() -> int:
    from tuner.catalog.priors import load_acceptance_prior

    return len(load_acceptance_prior().cells)


def _n_rows(table: str) -> Callable[[], int]:
    def count() -> int:
        from tuner.catalog.tables import read_document

        return len(read_document(table)["rows"])

    return count


_COUNTS: dict[Topic, Callable[[], int]] = {
    Topic.METHODS: _n_methods,
    Topic.DRAFTERS: _n_rows("drafters"),
    Topic.GPUS: _n_rows("accelerators"),
    Topic.MODELS: _n_rows("models"),
    Topic.ENGINES: _n_engines,
    Topic.PRIORS: _n_priors,
}

_TOPICS: dict[Topic, Callable[[str], Answer]] = {
    Topic.METHODS: _methods,
    Topic.DRAFTERS: _drafters,
    Topic.GPUS: _gpus,
    Topic.MODELS: _models,
    Topic.ENGINES: _engines,
    Topic.PRIORS: _priors,
}
