"""The screen of ``predict``: numbers for named configurations, in the order asked."""

from __future__ import annotations

from rich.console import RenderableType

from tuner.advise.predict import Answer
from tuner.records.config import Prediction
from tuner.report.candidates import candidates_table
from tuner.report.footer import rests_on_parts, warning_parts
from tuner.report.layout import Column, fitted_table, paragraph, title_line
from tuner.report.names import column_name, setting_text
from tuner.report.numbers import counted, milliseconds_text, plain_number


def render_predictions(item: Answer, *, width: int) -> list[RenderableType]:
    """Return title, table, what clients would see, warnings, what it rests on."""
    configs = item.configs
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    load = item.context_line
    batches = {config.batch for config in configs}
    heats = {config.temperature for config in configs}
    if len(batches) > 1 or len(heats) > 1:
        load = f"at {counted(len(batches), 'load')} and {counted(len(heats), 'temperature')}"
    parts.append(paragraph(load))
    parts.append(candidates_table(configs, width=width, with_load=True))
    if any(config.chunk_gap_s is not None for config in configs):
        parts += ["", paragraph("what clients see"), _client_table(configs, width)]
    parts += warning_parts(item.warnings)
    parts += rests_on_parts(item.assumptions)
    return parts


def _client_table(configs: tuple[Prediction, ...], width: int) -> RenderableType:
    """Return throughput, chunk gap, first token and whole request for each configuration."""
    return fitted_table(
        [
            Column(
                title="method",
                cells=tuple(column_name(item.config.method) for item in configs),
                align="left",
            ),
            Column(
                title="setting",
                cells=tuple(setting_text(item.config) for item in configs),
                align="left",
            ),
            Column(title="batch", cells=tuple(plain_number(item.batch) for item in configs)),
            Column(
                title="tokens/s",
                cells=tuple(
                    "" if item.output_tok_s is None else f"{item.output_tok_s:,.0f}"
                    for item in configs
                ),
            ),
            Column(title="chunk gap", cells=tuple(_ms(item.chunk_gap_s) for item in configs)),
            Column(
                title="first token",
                cells=tuple(_plus(item.ttft_delta_s) for item in configs),
                drop_order=2,
            ),
            Column(title="request", cells=tuple(_seconds(item.e2e_s) for item in configs)),
            Column(
                title="$/M tokens",
                cells=tuple(_dollars(item.usd_per_million_tokens) for item in configs),
                drop_order=1,
            ),
        ],
        width=width,
        indent=4,
    )


def _ms(value_s: float | None) -> str:
    return "" if value_s is None else milliseconds_text(value_s)


def _plus(value_s: float | None) -> str:
    return "" if value_s is None else f"+ {milliseconds_text(value_s)}"


def _seconds(value_s: float | None) -> str:
    return "" if value_s is None else f"{value_s:.2f} s"


def _dollars(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
