"""Figures that the product states about served trees, recomputed from the published pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.trees import log_errors, read_served, served_trees
from tuner.report.tree import SERVED_NOTE
from tuner.trees.dynamic import SERVED_DEPTH_DISCOUNT, SERVED_LOG_SD

SERVED = read_served(Path(__file__).parents[2] / "data" / "acceptance.csv")


def test_the_discount_is_the_best_of_those_tried() -> None:
    figures = served_trees(SERVED)
    by_discount = figures["median_error_by_discount"]
    assert isinstance(by_discount, dict)
    assert min(by_discount, key=lambda name: by_discount[name]) == f"{SERVED_DEPTH_DISCOUNT:g}"
    assert figures["median_error"] == pytest.approx(0.09, abs=0.005)
    assert figures["median_error_held_out"] == pytest.approx(0.10, abs=0.005)
    assert by_discount["1"] == pytest.approx(0.17, abs=0.005)


def test_the_spread_is_what_remains() -> None:
    assert log_errors(SERVED, SERVED_DEPTH_DISCOUNT).std() == pytest.approx(SERVED_LOG_SD, abs=0.01)
    assert abs(np.median(log_errors(SERVED, SERVED_DEPTH_DISCOUNT))) < 0.02


def test_the_note_on_the_screen_holds() -> None:
    ratios = np.array(
        [
            one.lengths[tree] / one.lengths[line]
            for one in SERVED
            for tree, line in (("5/3/6", "5/1/6"), ("7/4/8", "7/1/8"))
        ]
    )
    assert f"of {len(ratios)} published pairs" in SERVED_NOTE
    assert f"in {np.mean(ratios < 1.0) * 100:.0f} %" in SERVED_NOTE
    assert f"had {np.median(ratios):.2f} of" in SERVED_NOTE
