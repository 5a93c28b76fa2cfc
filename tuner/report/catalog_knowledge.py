"""Screens of ``catalog`` for methods, engines and priors; rows come from ``catalog_rows``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from tuner.report.catalog import facts
from tuner.report.catalog_rows import REFERENCE_K, REFERENCE_PARAMS
from tuner.report.layout import Column, fitted_table, paragraph, title_line
from tuner.report.numbers import DASH, ELLIPSIS
from tuner.units import GIGA

Row = dict[str, Any]

#: characters of a source's name in the table of priors
LONGEST_EXAMPLE = 26
_SHORT = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "trtllm": "TRT-LLM"}


def render_methods(rows: Sequence[Row], *, width: int) -> list[RenderableType]:
    """Return the table of methods, or everything about one."""
    if len(rows) == 1:
        return _method_facts(rows[0], width)
    engines = [entry["engine"] for entry in rows[0]["engines"]]
    columns = [
        Column(title="method", cells=tuple(row["method"] for row in rows), align="left"),
        Column(title="drafts", cells=tuple(row["cost_kind"] for row in rows), align="left"),
        *(
            Column(
                title=_SHORT[engine],
                cells=tuple(_since(row["engines"][place]) for row in rows),
                align="left",
            )
            for place, engine in enumerate(engines)
        ),
        Column(title="needs", cells=tuple(row["brief"] for row in rows), align="left"),
        Column(
            title="arXiv", cells=tuple(map(_arxiv, rows)), align="left", drop_order=1
        ),
    ]  # fmt: skip
    return [
        fitted_table(columns, width=width),
        paragraph(
            "serial: a pass for each draft token; parallel: one pass for all; heads: extra output "
            "heads; lookup: a search on the CPU; window: the target itself. Engines: first release "
            "seen to serve it.",
        ),
        paragraph(
            "What one needs and where it stops: specdec-tune catalog methods NAME.", indent=0
        ),
    ]


def render_engines(rows: Sequence[Row], *, width: int) -> list[RenderableType]:
    """Return each engine with the methods that it serves and does not serve."""
    shown: list[RenderableType] = []
    for row in rows:
        versions = row["newest_known"]
        if row["oldest_supported"] != versions:
            versions = f"{row['oldest_supported']} to {versions}"
        served = [entry for entry in row["methods"] if entry["served"]]
        refused = [entry for entry in row["methods"] if not entry["served"]]
        shown.append(title_line(row["title"], f"commands in the form of {versions}", width))
        shown.append(
            fitted_table(
                (
                    Column(title="method", cells=tuple(e["method"] for e in served), align="left"),
                    Column(title="since", cells=tuple(e["since"] or DASH for e in served),
                           align="left"),
                    Column(title="trees", cells=tuple("yes" if e["trees"] else "" for e in served),
                           align="left"),
                    Column(title="source", cells=tuple(e["source"] for e in served), align="left",
                           shortest=30, drop_order=1),
                ),
                width=width,
            )
        )  # fmt: skip
        shown += [paragraph(f"not {e['method']}: {e['reason']}") for e in refused]
        shown.append("")
    return shown[:-1]


def render_priors(
    rows: Sequence[Row], cost: Sequence[Row], *, words: str, fitted_on: str, width: int
) -> list[RenderableType]:
    """Return acceptance by method and task with what it rests on, and the step-time prior."""
    low, high = "acceptance_length_t0", "acceptance_length_t1"
    table = fitted_table(
        (
            Column(title="method", cells=tuple(row["method"] for row in rows), align="left"),
            Column(title="task", cells=tuple(row["task"] or "all" for row in rows), align="left"),
            Column(title="τ at T 0", cells=tuple(_mean(row[low]) for row in rows)),
            Column(title="80 %", cells=tuple(_span(row[low]) for row in rows), align="left"),
            Column(title="τ at T 1", cells=tuple(_mean(row[high]) for row in rows)),
            Column(title="80 %", cells=tuple(_span(row[high]) for row in rows), align="left",
                   drop_order=2),
            Column(title="rows", cells=tuple(str(row["n_measurements"]) for row in rows)),
            Column(title="sources", cells=tuple(str(row["n_sources"]) for row in rows)),
            Column(title="such as", cells=tuple(_example(row["sources"]) for row in rows),
                   align="left", drop_order=3),
        ),
        width=width,
    )  # fmt: skip
    shown: list[RenderableType] = [
        table,
        paragraph(
            f"τ at K {REFERENCE_K} for a dense target of {REFERENCE_PARAMS / GIGA:g}B parameters "
            f"and an unknown drafter; rows: published measurements in {fitted_on}. A known target, "
            "drafter or your own numbers move it. Tasks do not add up to 'all': a measurement over "
            "a mix of tasks counts for each of them, one whose task is not known for 'all' alone; "
            "'all' has no τ of its own.",
        ),
    ]
    if words:
        names = sorted({name for row in rows for name in row["sources"]})
        return [*shown, *facts([("sources", "; ".join(names))])]
    more = paragraph("All sources of a method: specdec-tune catalog priors METHOD.", indent=0)
    return [*shown, more, "", *_cost_levels(cost, width)]


def _cost_levels(rows: Sequence[Row], width: int) -> list[RenderableType]:
    head = title_line("step time", "offsets of the model by device, weights, engine, layers", width)
    table = fitted_table(
        (
            Column(title="level", cells=tuple(row["level"] for row in rows), align="left"),
            Column(title="timings", cells=tuple(str(row["n_measurements"]) for row in rows)),
            Column(title="sources", cells=tuple(str(row["n_sources"]) for row in rows)),
        ),
        width=width,
    )
    return [head, table]


def _method_facts(row: Row, width: int) -> list[RenderableType]:
    papers = "; ".join(f"{p['title']} ({p['reference']})" for p in row["papers"])
    served = [entry for entry in row["engines"] if entry["served"]]
    refused = [entry for entry in row["engines"] if not entry["served"]]
    since = ", ".join(
        _SHORT[entry["engine"]] + (f" since {entry['since']}" if entry["since"] else "")
        for entry in served
    )
    pairs = [
        ("needs", row["needs"]),
        ("draft cost", f"{row['cost_kind']}: {row['cost']}"),
        ("limits", row["limits"]),
        ("output", row["lossy_as_published"] or "lossless: the target's own distribution"),
        ("engines", since or "none that commands are written for"),
        *(("", f"not {_SHORT[entry['engine']]}: {entry['reason']}") for entry in refused),
        ("papers", papers),
        ("note", row["note"]),
    ]
    head = title_line(row["method"], row["title"], width)
    more = " and ".join(f"specdec-tune catalog {t} {row['method']}" for t in ("drafters", "priors"))
    return [head, *facts(pairs), paragraph(f"See also {more}.")]


def _since(entry: Row) -> str:
    if not entry["served"]:
        return DASH
    return str(entry["since"] or "yes")


def _arxiv(row: Row) -> str:
    first = row["papers"][0]["reference"] if row["papers"] else ""
    return first.removeprefix("arXiv:") if first.startswith("arXiv:") else ""


def _example(sources: Sequence[str]) -> str:
    """Return the shortest name, cut at the end of a word where it is still long."""
    name = min(sources, key=lambda source: (len(source), source))
    if len(name) <= LONGEST_EXAMPLE:
        return name
    head = name[: LONGEST_EXAMPLE + 1].rpartition(" ")[0]
    return head + ELLIPSIS if head else name


def _mean(length: Row | None) -> str:
    return DASH if length is None else f"{length['mean']:.2f}"


def _span(length: Row | None) -> str:
    if length is None:
        return ""
    return f"{length['p10']:.2f}{DASH}{length['p90']:.2f}"
