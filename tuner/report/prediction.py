"""The screen of ``predict``: numbers for named configurations, in the order asked."""

from __future__ import annotations

from rich.console import RenderableType

from tuner.advise.predict import Answer
from tuner.records.config import Prediction
from tuner.report.candidates import candidates_table
from tuner.report.footer import rests_on_parts, warning_parts
from tuner.report.layout import Column, fitted_table, paragraph, title_line
from tuner.report.names import column_name, setting_text
from tuner.report.numbers import plain_number, seconds_number, time_text

#: beyond this many configurations a second table is no longer read
_MOST_CLIENT_ROWS = 16


def render_predictions(item: Answer, *, width: int, quiet: bool = False) -> list[RenderableType]:
    """Return title, table, what clients would see, warnings unless quiet, what it rests on."""
    configs = item.configs
    parts: list[RenderableType] = ["", title_line(item.profile, item.title, width), ""]
    parts.append(paragraph(_load_text(item)))
    parts += candidates_table(configs, width=width, with_load=True)
    if any(config.chunk_gap_s is not None for config in configs):
        if len(configs) <= _MOST_CLIENT_ROWS:
            parts += ["", paragraph("what clients see"), _client_table(configs, width)]
        else:
            parts.append(
                paragraph("--json adds throughput, chunk gap and request time.", style="dim")
            )
    if not quiet:
        parts += warning_parts(item.warnings)
    parts += rests_on_parts(item.assumptions)
    return parts


def _load_text(item: Answer) -> str:
    """Return the load, or the batches and temperatures asked for where they are several."""
    batches = sorted({config.batch for config in item.configs})
    heats = sorted({config.temperature for config in item.configs})
    if len(batches) <= 1 and len(heats) <= 1:
        return item.context_line
    return f"at batch {_listed(batches)} · T {_listed(heats)}"


def _listed(values: list[float]) -> str:
    return ", ".join(plain_number(value) for value in values)


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
    return "" if value_s is None else time_text(value_s)


def _plus(value_s: float | None) -> str:
    return "" if value_s is None else f"+ {time_text(value_s)}"


def _seconds(value_s: float | None) -> str:
    return "" if value_s is None else f"{seconds_number(value_s)} s"


def _dollars(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
