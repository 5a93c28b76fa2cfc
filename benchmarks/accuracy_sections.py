"""Sections of docs/accuracy.md: one table, or a few, for each kind of figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.accuracy_table import percent

OURS = ("product, cold", "product, calibrated")
_MOST_SOURCES = 30


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _span(numbers: Mapping[str, Any], name: str) -> str:
    span = numbers[f"{name}_90"]
    low, high = span or (None, None)
    return f"{percent(numbers[name])} ({percent(low)} – {percent(high)})"


def choice(own: Mapping[str, Any]) -> str:
    """Regret by rule and by source, with the noise of repeats."""
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
    columns = (*OURS, "always 3", "always 5")
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
        + markdown_table(
            ("rule", "cells", "mean (90 % interval)", "p90", "macro mean (90 %)"), rows
        )
        + floor
        + markdown_table(("source that repeats", "repeats", "spread"), repeats)
        + "\n"
        + markdown_table(("source", "cells", *columns), sources)
    )


def cold(title: str, own: Mapping[str, Any]) -> str:
    """Errors by method, engine and source, nothing observed."""
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
            markdown_table(
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


def other_k(own: Mapping[str, Any]) -> str:
    """Errors at draft lengths that were not observed."""
    rows = [
        (name, str(n["n"]), percent(n["median"]), percent(n["p90"]), percent(n["macro_median"]))
        for name, n in own.items()
        if name != "by_source"
    ]
    rows += [
        (name, str(n["n"]), percent(n["median"]), percent(n["p90"]), "")
        for name, n in own["by_source"].items()
    ]
    return "## Speedup at draft lengths that were not observed\n\n" + markdown_table(
        ("cells", "points", "median error", "p90", "macro median"), rows
    )


def decisions(figures: Mapping[str, Any]) -> str:
    """On or off, cold and calibrated."""
    parts = [
        "## On or off\n\nA row is off when speculation made it slower than .97 of plain decoding. "
        "Calibrated: the run with K nearest 3 of the same setup was observed; where a setup has "
        "one K only that is the row itself, so the rows that were not themselves observed are "
        "given separately. The product switches on where it believes with at least 80 % that "
        "speculation pays; else it leaves it off or asks for a measurement. The last columns count "
        "the belief alone, however slight.\n"
    ]
    for name in ("on or off, cold", "on or off, calibrated"):
        own = figures[name]
        other = own["rows that were not themselves observed"]
        rows = [
            ("all", *_decision(own)),
            ("not themselves observed", *_decision(other)),
            *((source, *_decision(numbers)) for source, numbers in own["by_source"].items()),
        ]
        head = (
            name,
            "rows",
            "off",
            "balanced accuracy",
            "off found",
            "on kept",
            "belief: balanced",
            "off found",
        )
        parts.append(markdown_table(head, rows))
    return "\n".join(parts)


def _decision(own: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(own["n"]),
        str(own["off rows"]),
        percent(own["balanced accuracy"]),
        percent(own["recall of off"]),
        percent(own["recall of on"]),
        percent(own["if doubt counts as on"]["balanced accuracy"]),
        percent(own["if doubt counts as on"]["recall of off"]),
    )


def crossings(own: Mapping[str, Any]) -> str:
    """Every curve of speedup over batch."""
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
        "Calibrated at the smallest measured batch. A curve that does not cross inside the "
        "measured batches is right when the prediction lies outside them too.\n\n"
    )
    head = ("curve", "batches", "measured", "predicted", "right")
    return "## Batch where speculation stops paying\n\n" + text + markdown_table(head, rows)


def _batch(value: float | str) -> str:
    if isinstance(value, str):
        return "beyond"
    return "never pays" if value == 0.0 else f"{value:.0f}"


def step_times(own: Mapping[str, Any]) -> str:
    """Step-time ratios and plain serving."""
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
    spread = ", ".join(serving.get("left out, decode workers not stated", [])) or "none"
    return (
        "## Step times\n\n"
        + markdown_table(("against", "points", "median error", "p90", "median by batch"), rows)
        + "\n"
        + markdown_table(("plain serving run", "measured ms", "predicted ms", "error"), named)
        + f"\nLeft out because the id states no concurrency: {left}. Left out because it is spread "
        + f"over decode workers whose number is not stated: {spread}.\n"
    )


def real_engine(own: Mapping[str, Any]) -> str:
    """Recorded runs, row by row."""
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
    return "## Recorded runs of a real engine\n\n" + markdown_table(
        ("run", "task", "observed K", "K", "measured", "predicted"), rows
    )


def left_out(report: Mapping[str, Any]) -> str:
    """Counts of what was scored and what was not."""
    rows = []
    for what in ("cells", "rows with a plain run"):
        rows.append((what, "scored", str(report[what]["scored"])))
        rows += [(what, reason, str(n)) for reason, n in report[what]["left out"].items()]
    return "## What was scored and what was left out\n\n" + markdown_table(
        ("of", "", "count"), rows
    )


def frontier(report: Mapping[str, Any]) -> str:
    """What keeps the figures from their aims, in numbers of this run."""
    figures = report["leave out source"]
    apart, part = report["two sources, same setting"], figures["error, cold, by part"]
    choice_, other = figures["choice of K"], figures["speedup at other K, calibrated"]
    noise = choice_["noise"]
    rows = [
        (
            "two sources, same target, method, setting, text and load",
            f"{apart['n']} settings, {apart['pairs of sources']} pairs",
            f"{percent(apart['median'])} apart in the median, {percent(apart['p90'])} at p90",
        ),
        (
            "cold error of acceptance alone, where τ was measured",
            f"{part['n']} rows",
            f"{percent(part['acceptance length']['median'])} / "
            f"{percent(part['acceptance length']['p90'])}",
        ),
        (
            "cold error of the step cost ratio alone, same rows",
            f"{part['n']} rows",
            f"{percent(part['step cost ratio']['median'])} / "
            f"{percent(part['step cost ratio']['p90'])}",
        ),
        (
            "other K, calibrated, where the observed run states τ",
            f"{other['τ observed']['n']} points",
            f"{percent(other['τ observed']['median'])} / {percent(other['τ observed']['p90'])}",
        ),
        (
            "other K, calibrated, where it states a speed alone",
            f"{other['speed observed, τ not']['n']} points",
            f"{percent(other['speed observed, τ not']['median'])} / "
            f"{percent(other['speed observed, τ not']['p90'])}",
        ),
        (
            "choice of K, calibrated, where the observed run states τ: mean / p90",
            f"{choice_['calibrated, τ observed']['n']} cells",
            f"{percent(choice_['calibrated, τ observed']['mean'])} / "
            f"{percent(choice_['calibrated, τ observed']['p90'])}",
        ),
        (
            "choice of K, calibrated, where it states a speed alone",
            f"{choice_['calibrated, τ not observed']['n']} cells",
            f"{percent(choice_['calibrated, τ not observed']['mean'])} / "
            f"{percent(choice_['calibrated, τ not observed']['p90'])}",
        ),
        (
            "repeats of one setting",
            f"{len(noise['by_source'])} sources",
            f"{percent(noise['log_sd'])}; costs a perfect predictor "
            f"{percent(noise['floor']['mean'])} / {percent(noise['floor']['p90'])}",
        ),
    ]
    pairs = [
        (" and ".join(pair["sources"]), str(pair["n"]), percent(pair["median"]))
        for pair in apart["pairs"]
    ]
    text = (
        "Median and 90th percentile of relative errors unless named otherwise. What two sources "
        "disagree about cannot be known before something is observed; most of the cold error is "
        "acceptance (which head, which prompt format, which build), not step time. Once a run is "
        "observed, the runs that state τ pin both; a speed alone leaves open how much of a "
        "surprise belongs to the text and how much to the machine.\n\n"
    )
    return (
        "## Where the frontier lies\n\n"
        + text
        + markdown_table(("what", "over", "figure"), rows)
        + "\n"
        + markdown_table(("two sources", "settings", "apart in the median"), pairs)
    )
