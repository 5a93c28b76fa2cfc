"""τ at long drafts from τ at short ones, on a file of acceptance lengths by K."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

from benchmarks.accuracy_scores import mean
from tuner.acceptance.belief import believe
from tuner.catalog import find_model
from tuner.errors import TunerError
from tuner.records.acceptance import AcceptanceObservation, AcceptanceQuery, TargetClass
from tuner.records.acceptance_prior import AcceptancePrior
from tuner.records.methods import Method, Task

Json = dict[str, object]

#: draft lengths that count as observed
OBSERVED = (1, 2, 3)


def extrapolation(prior: AcceptancePrior, path: Path) -> Json:
    """Return the mean absolute relative error of τ by K, curves with τ at K = 1, 2, 3."""
    curves: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            key = row["curve"], row["target_model"], row.get("mode", "")
            curves[key][int(row["num_speculative_tokens"])] = float(row["acceptance_length"])
    errors: dict[int, list[float]] = defaultdict(list)
    for (curve, target, _mode), lengths in curves.items():
        if not all(k in lengths for k in OBSERVED):
            continue
        method = _method(curve)
        observed = [
            AcceptanceObservation(
                method=method, num_speculative_tokens=k, acceptance_length=lengths[k]
            )
            for k in OBSERVED
        ]
        query = AcceptanceQuery(method=method, target=_target(target), task=Task.CODE)
        belief = believe(prior, query, observed, max_k=max(lengths))
        for k, length in lengths.items():
            if k not in OBSERVED:
                errors[k].append(abs(float(belief.length[k]) / length - 1.0))
    return {
        "curves": len(curves),
        "mean error by K": {k: mean(errors[k]) for k in sorted(errors)},
    }


def _method(curve: str) -> Method:
    names = sorted(Method, key=lambda method: -len(method.value))
    return next((m for m in names if m is not Method.NONE and m.value in curve), Method.MTP)


def _target(name: str) -> TargetClass:
    for spelling in (name, re.sub(r"-(nvfp4|fp8|\d{4})$", "", name)):
        try:
            shape = find_model(spelling)
        except TunerError:
            continue
        return TargetClass(
            target_id=shape.model_id,
            total_params=shape.total_params,
            active_params=shape.active_params,
            is_moe=shape.is_moe,
            is_hybrid=shape.is_hybrid,
        )
    return TargetClass(target_id=None, total_params=3e11, active_params=3e10, is_moe=True)
