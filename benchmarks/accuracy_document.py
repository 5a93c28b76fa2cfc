"""docs/accuracy.md from the benchmark's JSON: what was reached, against what, and where it fails.

Usage: python -m benchmarks.accuracy --json --leave-out both --acceptance-by-k … > report.json
       python -m benchmarks.accuracy_document report.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy_table import percent

OUT = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
_OURS = ("product, cold", "product, calibrated")
_MOST_SOURCES = 30


def main(arguments: list[str] | None = None) -> int:
    """Write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    report = json.loads(options.report.read_text(encoding="utf-8"))
    options.out.write_text(document(report), encoding="utf-8")
    return 0


def document(report: Mapping[str, Any]) -> str:
    """Return the whole document."""
    by_source = report["leave out source"]
    by_target = report.get("leave out target")
    parts = [
        _head(report),
        _summary(report, by_source, by_target),
        _choice(by_source["choice of K"]),
        _cold("Speedup with nothing observed, own source left out", by_source["speedup, cold"]),
    ]
    if by_target:
        parts.append(
            _cold("Speedup with nothing observed, own target left out", by_target["speedup, cold"])
        )
    parts += [
        _other_k(by_source["speedup at other K, calibrated"]),
        _decisions(by_source),
        _crossings(by_source["batch where speculation stops paying, calibrated"]),
        _steps(report["step times"]),
        _real(report["real engine"]),
        _left_out(report),
    ]
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _head(report: Mapping[str, Any]) -> str:
    return f"""# Accuracy

Written by `python -m benchmarks.accuracy_document` from a run of `benchmarks/accuracy.py` over
`data/{report["measurements"]}` ({report["rows"]} rows); do not edit by hand. The benchmark asks the functions that the
commands use. Every figure of acceptance and step time comes from priors that were refitted without the source (or the target)
that is being scored; sources with fewer than thirty rows are left out in eight groups together.

*Cold* means that nothing was observed. *Calibrated* means that the plain run and the speculative run with K nearest 3 of the same
setup were observed, and that the other draft lengths are predicted. Errors are relative to the measured value. A macro figure
is the mean over sources, so that a source with hundreds of rows counts once; its interval draws sources with replacement.
"""


def _summary(
    report: Mapping[str, Any],
    source: Mapping[str, Any],
    target: Mapping[str, Any] | None,
) -> str:
    choice, other = source["choice of K"], source["speedup at other K, calibrated"]
    cold, steps, real = source["speedup, cold"], report["step times"], report["real engine"]
    curve = source["batch where speculation stops paying, calibrated"]
    speed = report["one recommendation"]
    best_cold = min(
        (
            (numbers["mean"]["pooled"], rule)
            for rule, numbers in choice["rules"].items()
            if rule not in _OURS and numbers["n"] == choice["cells"]
        ),
    )
    rows = [
        (
            "choice of K, cold: mean / p90 of what is lost",
            _pair(choice["rules"]["product, cold"]),
            f"best simple rule ({best_cold[1]}): {_pair(choice['rules'][best_cold[1]])}",
            "1.5 / 5 %",
        ),
        (
            "choice of K, calibrated",
            _pair(choice["rules"]["product, calibrated"]),
            f"noise floor {percent(choice['noise']['floor']['mean'])} / "
            f"{percent(choice['noise']['floor']['p90'])}",
            "0.4 / 1.5 % or the floor",
        ),
        (
            "speedup at other K, calibrated: median error",
            percent(other["all"]["median"]),
            "formula with α and c fitted: "
            + percent(other["formula, α and c fitted at the observed K"]["median"]),
            "3 %",
        ),
        (
            "speedup, cold, own source left out: median error",
            percent(cold["product"]["median"]["pooled"]),
            f"median of method and load: {percent(cold['pooled rule']['median']['pooled'])}",
            "18 %",
        ),
    ]
    if target:
        own = target["speedup, cold"]
        rows.append(
            (
                "speedup, cold, own target left out: median error",
                percent(own["product"]["median"]["pooled"]),
                f"median of method and load: {percent(own['pooled rule']['median']['pooled'])}",
                "15 %",
            )
        )
    rows += [
        (
            "80 % intervals: share inside, mean over sources (pooled)",
            f"{percent(cold['coverage']['mean']['macro'])} "
            f"({percent(cold['coverage']['mean']['pooled'])})",
            f"pooled quantiles: {percent(cold['pooled rule coverage']['mean']['macro'])}",
            "75–85 %",
        ),
        (
            "interval score, mean over sources (smaller is better)",
            f"{cold['interval score']['mean']['macro']:.2f}",
            f"pooled quantiles: {cold['pooled rule interval score']['mean']['macro']:.2f}",
            "better than pooled",
        ),
    ]
    for name in ("cold", "calibrated"):
        own = source[f"on or off, {name}"]
        rows.append(
            (
                f"on or off, {name}: balanced accuracy; recall of off rows",
                f"{percent(own['balanced accuracy'])}; {percent(own['recall of off'])}",
                "always on: 50 %; 0 %",
                "80 %" if name == "cold" else "95 %",
            )
        )
    rows += [
        (
            "batch where speculation stops paying, within a factor of 1.5",
            f"{percent(curve['share right'])} of {curve['curves']} curves",
            f"of the {curve['crossing inside the measured batches']} that cross in range: "
            f"{percent(curve['share right of the crossing ones'])}",
            "80 %",
        ),
        *(
            (
                f"step-time ratio: {name}, median error",
                percent(own["median"]),
                f"constant cost: {percent(own['constant cost, median'])}",
                "10 %",
            )
            for name, own in steps.items()
            if "constant cost, median" in own
        ),
        (
            "plain TPOT, cold: median / p90 error",
            f"{percent(steps['plain serving']['median'])} / "
            f"{percent(steps['plain serving']['p90'])}",
            "aiconfigurator on its rows: "
            f"{percent(steps['plain serving']['aiconfigurator']['median'])} / "
            f"{percent(steps['plain serving']['aiconfigurator']['p90'])}",
            "15 / 50 %",
        ),
        (
            "recorded real engine: median / p90 error; on or off right",
            f"{percent(real['median'])} / {percent(real['p90'])}; "
            f"{percent(real['on or off right'])}",
            "textbook formula 121 %; with v(K + 1) 28 %",
            "8 / 20 %",
        ),
        (
            "one recommendation, processor time",
            f"{1e3 * speed['seconds each']:.1f} ms",
            f"aiconfigurator: {1e3 * speed['aiconfigurator, seconds a point']:.0f} ms a point",
            "100 times less",
        ),
    ]
    return "## Summary\n\n" + _table(("figure", "reached", "beside it", "aim"), rows)


def _pair(numbers: Mapping[str, Any]) -> str:
    return f"{percent(numbers['mean']['pooled'])} / {percent(numbers['p90']['pooled'])}"


def _span(numbers: Mapping[str, Any], name: str) -> str:
    span = numbers[f"{name}_90"]
    low, high = span or (None, None)
    return f"{percent(numbers[name])} ({percent(low)} – {percent(high)})"


def _choice(own: Mapping[str, Any]) -> str:
    rows = [
        (
            rule,
            str(numbers["n"]),
            _span(numbers["mean"], "pooled"),
            percent(numbers["p90"]["pooled"]),
            _span(numbers["mean"], "macro"),
        )
        for rule, numbers in own["rules"].items()
    ]
    columns = (*_OURS, "always 3", "always 5")
    sources = [
        (source, str(numbers["cells"]), *(percent(numbers.get(rule)) for rule in columns))
        for source, numbers in list(own["by_source"].items())[:_MOST_SOURCES]
    ]
    noise = own["noise"]
    repeats = [
        (source, str(numbers["repeats"]), percent(numbers["log_sd"]))
        for source, numbers in noise["by_source"].items()
    ]
    text = (
        "What a choice loses against the best measured K of its cell; the rules choose among the "
        "measured K only.\n\n"
    )
    floor = (
        f"\nRepeated measurements of one setting differ by {percent(noise['log_sd'])} (standard "
        "deviation of ln speed, median over the sources that repeat anything). With that noise on "
        "top of the measured speeds, a predictor that knew the true speeds would still be charged "
        f"{percent(noise['floor']['mean'], 2)} in the mean and {percent(noise['floor']['p90'], 2)} "
        "at the 90th percentile.\n\n"
    )
    return (
        "## Choice of K\n\n"
        + text
        + _table(("rule", "cells", "mean (90 % interval)", "p90", "macro mean (90 %)"), rows)
        + floor
        + _table(("source that repeats", "repeats", "spread"), repeats)
        + "\n"
        + _table(("source", "cells", *columns), sources)
    )


def _cold(title: str, own: Mapping[str, Any]) -> str:
    parts = [f"## {title}\n"]
    for what in ("by_method", "by_engine", "by_source"):
        rows = [
            (
                value,
                str(numbers["n"]),
                percent(numbers["median"]),
                percent(numbers["bias"]),
                percent(numbers["coverage"]),
                percent(numbers["pooled rule median"]),
            )
            for value, numbers in sorted(own[what].items(), key=lambda item: -item[1]["n"])
        ]
        parts.append(
            _table(
                (
                    what.removeprefix("by_"),
                    "rows",
                    "median error",
                    "bias",
                    "inside 80 %",
                    "pooled rule",
                ),
                rows[:_MOST_SOURCES],
            )
        )
    return "\n".join(parts)


def _other_k(own: Mapping[str, Any]) -> str:
    rows = [
        (name, str(n["n"]), percent(n["median"]), percent(n["p90"]), percent(n["macro_median"]))
        for name, n in own.items()
        if name != "by_source"
    ]
    rows += [
        (name, str(n["n"]), percent(n["median"]), percent(n["p90"]), "")
        for name, n in own["by_source"].items()
    ]
    return "## Speedup at draft lengths that were not observed\n\n" + _table(
        ("cells", "points", "median error", "p90", "macro median"), rows
    )


def _decisions(figures: Mapping[str, Any]) -> str:
    parts = [
        "## On or off\n\nA row is off when speculation made it slower than .97 of plain decoding. "
        "Calibrated: the run with K nearest 3 of the same setup was observed; where a setup has one "
        "K only that is the row itself, so the rows that were not themselves observed are given "
        "separately.\n"
    ]
    for name in ("on or off, cold", "on or off, calibrated"):
        own = figures[name]
        other = own["rows that were not themselves observed"]
        rows = [
            ("all", *_decision(own)),
            ("not themselves observed", *_decision(other)),
            *((source, *_decision(numbers)) for source, numbers in own["by_source"].items()),
        ]
        head = (name, "rows", "off", "balanced accuracy", "off found", "on kept")
        parts.append(_table(head, rows))
    return "\n".join(parts)


def _decision(own: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(own["n"]),
        str(own["off rows"]),
        percent(own["balanced accuracy"]),
        percent(own["recall of off"]),
        percent(own["recall of on"]),
    )


def _crossings(own: Mapping[str, Any]) -> str:
    rows = [
        (
            curve["curve"],
            f"{curve['batches'][0]:g}–{curve['batches'][1]:g}",
            _batch(curve["measured"]),
            _batch(curve["predicted"]),
            "yes" if curve["right"] else "no",
        )
        for curve in own["named"]
    ]
    text = (
        "Calibrated at the smallest measured batch. A curve that does not cross inside the measured "
        "batches is right when the prediction lies outside them too.\n\n"
    )
    head = ("curve", "batches", "measured", "predicted", "right")
    return "## Batch where speculation stops paying\n\n" + text + _table(head, rows)


def _batch(value: float | str) -> str:
    if isinstance(value, str):
        return "beyond"
    return "never pays" if value == 0.0 else f"{value:.0f}"


def _steps(own: Mapping[str, Any]) -> str:
    rows = []
    for name, numbers in own.items():
        by_batch = numbers.get("by batch", {})
        rows.append(
            (
                name,
                str(numbers["n"]),
                percent(numbers["median"]),
                percent(numbers["p90"]),
                ", ".join(f"{batch}: {percent(value)}" for batch, value in by_batch.items()),
            )
        )
    serving = own["plain serving"]
    named = [
        (name, f"{n['measured_ms']:.1f}", f"{n['predicted_ms']:.1f}", percent(n["error"]))
        for name, n in serving["rows"].items()
    ]
    left = ", ".join(serving["left out"]) or "none"
    return (
        "## Step times\n\n"
        + _table(("against", "points", "median error", "p90", "median by batch"), rows)
        + "\n"
        + _table(("plain serving run", "measured ms", "predicted ms", "error"), named)
        + f"\nLeft out because the id states no concurrency: {left}.\n"
    )


def _real(own: Mapping[str, Any]) -> str:
    rows = [
        (
            row["run"],
            row["task"],
            str(row["observed K"]),
            str(row["K"]),
            f"{row['measured']:.2f}",
            f"{row['predicted']:.2f}",
        )
        for row in own["rows"]
    ]
    return "## Recorded runs of a real engine\n\n" + _table(
        ("run", "task", "observed K", "K", "measured", "predicted"), rows
    )


def _left_out(report: Mapping[str, Any]) -> str:
    rows = []
    for what in ("cells", "rows with a plain run"):
        rows.append((what, "scored", str(report[what]["scored"])))
        rows += [(what, reason, str(n)) for reason, n in report[what]["left out"].items()]
    return "## What was scored and what was left out\n\n" + _table(("of", "", "count"), rows)


if __name__ == "__main__":
    raise SystemExit(main())
