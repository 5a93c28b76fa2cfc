"""τ at long drafts from τ at short ones, on a file of acceptance lengths by K."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from benchmarks.accuracy_scores import mean
from scripts.acceptance_curves import large_mixture, method_in
from tuner.acceptance.belief import believe
from tuner.records.acceptance import AcceptanceObservation, AcceptanceQuery
from tuner.records.acceptance_prior import AcceptancePrior
from tuner.records.methods import Task

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
        method = method_in(curve)
        observed = [
            AcceptanceObservation(
                method=method, num_speculative_tokens=k, acceptance_length=lengths[k]
            )
            for k in OBSERVED
        ]
        query = AcceptanceQuery(method=method, target=large_mixture(target), task=Task.CODE)
        belief = believe(prior, query, observed, max_k=max(lengths))
        for k, length in lengths.items():
            if k not in OBSERVED:
                errors[k].append(abs(float(belief.length[k]) / length - 1.0))
    return {
        "curves": len(curves),
        "mean error by K": {k: mean(errors[k]) for k in sorted(errors)},
    }
