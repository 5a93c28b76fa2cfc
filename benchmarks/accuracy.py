"""Scores the product's predictions on published measurements that it has not seen.

Usage: python -m benchmarks.accuracy [--measurements FILE] [--mode cold|calibrated|both] …
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

# The matrices are small: threads only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.accuracy_choice import score_cells
from benchmarks.accuracy_crossing import score_crossings
from benchmarks.accuracy_figures import (
    choice_figures,
    crossing_figures,
    decision_figures,
    other_k_figures,
    speedup_figures,
    split_figures,
)
from benchmarks.accuracy_folds import Folds, cost_prior_without
from benchmarks.accuracy_lengths import extrapolation
from benchmarks.accuracy_noise import between_sources
from benchmarks.accuracy_real import PASSES_SOURCE, recorded_runs
from benchmarks.accuracy_speedup import predict_calibrated, predict_cold
from benchmarks.accuracy_steps import (
    CURVE_SOURCE,
    SERVING_SOURCE,
    TABLE_SOURCE,
    measured_curve,
    modelled_table,
    plain_serving,
)
from benchmarks.accuracy_subjects import Subjects, collect, target_of
from benchmarks.accuracy_table import table
from benchmarks.accuracy_time import one_recommendation
from scripts.evidence import DATA, read_measurements
from tuner.advise.knowledge import Knowledge, shipped_knowledge


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; print a table, or JSON alone with ``--json``."""
    options = _parser().parse_args(arguments)
    report = run(options)
    if options.json:
        print(json.dumps(report, indent=1, allow_nan=False))
    else:
        print(table(report))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, default=DATA / "measurements.csv")
    parser.add_argument("--acceptance-by-k", type=Path, default=None)
    parser.add_argument("--target-names", type=Path, default=DATA / "target_names.csv")
    parser.add_argument("--gpu-names", type=Path, default=DATA / "gpu_names.csv")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--leave-out",
        choices=("source", "target", "both", "nothing"),
        default="source",
        help="what the priors are refitted without (both: each in turn)",
    )
    parser.add_argument("--mode", choices=("cold", "calibrated", "both"), default="both")
    return parser


def run(options: argparse.Namespace) -> dict[str, object]:
    """Return every figure of one file."""
    started = time.perf_counter()
    rows = read_measurements(
        options.measurements, target_names=options.target_names, gpu_names=options.gpu_names
    )
    subjects = collect(rows)
    report: dict[str, object] = {
        "schema_version": 1,
        "measurements": options.measurements.name,
        "rows": len(rows),
        "cells": {"scored": len(subjects.cells), "left out": subjects.left_out["cells"]},
        "rows with a plain run": {
            "scored": len(subjects.paired),
            "left out": subjects.left_out["rows"],
        },
    }
    ways = ("source", "target") if options.leave_out == "both" else (options.leave_out,)
    for way in ways:
        folds = Folds(by=way)
        folds.prepare([*(c.row for c in subjects.cells), *(s.row for s in subjects.paired)])
        report[f"leave out {way}"] = _figures(subjects, folds, options.mode)
    report["two sources, same setting"] = between_sources(subjects.paired)
    report["step times"] = {
        "verify cost measured on B300": measured_curve(cost_prior_without(CURVE_SOURCE)),
        "modelled by aiconfigurator, counted as it counts": modelled_table(
            cost_prior_without(TABLE_SOURCE), shared_cache=False
        ),
        "modelled by aiconfigurator, cache read once a sequence": modelled_table(
            cost_prior_without(TABLE_SOURCE), shared_cache=True
        ),
        "plain serving": plain_serving(cost_prior_without(SERVING_SOURCE)),
    }
    recorded = Knowledge(
        acceptance=shipped_knowledge().acceptance, cost=cost_prior_without(PASSES_SOURCE)
    )
    report["real engine"] = recorded_runs(recorded)
    if options.acceptance_by_k is not None:
        report["acceptance length by K"] = extrapolation(
            shipped_knowledge().acceptance, options.acceptance_by_k
        )
    report["one recommendation"] = one_recommendation()
    report["seconds"] = round(time.perf_counter() - started, 1)
    return report


def _figures(subjects: Subjects, folds: Folds, mode: str) -> dict[str, object]:
    cold, calibrated = mode != "calibrated", mode != "cold"
    found: dict[str, object] = {}
    cells = score_cells(subjects, folds.knowledge_of, cold=cold, calibrated=calibrated)
    found["choice of K"] = choice_figures(cells, subjects)
    if cold:
        speeds = predict_cold(subjects.paired, folds.knowledge_of)
        key = "target" if folds.by == "target" else "source"
        groups = {
            speed.ids[0]: target_of(speed.row) if key == "target" else speed.row.source
            for speed in subjects.paired
        }
        found["speedup, cold"] = speedup_figures(speeds, groups)
        found["error, cold, by part"] = split_figures(speeds)
        found["on or off, cold"] = decision_figures(speeds)
    if calibrated:
        found["speedup at other K, calibrated"] = other_k_figures(cells)
        found["on or off, calibrated"] = decision_figures(
            predict_calibrated(subjects, folds.knowledge_of)
        )
        found["batch where speculation stops paying, calibrated"] = crossing_figures(
            score_crossings(subjects, folds.knowledge_of)
        )
    found["refits"] = folds.refits
    return found


if __name__ == "__main__":
    raise SystemExit(main())
