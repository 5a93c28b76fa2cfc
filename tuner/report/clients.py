"""What clients and owners see: times, throughput and cost, each with its 80 % belief."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import RenderableType

from tuner.advise.explain import batch_text
from tuner.frozen import dataclass
from tuner.records.config import Prediction, PredictionBeliefs
from tuner.report.layout import Column, fitted_table, paragraph
from tuner.report.names import column_name, drafter_text, setting_text
from tuner.report.numbers import (
    number_with_belief,
    plain_number,
    time_text,
    time_with_belief,
)

#: beyond this many configurations a second table is no longer read
MOST_ROWS = 16
#: shortest form of a drafter's name beside the numbers
_SHORTEST_DRAFTER = 10
HEADING = "what clients see"
_REQUEST = "request: prefill as computed, no queueing"
_SLOWEST = "slowest 1 %: of requests, by luck of acceptance (clustering assumed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One quantity: its name beside the table, and its cell."""

    name: str
    cell: Callable[[PredictionBeliefs], str]


def _dollars(item: PredictionBeliefs) -> str:
    usd = item.usd_per_million_tokens
    return "" if usd is None else f"${number_with_belief(usd, digits=2)}"


_LINES = (
    _Line(name="whole request", cell=lambda item: time_with_belief(item.e2e_s)),
    _Line(name="between chunks", cell=lambda item: time_with_belief(item.chunk_gap_s)),
    _Line(name="TPOT, slowest 1 %", cell=lambda item: time_with_belief(item.request_tpot_p99_s)),
    _Line(
        name="tokens a second",
        cell=lambda item: number_with_belief(item.output_tok_s, digits=0),
    ),
    _Line(name="million tokens", cell=_dollars),
)


def before_and_after(
    plain: Prediction | None, best: Prediction | None, *, width: int
) -> list[RenderableType]:
    """Return plain decoding beside one configuration, a line a quantity; nothing without times."""
    if plain is None or best is None or plain.beliefs is None or best.beliefs is None:
        return []
    shown = [line for line in _LINES if line.cell(plain.beliefs)]
    table = fitted_table(
        [
            Column(title=HEADING, cells=tuple(line.name for line in shown), align="left"),
            Column(
                title="plain",
                cells=tuple(line.cell(plain.beliefs) for line in shown),
                align="left",
                drop_order=1,
            ),
            Column(
                title=f"{column_name(best.config.method)} {setting_text(best.config)}",
                cells=tuple(line.cell(best.beliefs) for line in shown),
                align="left",
            ),
        ],
        width=width,
        indent=2,
    )
    return ["", table, paragraph(_legend(plain, best), style="dim")]


def _legend(plain: Prediction, best: Prediction) -> str:
    tokens = best.chunk_tokens_p99 or 1
    chunk = f"chunks: up to {tokens} tokens at once in 99 of 100; " if tokens > 1 else ""
    later = _first_token(best).removeprefix("+ ")
    first = f"; first token: {later} later, the drafter's share of prefill" if later else ""
    condition = "; ".join((_belief_at((plain, best)), _REQUEST, _SLOWEST))
    return chunk + condition + first


def _belief_at(configs: Sequence[Prediction]) -> str:
    batches = {batch_text(item.batch) for item in configs}
    where = "this batch" if len(batches) == 1 else "the batch of each"
    return f"80 % belief in brackets, at {where}"


def client_table(configs: Sequence[Prediction], *, width: int) -> list[RenderableType]:
    """Return one row a configuration: throughput, gaps, first token, whole request, cost."""
    if all(item.beliefs is None for item in configs):
        return []
    if len(configs) > MOST_ROWS:
        return [paragraph("--json adds throughput, chunk gap and request time.", style="dim")]

    def cells(cell: Callable[[PredictionBeliefs], str]) -> tuple[str, ...]:
        return tuple("" if item.beliefs is None else cell(item.beliefs) for item in configs)

    columns = [
        Column(
            title="method",
            cells=tuple(column_name(item.config.method) for item in configs),
            align="left",
        ),
        Column(
            title="drafter",
            cells=_drafters(configs),
            align="left",
            shortest=_SHORTEST_DRAFTER,
            drop_order=1,
        ),
        Column(
            title="setting",
            cells=tuple(setting_text(item.config) for item in configs),
            align="left",
        ),
        Column(title="batch", cells=_where_they_differ([batch_text(i.batch) for i in configs])),
        Column(title="T", cells=_where_they_differ([plain_number(i.temperature) for i in configs])),
        Column(title="between chunks", cells=cells(_LINES[1].cell), align="left"),
        Column(title="whole request", cells=cells(_LINES[0].cell), align="left"),
        Column(title="tokens/s", cells=cells(_LINES[3].cell), align="left", drop_order=3),
        Column(title="$/M tokens", cells=cells(_dollars), align="left", drop_order=2),
        Column(title="TPOT, slowest 1 %", cells=cells(_LINES[2].cell), align="left", drop_order=5),
        Column(title="first token", cells=tuple(map(_first_token, configs)), drop_order=4),
    ]
    table = fitted_table(columns, width=width, indent=4)
    return [
        "",
        paragraph(HEADING),
        table,
        paragraph(_table_legend(table.titles, configs), style="dim"),
    ]


def _table_legend(titles: Sequence[str], configs: Sequence[Prediction]) -> str:
    parts = [_belief_at(configs), _REQUEST]
    if "TPOT, slowest 1 %" in titles:
        parts.append(_SLOWEST)
    if "first token" in titles:
        parts.append("first token: later than plain by the drafter's share of prefill")
    return "; ".join(parts)


def _drafters(configs: Sequence[Prediction]) -> tuple[str, ...]:
    """Return names of drafters where one method has several; else nothing needs telling apart."""
    names = [(item.config.method, drafter_text(item.config)) for item in configs]
    several = len(set(names)) > len({method for method, _name in names})
    return tuple(name if several else "" for _method, name in names)


def _where_they_differ(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a setting; empty, so not shown, where all rows share it."""
    return tuple(cells) if len(set(cells)) > 1 else ("",) * len(cells)


def _first_token(item: Prediction) -> str:
    return f"+ {time_text(item.ttft_delta_s)}" if item.ttft_delta_s else ""
