"""The benchmark on a file that nobody has seen: other names, missing values, many kinds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy_choice import score_cells
from benchmarks.accuracy_crossing import score_crossings
from benchmarks.accuracy_document import document
from benchmarks.accuracy_figures import (
    choice_figures,
    crossing_figures,
    decision_figures,
    other_k_figures,
    speedup_figures,
    split_figures,
)
from benchmarks.accuracy_noise import between_sources
from benchmarks.accuracy_rules import PooledRule
from benchmarks.accuracy_speedup import predict_calibrated, predict_cold
from benchmarks.accuracy_subjects import Subjects, collect
from scripts.evidence import MeasuredRow, read_measurements
from scripts.evidence_rows import COLUMNS
from tuner.advise.knowledge import Knowledge, shipped_knowledge

BASE = {
    "source": "someone new",
    "method": "eagle3",
    "target_model": "Never-Seen-24B-A3B",
    "engine": "vLLM",
    "gpu": "A device of next year",
    "task": "a data set of next year",
    "metric": "output_tok_s",
}
SPEEDS = {1: (1300.0, 1.6), 3: (1700.0, 2.4), 5: (1650.0, 2.7)}


def rows_of_a_setup(sweep: str, **changed: str) -> list[dict[str, str]]:
    common = {**BASE, "sweep": sweep, "batch": "8", **changed}
    plain = {**common, "method": "none", "metric": "baseline_output_tok_s", "value": "1000"}
    rows = [plain]
    for length, (speed, tau) in SPEEDS.items():
        rows.append({**common, "draft_len_k": str(length), "value": str(speed)})
        rows.append({**common, "draft_len_k": str(length), "metric": "tau", "value": str(tau)})
    return rows


@cache
def unseen(folder: Path) -> Subjects:
    rows = [
        *rows_of_a_setup("a"),
        *rows_of_a_setup("b", temperature="0.7", gpu="", engine="", batch=""),
        *rows_of_a_setup("c", method="ngram", target_model="Qwen3-8B", gpu="H100"),
        *rows_of_a_setup("d", method="draft_model", draft_model="Tiny-0.5B", engine="llama.cpp"),
        *rows_of_a_setup("e", method="a method of next year"),
        *rows_of_a_setup("f", target_model="", target_params_b=""),
    ]
    for batch, ratio in (("1", "1.6"), ("16", "1.2"), ("64", "0.8")):
        extra = {"sweep": "curve", "metric": "throughput_ratio", "draft_len_k": "3"}
        rows.append({**BASE, **extra, "batch": batch, "value": ratio})
    lines = [",".join(COLUMNS)]
    for number, row in enumerate(rows):
        full = {"id": f"u{number}", **row}
        lines.append(",".join(full.get(column, "") for column in COLUMNS))
    file = folder / "unseen.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return collect(read_measurements(file))


def knowledge_of(row: MeasuredRow) -> Knowledge:
    return shipped_knowledge()


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Subjects:
    return unseen(tmp_path_factory.mktemp("unseen"))


def test_what_cannot_be_asked_is_counted_with_its_reason(subjects: Subjects) -> None:
    assert len(subjects.cells) == 4
    reasons = subjects.left_out["cells"]
    assert reasons["method is not one of the product's"] == 1
    assert reasons["target and its size are not known"] == 1


def test_every_cell_is_scored_cold_and_calibrated(subjects: Subjects) -> None:
    results = score_cells(subjects, knowledge_of, cold=True, calibrated=True)
    figures = choice_figures(results, subjects)
    assert figures["cells"] == 4
    for result in results:
        assert {"product, cold", "product, calibrated", "always 3"} <= set(result.regret)
        assert all(0.0 <= value < 1.0 for value in result.regret.values())
    assert other_k_figures(results)["all"]["n"] == 8


def test_an_observed_run_is_given_back(subjects: Subjects) -> None:
    own = [result for result in predict_calibrated(subjects, knowledge_of) if result.is_own]
    assert own
    for result in own:
        assert result.predicted == pytest.approx(result.measured, rel=0.1)


def test_cold_predictions_have_finite_intervals(subjects: Subjects) -> None:
    results = predict_cold(subjects.paired, knowledge_of)
    assert len(results) == len(subjects.paired) > 0
    for result in results:
        assert 0.0 < result.low <= result.predicted <= result.high < np.inf
    groups = {speed.ids[0]: speed.row.source for speed in subjects.paired}
    assert speedup_figures(results, groups)["n"] == len(results)
    assert decision_figures(results)["off rows"] == 1


def test_a_curve_over_batches_is_scored(subjects: Subjects) -> None:
    (curve,) = score_crossings(subjects, knowledge_of)
    assert 16.0 < curve.measured < 64.0
    assert crossing_figures([curve])["curves"] == 1


def test_two_sources_that_measured_the_same_are_compared(subjects: Subjects) -> None:
    # one source only: nothing to compare
    assert between_sources(subjects.paired)["n"] == 0


def test_the_pooled_rule_never_uses_the_rows_own_group(subjects: Subjects) -> None:
    groups = {speed.ids[0]: speed.row.source for speed in subjects.paired}
    rule = PooledRule(subjects.paired, groups)
    assert rule.quantiles(subjects.paired[0]) == (1.0, 1.0, 1.0)


def test_the_document_holds_every_section(subjects: Subjects) -> None:
    cells = score_cells(subjects, knowledge_of, cold=True, calibrated=True)
    cold = predict_cold(subjects.paired, knowledge_of)
    groups = {speed.ids[0]: speed.row.source for speed in subjects.paired}
    ratio = {"n": 1, "median": 0.05, "p90": 0.1, "by batch": {1: 0.05}}
    ratio["constant cost, median"] = 0.3
    report = {
        "measurements": "unseen.csv",
        "rows": len(subjects.rows),
        "cells": {"scored": len(cells), "left out": subjects.left_out["cells"]},
        "rows with a plain run": {"scored": 1, "left out": subjects.left_out["rows"]},
        "leave out source": {
            "choice of K": choice_figures(cells, subjects),
            "speedup, cold": speedup_figures(cold, groups),
            "error, cold, by part": split_figures(cold),
            "on or off, cold": decision_figures(cold),
            "speedup at other K, calibrated": other_k_figures(cells),
            "on or off, calibrated": decision_figures(predict_calibrated(subjects, knowledge_of)),
            "batch where speculation stops paying, calibrated": crossing_figures(
                score_crossings(subjects, knowledge_of)
            ),
        },
        "two sources, same setting": between_sources(subjects.paired),
        "step times": {
            "a measured curve": ratio,
            "plain serving": {
                "n": 1,
                "median": 0.1,
                "p90": 0.1,
                "aiconfigurator": {"median": 0.2, "p90": 0.7},
                "left out": [],
                "rows": {"run": {"measured_ms": 10.0, "predicted_ms": 11.0, "error": 0.1}},
            },
        },
        "real engine": {"median": 0.1, "p90": 0.2, "on or off right": 1.0, "rows": []},
        "one recommendation": {
            "seconds each": 0.005,
            "aiconfigurator, seconds a point": 0.6,
            "aiconfigurator measured in this run": False,
            "times faster": 120.0,
        },
    }
    text = document(report)
    for title in ("Summary", "Choice of K", "On or off", "Step times", "Where the frontier lies"):
        assert f"## {title}" in text
    assert "None" not in text
    assert "nan" not in text.replace("unnamed", "")
