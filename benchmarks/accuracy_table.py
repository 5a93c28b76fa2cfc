"""The benchmark's report as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.accuracy_time import when_measured


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share as a percentage; a dash for nothing."""
    return "–" if value is None else f"{100.0 * value:.{digits}f} %"


def table(report: Mapping[str, Any]) -> str:
    """Return the headline figures of a report."""
    lines = [
        f"{report['measurements']}: {report['rows']} rows, {report['cells']['scored']} cells of K, "
        f"{report['rows with a plain run']['scored']} rows beside a plain run",
    ]
    for what in ("cells", "rows with a plain run"):
        for reason, count in report[what]["left out"].items():
            lines.append(f"  left out of {what}: {count} × {reason}")
    for key, figures in report.items():
        if key.startswith("leave out"):
            lines += ["", f"== {key} ({figures['refits']} refits)"]
            lines += _choice(figures["choice of K"])
            lines += _other(figures)
    lines += ["", *_pieces(report)]
    lines.append(f"{report['seconds']} s")
    return "\n".join(lines)


def _choice(figures: Mapping[str, Any]) -> list[str]:
    lines = [f"choice of K, regret over {figures['cells']} cells: mean / p90, macro mean [90 %]"]
    for rule, numbers in figures["rules"].items():
        mean, p90 = numbers["mean"], numbers["p90"]
        span = mean["macro_90"] or (None, None)
        lines.append(
            f"  {rule:<44} n={numbers['n']:<4} {percent(mean['pooled'])} / "
            f"{percent(p90['pooled'])}   macro {percent(mean['macro'])} "
            f"[{percent(span[0])}, {percent(span[1])}]"
        )
    noise = figures["noise"]
    lines.append(
        f"  noise of repeats {percent(noise['log_sd'])}; a perfect predictor would lose "
        f"{percent(noise['floor']['mean'], 2)} / {percent(noise['floor']['p90'], 2)}"
    )
    for source, numbers in figures["by_source"].items():
        own = ", ".join(
            f"{rule.removeprefix('product, ')} {percent(numbers[rule])}"
            for rule in ("product, cold", "product, calibrated", "always 3", "always 5")
            if rule in numbers
        )
        lines.append(f"    {source[:52]:<52} {numbers['cells']:>3} cells  {own}")
    return lines


def _other(figures: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    if "speedup at other K, calibrated" in figures:
        own = figures["speedup at other K, calibrated"]
        lines.append("speedup at other K, calibrated: median / p90 of |error|")
        lines += [
            f"  {name:<44} n={numbers['n']:<4} {percent(numbers['median'])} / "
            f"{percent(numbers['p90'])}"
            for name, numbers in own.items()
            if name != "by_source"
        ]
    if "speedup, cold" in figures:
        lines += _cold(figures["speedup, cold"])
    for name in ("on or off, cold", "on or off, calibrated"):
        if name in figures:
            lines += _decisions(name, figures[name])
    name = "batch where speculation stops paying, calibrated"
    if name in figures:
        own = figures[name]
        lines.append(
            f"{name}: right within {own['factor']} in {percent(own['share right'])} of "
            f"{own['curves']} curves; {percent(own['share right of the crossing ones'])} of the "
            f"{own['crossing inside the measured batches']} that cross inside the measured batches"
        )
    return lines


def _cold(own: Mapping[str, Any]) -> list[str]:
    lines = [f"speedup, cold, {own['n']} rows: median / p90 of |error|"]
    for name in ("product", "pooled rule"):
        numbers = own[name]
        lines.append(
            f"  {name:<44} {percent(numbers['median']['pooled'])} / "
            f"{percent(numbers['p90']['pooled'])}   macro median "
            f"{percent(numbers['median']['macro'])}"
        )
    for name in ("coverage", "interval score"):
        ours, theirs = own[name]["mean"], own[f"pooled rule {name}"]["mean"]
        lines.append(
            f"  {name}: {ours['pooled']:.3f} (macro {ours['macro']:.3f}); pooled rule "
            f"{theirs['pooled']:.3f} (macro {theirs['macro']:.3f})"
        )
    for what in ("by_method", "by_engine", "by_source"):
        for value, numbers in sorted(own[what].items(), key=lambda item: -item[1]["n"])[:40]:
            lines.append(
                f"    {value[:52]:<52} n={numbers['n']:<4} median {percent(numbers['median'])} "
                f"bias {percent(numbers['bias'])} cover {percent(numbers['coverage'])} "
                f"pooled rule {percent(numbers['pooled rule median'])}"
            )
    return lines


def _decisions(name: str, own: Mapping[str, Any]) -> list[str]:
    other = own["rows that were not themselves observed"]
    lines = [f"{name}: {own['off rows']} of {own['n']} rows off; balanced accuracy / off / on"]
    for title, numbers in (
        ("decision (on, or not without measuring)", own),
        ("the same, rows not themselves observed", other),
        ("belief however slight", own["if doubt counts as on"]),
        ("the same, rows not themselves observed", other["if doubt counts as on"]),
    ):
        lines.append(
            f"  {title:<44} {percent(numbers['balanced accuracy'])} / "
            f"{percent(numbers['recall of off'])} / {percent(numbers['recall of on'])}"
        )
    for source, numbers in own["by_source"].items():
        lines.append(
            f"    {source[:52]:<52} {numbers['off rows']:>3} of {numbers['n']:<4} off, found "
            f"{percent(numbers['recall of off'])}, on kept {percent(numbers['recall of on'])}"
        )
    return lines


def _pieces(report: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, own in report["step times"].items():
        lines.append(
            f"{name}: n={own['n']}, median error {percent(own['median'])}, p90 "
            f"{percent(own['p90'])}"
        )
    real = report["real engine"]
    lines.append(
        f"recorded real engine: n={real['n']}, median error {percent(real['median'])}, p90 "
        f"{percent(real['p90'])}; on/off right in {percent(real['on or off right'])} of "
        f"{real['decided beyond the repeat noise']}"
    )
    if "acceptance length by K" in report:
        by_k = report["acceptance length by K"]["mean error by K"]
        lines.append("τ by K: " + ", ".join(f"K={k} {percent(v)}" for k, v in by_k.items()))
    speed = report["one recommendation"]
    lines.append(
        f"one recommendation: {1e3 * speed['seconds each']:.2f} ms of processor time, "
        f"{speed['times faster']:.0f}× less than aiconfigurator's "
        f"{speed['aiconfigurator, seconds a point']:.2f} s ({when_measured(speed)})"
    )
    return lines
