"""From scored rows and cells to the figures that are reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy_choice import CellResult
from benchmarks.accuracy_crossing import FACTOR, Crossing
from benchmarks.accuracy_noise import choice_floor, pooled_log_sd, repeat_log_sd
from benchmarks.accuracy_rules import PooledRule
from benchmarks.accuracy_scores import (
    balanced_accuracy,
    by_source,
    interval_score,
    mean,
    mean_of,
    median_of,
    p90_of,
    quantile,
    summary,
)
from benchmarks.accuracy_speedup import OFF_BELOW, SpeedResult
from benchmarks.accuracy_subjects import Subjects

Json = dict[str, object]
T = TypeVar("T")


def choice_figures(results: Sequence[CellResult], subjects: Subjects) -> Json:
    """Regret of every rule over the same cells, by source and in all; with the noise floor."""
    rules = sorted({rule for result in results for rule in result.regret})
    found: Json = {"cells": len(results)}
    found["rules"] = {
        rule: summary(
            [result.regret[rule] for result in results if rule in result.regret],
            [result.cell.row.source for result in results if rule in result.regret],
            {"mean": mean_of, "p90": p90_of},
        )
        for rule in rules
    }
    where_formula = [r for r in results if any(rule.startswith("formula") for rule in r.regret)]
    found["cells with the formula"] = {
        rule: {
            "n": len(where_formula),
            "mean": mean([r.regret[rule] for r in where_formula]),
            "p90": quantile([r.regret[rule] for r in where_formula], 0.9),
        }
        for rule in rules
        if all(rule in r.regret for r in where_formula) and where_formula
    }
    found["calibrated, τ observed"] = _regret([r for r in results if _has_length(r)])
    found["calibrated, τ not observed"] = _regret([r for r in results if not _has_length(r)])
    found["by_source"] = {
        source: {
            "cells": len(own),
            **{
                rule: mean([r.regret[rule] for r in own if rule in r.regret])
                for rule in rules
                if any(rule in r.regret for r in own)
            },
        }
        for source, own in _by(results, lambda r: r.cell.row.source).items()
    }
    noise = repeat_log_sd(subjects.rows)
    found["noise"] = {
        "log_sd": pooled_log_sd(noise),
        "by_source": {source: {"log_sd": sd, "repeats": n} for source, (sd, n) in noise.items()},
        "floor": choice_floor([result.cell for result in results], pooled_log_sd(noise)),
    }
    return found


def _regret(results: Sequence[CellResult]) -> Json:
    losses = [r.regret["product, calibrated"] for r in results if "product, calibrated" in r.regret]
    return {"n": len(losses), "mean": mean(losses), "p90": quantile(losses, 0.9)}


def other_k_figures(results: Sequence[CellResult]) -> Json:
    """Error of the speedup at K that were not observed, after a plain and one speculative run."""
    found: Json = {}
    sets: dict[str, list[CellResult]] = {
        "with plain run": [result for result in results if result.has_plain],
        "without plain run": [result for result in results if not result.has_plain],
        "all": list(results),
    }
    for name, own in sets.items():
        found[name] = _errors(own, "ratio")
    both = [result for result in results if result.formula_ratio]
    found["formula, α and c fitted at the observed K"] = _errors(both, "formula_ratio")
    found["product on the formula's cells"] = _errors(both, "ratio")
    found["τ observed"] = _errors([r for r in results if _has_length(r)], "ratio")
    found["speed observed, τ not"] = _errors([r for r in results if not _has_length(r)], "ratio")
    found["by_source"] = {
        source: _errors(own, "ratio")
        for source, own in _by(results, lambda r: r.cell.row.source).items()
    }
    return found


def _has_length(result: CellResult) -> bool:
    return result.observed_k in result.cell.acceptance_length


def _errors(results: Sequence[CellResult], name: str) -> Json:
    pairs = [
        (abs(value - 1.0), result.cell.row.source)
        for result in results
        for value in getattr(result, name).values()
    ]
    values = [value for value, _ in pairs]
    return {
        "n": len(values),
        "median": quantile(values, 0.5),
        "p90": quantile(values, 0.9),
        "macro_median": mean(
            [median_of(group) for group in by_source(values, [s for _, s in pairs]).values()]
        ),
    }


def speedup_figures(results: Sequence[SpeedResult], groups: dict[str, str]) -> Json:
    """Median error and intervals of cold predictions, beside the pooled rule on the same rows."""
    pooled = PooledRule([result.speed for result in results], groups)
    rule = [pooled.quantiles(result.speed) for result in results]
    ours = [abs(result.predicted / result.measured - 1.0) for result in results]
    theirs = [
        abs(middle / result.measured - 1.0)
        for result, (_, middle, _) in zip(results, rule, strict=True)
    ]
    sources = [result.speed.row.source for result in results]
    medians = {"median": median_of, "p90": p90_of}
    found: Json = {
        "n": len(results),
        "product": summary(ours, sources, medians),
        "pooled rule": summary(theirs, sources, medians),
    }
    if not results:
        return found
    measured = np.log([result.measured for result in results])
    low = np.log([result.low for result in results])
    high = np.log([result.high for result in results])
    rule_low, rule_high = np.log([row[0] for row in rule]), np.log([row[2] for row in rule])
    inside = ((measured >= low) & (measured <= high)).astype(float)
    rule_inside = ((measured >= rule_low) & (measured <= rule_high)).astype(float)
    score = interval_score(measured, low, high)
    rule_score = interval_score(measured, rule_low, rule_high)
    for name, values in (
        ("coverage", inside),
        ("pooled rule coverage", rule_inside),
        ("interval score", score),
        ("pooled rule interval score", rule_score),
    ):
        found[name] = summary(values.tolist(), sources, {"mean": mean_of})
    signed = np.log([result.predicted / result.measured for result in results])
    for name, key in _KEYS.items():
        found[name] = {
            value: {
                "n": len(at),
                "median": float(np.median(np.abs(np.expm1(signed[at])))),
                "bias": float(np.expm1(np.median(signed[at]))),
                "coverage": float(inside[at].mean()),
                "pooled rule median": float(np.median(np.array(theirs)[at])),
            }
            for value, at in _places(results, key).items()
        }
    return found


def split_figures(results: Sequence[SpeedResult]) -> Json:
    """Split the cold error where τ was measured: what acceptance and what step time add."""
    known = [r for r in results if r.speed.acceptance_length is not None]
    lengths = [abs(r.acceptance_length / (r.speed.acceptance_length or 1.0) - 1.0) for r in known]
    ratios = [
        abs(r.step_ratio * r.measured / (r.speed.acceptance_length or 1.0) - 1.0) for r in known
    ]
    return {
        "n": len(known),
        "acceptance length": {"median": quantile(lengths, 0.5), "p90": quantile(lengths, 0.9)},
        "step cost ratio": {"median": quantile(ratios, 0.5), "p90": quantile(ratios, 0.9)},
    }


_KEYS: dict[str, Callable[[SpeedResult], str]] = {
    "by_source": lambda r: r.speed.row.source,
    "by_method": lambda r: str(r.speed.row.method),
    "by_engine": lambda r: r.speed.row.engine_raw.split()[0] if r.speed.row.engine_raw else "?",
    "by_gpu": lambda r: r.speed.row.gpu_raw or "?",
}


def _places(
    results: Sequence[SpeedResult], key: Callable[[SpeedResult], str]
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for at, result in enumerate(results):
        found[key(result)].append(at)
    return dict(found)


def decision_figures(results: Sequence[SpeedResult]) -> Json:
    """On or off: balanced accuracy and recalls over all rows, and by source."""
    found: Json = {"off below": OFF_BELOW, **_decisions(results)}
    other = [result for result in results if not result.is_own]
    found["rows that were not themselves observed"] = _decisions(other)
    found["by_source"] = {
        source: _decisions(own)
        for source, own in _by(results, lambda r: r.speed.row.source).items()
        if any(not result.is_on for result in own)
    }
    return found


def _decisions(results: Sequence[SpeedResult]) -> Json:
    on = np.array([result.is_on for result in results], dtype=bool)
    says = np.array([result.says_on for result in results], dtype=bool)
    favours = np.array([result.favours_on for result in results], dtype=bool)
    return {
        "n": len(results),
        "off rows": int((~on).sum()),
        **_recalls(on, says),
        "if doubt counts as on": _recalls(on, favours),
        "states": {
            what: dict(Counter(str(r.state) for r in results if r.is_on is flag))
            for what, flag in (("of on rows", True), ("of off rows", False))
        },
    }


def _recalls(on: NDArray[np.bool_], says: NDArray[np.bool_]) -> Json:
    return {
        "balanced accuracy": balanced_accuracy(on, says) if len(on) else None,
        "recall of off": float((~says[~on]).mean()) if (~on).any() else None,
        "recall of on": float(says[on].mean()) if on.any() else None,
    }


def crossing_figures(curves: Sequence[Crossing]) -> Json:
    """How often the batch where speculation stops paying is predicted within the factor."""
    crossing = [curve for curve in curves if curve.crosses]
    return {
        "curves": len(curves),
        "crossing inside the measured batches": len(crossing),
        "factor": FACTOR,
        "share right": mean([float(curve.is_right) for curve in curves]),
        "share right of the crossing ones": mean([float(curve.is_right) for curve in crossing]),
        "named": [
            {
                "curve": curve.name,
                "batches": [curve.batches[0], curve.batches[-1]],
                "measured": _finite(curve.measured),
                "predicted": _finite(curve.predicted),
                "right": curve.is_right,
            }
            for curve in curves
        ],
        "by_source": dict(
            Counter(f"{c.source}: {'right' if c.is_right else 'wrong'}" for c in curves)
        ),
    }


def _finite(value: float) -> float | str:
    return value if np.isfinite(value) else "beyond"


def _by(items: Sequence[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(sorted(groups.items(), key=lambda pair: -len(pair[1])))
