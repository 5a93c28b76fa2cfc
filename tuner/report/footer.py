"""What stands under an answer: warnings, what it rests on, and what to measure next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tuner.records.decision import NextMeasurement
from tuner.records.sources import Assumption, AssumptionKind, Warning_
from tuner.report.layout import labelled, paragraph, pasteable
from tuner.report.numbers import sentence

_LABEL_WIDTH = 14


def warning_parts(warnings: Sequence[Warning_]) -> list[RenderableType]:
    """Return each warning once, marked with "!"."""
    seen = dict.fromkeys(warning.message for warning in warnings)
    parts: list[RenderableType] = [
        labelled("!", sentence(text), width=3, style="bold yellow") for text in seen
    ]
    return ["", *parts] if parts else []


def rests_on_parts(assumptions: Sequence[Assumption]) -> list[RenderableType]:
    """Return overrides, observations and priors a line each; the defaults together."""
    parts: list[RenderableType] = []
    named = [item for item in assumptions if item.kind is not AssumptionKind.DEFAULT]
    width = max([_LABEL_WIDTH, *(len(item.what) + 2 for item in named)])
    for item in named:
        text = f"{item.kind}: {item.value}; {item.source}"
        parts.append(labelled(item.what, text, width=width, indent=4))
    defaults = [item for item in assumptions if item.kind is AssumptionKind.DEFAULT]
    if defaults:
        text = " · ".join(f"{item.what} {item.value}" for item in defaults)
        parts.append(labelled("defaults", text, width=width, indent=4))
    return ["", paragraph("rests on"), *parts] if parts else []


def measurement_part(item: NextMeasurement | None) -> list[RenderableType]:
    """Return what to measure next, why, and the command."""
    if item is None:
        return []
    text = f"{sentence(item.what)}: {item.why}."
    return [
        "",
        paragraph("to know more"),
        paragraph(text, indent=4),
        pasteable([f"    {item.command}"]),
    ]
