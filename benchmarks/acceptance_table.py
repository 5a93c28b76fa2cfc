"""Scores of the acceptance model as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.acceptance_cold import ColdScore
from benchmarks.acceptance_long import LongScore
from benchmarks.acceptance_temperature import TemperatureScore

_INTRODUCTION = """# Acceptance: what the model reaches

Written by `python -m benchmarks.acceptance --write`; figures are of data that the fit behind them
has not seen. How the model works: `docs/decisions/0001-acceptance-by-position.md`.

"""


def document(
    long: Sequence[LongScore],
    cold: Sequence[ColdScore],
    temperature: Sequence[TemperatureScore],
) -> str:
    """Return the documentation page."""
    return _INTRODUCTION + tables(long, cold, temperature) + "\n"


def tables(
    long: Sequence[LongScore],
    cold: Sequence[ColdScore],
    temperature: Sequence[TemperatureScore],
) -> str:
    """Return all tables."""
    return "\n".join([*(_long(item) for item in long), _cold(cold), _temperature(temperature)])


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _long(item: LongScore) -> str:
    lengths = sorted(next(iter(item.mean.values())))
    rows = [
        [
            rule,
            *(_percent(by_k[k]) for k in lengths),
            *(_percent(item.median[rule][k]) for k in lengths),
        ]
        for rule, by_k in item.mean.items()
    ]
    head = ["rule", *(f"mean, K = {k}" for k in lengths), *(f"median, K = {k}" for k in lengths)]
    return f"## {item.what} ({item.curves} curves)\n\nAbsolute relative error of τ.\n\n" + _table(
        head, rows
    )


def _cold(items: Sequence[ColdScore]) -> str:
    rows = [
        [
            item.what, item.rule, str(item.chains), _percent(item.median), _percent(item.p90),
            _percent(item.median_by_source), _percent(item.coverage),
            _percent(item.coverage_by_source), f"{item.interval_score:.3f}",
            f"{item.interval_score_by_source:.3f}",
        ]
        for item in items
    ]  # fmt: skip
    head = [
        "left out", "rule", "chains", "median error", "90th percentile", "median, mean of sources",
        "in 80 % interval", "the same, mean of sources", "interval score",
        "the same, mean of sources",
    ]  # fmt: skip
    return "## τ of chains with nothing observed\n\n" + _table(head, rows)


def _temperature(items: Sequence[TemperatureScore]) -> str:
    rows = [
        [
            item.source, str(item.pairs), _percent(item.this_model),
            _percent(item.ratio_of_means), f"{item.mean_ratio:.3f}",
        ]
        for item in items
    ]  # fmt: skip
    head = ["source", "pairs", "median error", "ratio of other sources' means", "mean τ(1) ÷ τ(0)"]
    return "## Temperature 1 from temperature 0 alone\n\n" + _table(head, rows)
