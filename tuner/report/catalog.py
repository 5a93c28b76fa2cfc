"""Screens of ``catalog``: what is known, from where, how old. Rows come from ``tuner.catalog``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tuner.report.layout import Column, Trimmed, fitted_table, paragraph, title_line
from tuner.report.names import engine_titles
from tuner.report.numbers import DASH, counted
from tuner.units import GIGA

Row = dict[str, Any]

_LABEL = 18
#: what may stand in for a head where none is published
_INSTEAD = (
    "What works without one: n-gram lookup where the output copies its prompt; suffix decoding "
    "where outputs repeat each other (vLLM); a small model with the same tokenizer; or training an "
    "EAGLE-3 or DFlash drafter on your own traffic (vllm-project/speculators, "
    "sgl-project/SpecForge)."
)


def render_overview(counts: dict[str, int], *, date: str, width: int) -> list[RenderableType]:
    """Return what the tables are and how many rows each holds."""
    about = {
        "methods": "what each needs, its cost, the engines that serve it",
        "drafters": "published drafters by target, and what their authors advise",
        "gpus": "memory, bandwidth, peaks and the best that was measured",
        "models": "shapes of targets, parameters, what can draft for them",
        "engines": "versions, and the methods that each serves since when",
        "priors": "acceptance by method and task before you measure anything",
    }
    table = fitted_table(
        (
            Column(title="table", cells=tuple(counts), align="left"),
            Column(title="rows", cells=tuple(str(count) for count in counts.values())),
            Column(title="what", cells=tuple(about[name] for name in counts), align="left",
                   drop_order=1),
        ),
        width=width,
    )  # fmt: skip
    note = f"Collected {date}. Look in one: specdec-tune catalog TABLE [NAME]."
    return [table, paragraph(note)]


def render_models(rows: Sequence[Row], *, date: str, width: int) -> list[RenderableType]:
    """Return the table of targets, or everything about one."""
    if len(rows) == 1:
        return _model_facts(rows[0], width)
    table = fitted_table(
        (
            Column(title="model", cells=_texts(rows, "id"), align="left", shortest=24),
            Column(title="total", cells=tuple(_billions(r["total_params"]) for r in rows)),
            Column(title="active", cells=tuple(_billions(r["active_params"]) for r in rows)),
            Column(title="layers", cells=_texts(rows, "n_layers"), drop_order=3),
            Column(title="attention", cells=tuple(map(_attention, rows)), align="left",
                   drop_order=4),
            Column(title="experts", cells=tuple(map(_experts, rows)), drop_order=5),
            Column(title="MTP", cells=tuple(str(r["mtp_layers"] or DASH) for r in rows)),
            Column(title="drafters", cells=tuple(" ".join(r["drafters"]) or DASH for r in rows),
                   align="left", shortest=20),
            Column(title="grade", cells=_texts(rows, "grade"), align="left", drop_order=1),
        ),
        width=width,
    )  # fmt: skip
    return [table, _footer(len(rows), "model", date, "catalog models NAME")]


def render_gpus(rows: Sequence[Row], *, date: str, width: int) -> list[RenderableType]:
    """Return the table of devices, or everything about one."""
    if len(rows) == 1:
        return _gpu_facts(rows[0], width)
    table = fitted_table(
        (
            Column(title="device", cells=_texts(rows, "name"), align="left", shortest=18),
            Column(title="memory", cells=_numbers(rows, "memory_gb", " GB")),
            Column(title="bandwidth", cells=_numbers(rows, "bandwidth_tb_s", " TB/s")),
            Column(title="bf16", cells=_numbers(rows, "bf16_tflops")),
            Column(title="measured", cells=_numbers(rows, "measured_bf16_tflops"), drop_order=2),
            Column(title="fp8", cells=_numbers(rows, "fp8_tflops"), drop_order=3),
            Column(title="fp4", cells=_numbers(rows, "fp4_tflops"), drop_order=4),
            Column(title="link GB/s", cells=_numbers(rows, "interconnect_gb_s"), drop_order=5),
            Column(title="power", cells=_numbers(rows, "power_w", " W"), drop_order=6),
            Column(title="grade", cells=_texts(rows, "grade"), align="left", drop_order=1),
        ),
        width=width,
    )
    note = paragraph("bf16, fp8 and fp4: dense peak TFLOPS of the data sheet; measured: the best "
                     "bf16 matrix product that was measured.")  # fmt: skip
    return [table, note, _footer(len(rows), "device", date, "catalog gpus NAME")]


def render_drafters(
    rows: Sequence[Row], small: Sequence[Row], *, words: str, date: str, width: int
) -> list[RenderableType]:
    """Return drafters by target: a summary without a filter, the rows with one."""
    if not rows:
        head = title_line(words, "no published drafter is known.", width)
        return [head, "", *_small_models(small, width), paragraph(_INSTEAD)]
    if not words:
        return _drafter_summary(rows, date, width)
    shown: list[RenderableType] = []
    for target in dict.fromkeys(row["target"] for row in rows):
        mine = [row for row in rows if row["target"] == target]
        offered = [row for row in mine if not row["not_offered"]]
        shown += [title_line(target, counted(len(offered), "drafter"), width)]
        if offered:
            shown.append(_drafter_table(offered, width))
        for row in mine:
            if row["not_offered"]:
                name = row["path_or_id"] or row["method"]
                shown.append(paragraph(f"not proposed: {name} ({row['not_offered']})"))
        shown.append("")
    shown += _small_models(small, width)
    if len(rows) == 1:
        shown += [*_drafter_facts(rows[0]), ""]
    shown.append(_footer(len(rows), "drafter", date, "catalog drafters DRAFTER"))
    return shown


def facts(pairs: Sequence[tuple[str, object]]) -> list[RenderableType]:
    """Return label and value lines; values that are not known are left out."""
    grid = Table.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in pairs:
        if value not in (None, ""):
            grid.add_row("", Text(label), Text(str(value)))
    return [Trimmed(grid)]


def _drafter_summary(rows: Sequence[Row], date: str, width: int) -> list[RenderableType]:
    targets: dict[str, list[Row]] = {}
    for row in rows:
        targets.setdefault(row["target"], []).append(row)
    counts = []
    for mine in targets.values():
        by_method: dict[str, int] = {}
        for row in mine:
            if not row["not_offered"]:
                by_method[row["method"]] = by_method.get(row["method"], 0) + 1
        texts = [name if n == 1 else f"{name} ×{n}" for name, n in by_method.items()]
        counts.append(", ".join(texts) or DASH)
    table = fitted_table(
        (
            Column(title="target", cells=tuple(targets), align="left", shortest=30),
            Column(title="drafters", cells=tuple(counts), align="left", shortest=30),
        ),
        width=width,
    )
    return [table, _footer(len(rows), "drafter", date, "catalog drafters TARGET")]


def _drafter_table(rows: Sequence[Row], width: int) -> RenderableType:
    return fitted_table(
        (
            Column(title="method", cells=_texts(rows, "method"), align="left"),
            Column(
                title="drafter",
                cells=tuple(row["path_or_id"] or "(in the checkpoint)" for row in rows),
                align="left",
                shortest=24,
            ),
            Column(title="size", cells=tuple(_billions(row["params"]) for row in rows),
                   drop_order=5),
            Column(title="advised", cells=tuple(map(_setting, rows)), align="left"),
            Column(title="τ stated", cells=_numbers(rows, "acceptance_length"), drop_order=4),
            Column(title="engines", cells=tuple(engine_titles(row["engines"]) for row in rows),
                   align="left", drop_order=2),
            Column(title="licence", cells=_texts(rows, "licence"), align="left", shortest=10,
                   drop_order=6),
            Column(title="grade", cells=_texts(rows, "grade"), align="left", drop_order=3),
        ),
        width=width,
    )  # fmt: skip


def _drafter_facts(row: Row) -> list[RenderableType]:
    depth, context = row["trained_depth"], row["max_context"]
    pairs = [
        ("drafter", row["path_or_id"] or "(in the checkpoint)"),
        ("trained by", row["trained_by"]),
        ("layers", row["n_layers"]),
        ("vocabulary", row["vocab_size"]),
        ("trained for", f"{depth} draft tokens" if depth else None),
        ("context", f"{context:,} tokens" if context else None),
        ("advised", f"{row['setting']}, by {row['settings_source']}" if row["setting"] else None),
        ("τ stated", row["acceptance_length"]),
        ("measured on", row["acceptance_conditions"]),
        ("engines", f"{engine_titles(row['engines'])} ({row['engines_basis']})"),
        ("licence", row["licence"]),
    ]
    return [*facts(pairs), *_origin(row)]


def _small_models(rows: Sequence[Row], width: int) -> list[RenderableType]:
    if not rows:
        return []
    table = fitted_table(
        (
            Column(title="same tokenizer", cells=_texts(rows, "path_or_id"), align="left",
                   shortest=24),
            Column(title="size", cells=tuple(_billions(row["params"]) for row in rows)),
            Column(title="grade", cells=_texts(rows, "grade"), align="left", drop_order=1),
        ),
        width=width,
    )  # fmt: skip
    return [table, ""]


def _model_facts(row: Row, width: int) -> list[RenderableType]:
    stated = ", ".join(
        f"{row[key]:g}B {what}"
        for key, what in (("stated_total_b", "in all"), ("stated_active_b", "active"))
        if row[key] is not None
    )
    shape = (
        f"{row['n_layers']} layers, hidden {row['hidden_size']}, {row['n_heads']} heads, "
        f"{row['n_kv_heads']} KV heads of {row['head_dim']}, vocabulary {row['vocab_size']:,}"
    )
    pairs = [
        ("parameters", f"{_billions(row['total_params'])} in all, "
                       f"{_billions(row['active_params'])} active ({row['params_grade']})"),
        ("stated", f"{stated} ({row['stated_source']})" if stated else None),
        ("shape", shape),
        ("attention", _attention(row)),
        ("experts", _experts(row) if row["n_experts"] else None),
        ("MTP layers", row["mtp_layers"] or None),
        ("stored as", row["native_dtype"]),
        ("drafters", ", ".join(row["drafters"]) or "none known (catalog drafters says what to do)"),
    ]  # fmt: skip
    head = title_line(row["id"], str(row["year"] or ""), width)
    return [head, *facts(pairs), *_origin(row)]


def _gpu_facts(row: Row, width: int) -> list[RenderableType]:
    names = (
        ("memory", "memory_gb", "GB"),
        ("bandwidth", "bandwidth_tb_s", "TB/s"),
        ("bf16 dense", "bf16_tflops", "TFLOPS"),
        ("bf16 measured", "measured_bf16_tflops", "TFLOPS, best matrix product"),
        ("fp8 dense", "fp8_tflops", "TFLOPS"),
        ("int8 dense", "int8_tops", "TOPS"),
        ("fp4 dense", "fp4_tflops", "TFLOPS"),
        ("link", "interconnect_gb_s", "GB/s"),
        ("power", "power_w", "W"),
    )
    pairs: list[tuple[str, object]] = [
        (label, f"{row[key]:g} {unit}{_graded(row, key)}")
        for label, key, unit in names
        if row[key] is not None
    ]
    unknown = [label for label, key, _ in names if row[key] is None and key != "interconnect_gb_s"]
    pairs += [
        ("connection", row["interconnect"]),
        ("also called", ", ".join(row["aliases"])),
        ("not known", ", ".join(unknown)),
    ]
    head = title_line(row["name"], f"{row['vendor']}, {row['architecture'] or row['kind']}", width)
    return [head, *facts(pairs), *_origin(row)]


def _graded(row: Row, key: str) -> str:
    grade = row["grades"].get(key)
    return f" ({grade})" if grade else ""


def _origin(row: Row) -> list[RenderableType]:
    confidence = row.get("confidence")
    grade = f"{row['grade']}, read {row['date']}" + (
        f" (confidence {confidence})" if confidence else ""
    )
    return facts([("source", row["source"]), ("grade", grade), ("note", row["note"])])


def _footer(count: int, noun: str, date: str, command: str) -> RenderableType:
    return paragraph(
        f"{counted(count, noun)}, collected {date}. Sources of one: specdec-tune {command}; "
        "of all: --json.",
        indent=0,
    )


def _texts(rows: Sequence[Row], key: str) -> tuple[str, ...]:
    return tuple("" if row[key] is None else str(row[key]) for row in rows)


def _numbers(rows: Sequence[Row], key: str, unit: str = "") -> tuple[str, ...]:
    return tuple("" if row[key] is None else f"{row[key]:g}{unit}" for row in rows)


def _billions(params: float | None) -> str:
    if params is None:
        return ""
    value = params / GIGA
    return (
        f"{value:,.0f}B"
        if value >= 100.0
        else f"{value:.1f}B"
        if value >= 10.0
        else f"{value:.2f}B"
    )


def _attention(row: Row) -> str:
    text = str(row["attention"])
    if row["n_linear_layers"]:
        return f"{text} + {row['n_linear_layers']} linear"
    if row["sliding_window"]:
        return f"{text}, window {row['sliding_window']}"
    return text


def _experts(row: Row) -> str:
    if not row["n_experts"]:
        return ""
    shared = f" + {row['n_shared_experts']}" if row["n_shared_experts"] else ""
    return f"{row['experts_per_token']} of {row['n_experts']}{shared}"


def _setting(row: Row) -> str:
    parts = [] if row["k"] is None else [f"K {row['k']}"]
    if row["steps"] is not None and row["topk"] is not None and row["draft_tokens"] is not None:
        parts.append(f"{row['steps']}/{row['topk']}/{row['draft_tokens']}")
    return " ".join(parts)
