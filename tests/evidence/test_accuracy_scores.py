"""The benchmark's own arithmetic, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.accuracy_crossing import Crossing, crossing
from benchmarks.accuracy_noise import choice_floor
from benchmarks.accuracy_rules import fitted_rate, nearest
from benchmarks.accuracy_scores import balanced_accuracy, bootstrap, interval_score, macro
from scripts.evidence import Cell


def test_interval_score_is_the_width_inside_and_ten_times_the_miss_outside() -> None:
    inside, below, above = interval_score(
        np.array([0.0, -1.5, 1.2]), np.array([-1.0] * 3), np.array([1.0] * 3)
    )
    assert inside == pytest.approx(2.0)
    assert below == pytest.approx(2.0 + 10 * 0.5)
    assert above == pytest.approx(2.0 + 10 * 0.2)


def test_balanced_accuracy_counts_both_classes_alike() -> None:
    on = np.array([True] * 9 + [False])
    assert balanced_accuracy(on, np.ones(10, dtype=bool)) == pytest.approx(0.5)
    assert balanced_accuracy(on, on) == pytest.approx(1.0)
    assert balanced_accuracy(np.ones(3, dtype=bool), np.ones(3, dtype=bool)) is None


def test_macro_mean_counts_a_large_source_once() -> None:
    groups = {"large": np.array([0.0] * 99), "small": np.array([1.0])}
    assert macro(groups, lambda values: float(values.mean())) == pytest.approx(0.5)


def test_bootstrap_of_equal_sources_has_no_spread() -> None:
    groups = {name: np.array([0.25, 0.75]) for name in "abc"}
    assert bootstrap(groups, lambda v: float(v.mean()), pooled=True) == pytest.approx((0.5, 0.5))
    assert bootstrap({"one": np.array([1.0])}, lambda v: float(v.mean()), pooled=True) is None


def test_nearest_measured_length_prefers_the_shorter_in_a_tie() -> None:
    assert nearest((1, 2, 4, 8), 3) == 2
    assert nearest((5, 7), 3) == 5


def test_fitted_rate_gives_back_the_length() -> None:
    # α = .8 at K = 4: 1 + .8 + .64 + .512 + .4096
    assert fitted_rate(3.3616, 4) == pytest.approx(0.8, abs=1e-9)
    assert fitted_rate(5.0, 4) is None
    assert fitted_rate(1.0, 4) is None


def test_crossing_is_interpolated_in_the_logarithm_of_the_batch() -> None:
    batches = np.array([1.0, 16.0, 64.0])
    assert crossing(batches, np.array([1.5, 1.1, 0.9])) == pytest.approx(32.0)
    assert crossing(batches, np.array([1.5, 1.2, 1.1])) == math.inf
    assert crossing(batches, np.array([0.9, 0.8, 0.7])) == 0.0


@pytest.mark.parametrize(
    ("measured", "predicted", "is_right"),
    [
        (32.0, 47.0, True),
        (32.0, 49.0, False),
        (32.0, math.inf, False),
        (math.inf, math.inf, True),
        (math.inf, 43.0, True),
        (math.inf, 40.0, False),
        (0.0, 1.2, True),
        (0.0, 8.0, False),
    ],
)
def test_a_crossing_is_right_within_the_factor(
    measured: float, predicted: float, is_right: bool
) -> None:
    curve = Crossing(
        name="",
        source="",
        batches=(1.0, 64.0),
        speedups=(1.2, 0.9),
        measured=measured,
        predicted=predicted,
    )
    assert curve.is_right is is_right


def cell(*speeds: float) -> Cell:
    return Cell(
        key=(),
        row=None,
        metric="speedup",
        speed=dict(enumerate(speeds, start=1)),
        acceptance_length={},
        speedup={},
        repeat_spread={},
    )


def test_without_noise_a_perfect_predictor_loses_nothing() -> None:
    assert choice_floor([cell(1.0, 1.2)], 0.0) == {"mean": 0.0, "p90": 0.0}


def test_the_noise_floor_of_equal_settings_is_that_of_the_larger_of_two_draws() -> None:
    # E max(a, b) of two normals with spread s is s / sqrt(pi) above their mean
    floor = choice_floor([cell(1.0, 1.0)] * 200, 0.02)["mean"]
    assert floor == pytest.approx(0.02 / math.sqrt(math.pi), rel=0.05)
