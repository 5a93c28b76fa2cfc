"""The value of measuring."""

import numpy as np
import pytest

from tuner.acceptance.information import _quadrature, measurement_value, next_length


def lengths(alpha, depth):
    return np.array([sum(alpha**i for i in range(k + 1)) for k in range(depth + 1)])


def test_nothing_is_worth_measuring_when_no_outcome_changes_the_choice():
    cost = 1 + 0.9 * np.arange(6)
    sd = np.array([0.0, 0.01, 0.012, 0.013, 0.014, 0.015])
    assert measurement_value(lengths(0.3, 5), sd, cost, 3) == pytest.approx(0.0, abs=1e-12)


def test_doubt_near_break_even_is_worth_measuring():
    cost = 1 + 0.6 * np.arange(6)
    sd = 0.12 * np.arange(6) ** 0.5
    k, value = next_length(lengths(0.65, 5), sd, cost)
    assert 1 <= k <= 5
    assert value > 0.005


def test_quadrature_is_the_published_one():
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    ours, masses = _quadrature()
    assert ours == pytest.approx(nodes, abs=1e-10)
    assert masses == pytest.approx(weights / weights.sum(), abs=1e-12)
