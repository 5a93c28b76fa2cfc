"""Ties, decisions and schedule rows against brute force."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from tuner.optimize.choice import decide, probability_above_one, segments, shortest_within
from tuner.records.decision import State

SPEEDS = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(0.5, 3.0)
)


def fewest_rows(speed: np.ndarray, tolerance: float) -> int:
    """The least number of rows over every way of cutting the axis."""
    points = speed.shape[1]
    good = speed >= speed.max(axis=0) * (1.0 - tolerance)
    for cuts in range(points):
        for places in combinations(range(1, points), cuts):
            edges = [0, *places, points]
            spans = pairwise(edges)
            if all(good[:, a:b].all(axis=1).any() for a, b in spans):
                return cuts + 1
    return points


@given(SPEEDS, st.floats(0.0, 0.2))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_rows_are_few_and_good(speed: np.ndarray, tolerance: float) -> None:
    rows = segments(speed, tolerance=tolerance)
    assert len(rows) == fewest_rows(speed, tolerance)
    assert [first for first, _, _ in rows] == [0, *(last + 1 for _, last, _ in rows[:-1])]
    assert rows[-1][1] == speed.shape[1] - 1
    for first, last, setting in rows:
        span = speed[:, first : last + 1]
        assert (span[setting] >= span.max(axis=0) * (1.0 - tolerance)).all()


@pytest.mark.parametrize(
    ("speed", "tolerance", "place"),
    [([1.0, 2.0, 2.005, 1.9], 0.005, 1), ([1.0, 2.0, 2.2], 0.005, 2), ([2.0, 1.0], 0.0, 0)],
)
def test_ties_go_to_the_shorter(speed: list[float], tolerance: float, place: int) -> None:
    assert shortest_within(np.array(speed), tolerance) == place


@given(st.floats(0.2, 5.0), st.floats(0.01, 1.0))
@settings(deadline=None, derandomize=True)
def test_probability_is_the_lognormal_one(speedup: float, log_sd: float) -> None:
    expected = norm.sf(0.0, loc=np.log(speedup), scale=log_sd)
    assert probability_above_one(speedup, log_sd) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("speedup", "log_sd", "state"),
    [
        (1.5, 0.1, State.ON),
        (0.9, 0.05, State.OFF),
        (1.02, 0.2, State.MEASURE),
        (1.5, 0.0, State.ON),
        (1.0, 0.0, State.OFF),
    ],
)
def test_decisions(speedup: float, log_sd: float, state: State) -> None:
    assert decide(speedup, log_sd) is state
