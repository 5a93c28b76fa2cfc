"""The value of measuring."""

import numpy as np
import pytest

from tuner.acceptance.information import _quadrature, measurement_values, next_length


def lengths(alpha, depth):
    return np.array([sum(alpha**i for i in range(k + 1)) for k in range(depth + 1)])


def test_nothing_is_worth_measuring_when_no_outcome_changes_the_choice():
    cost = 1 + 0.9 * np.arange(6)
    sd = np.array([0.0, 0.01, 0.012, 0.013, 0.014, 0.015])
    assert measurement_values(lengths(0.3, 5), sd, cost)[2] == pytest.approx(0.0, abs=1e-12)


def test_doubt_near_break_even_is_worth_measuring():
    cost = 1 + 0.6 * np.arange(6)
    sd = 0.12 * np.arange(6) ** 0.5
    k, value = next_length(lengths(0.65, 5), sd, cost, 2)
    assert 1 <= k <= 5
    assert value > 0.005


def test_quadrature_is_the_published_one():
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    ours, masses = _quadrature()
    assert ours == pytest.approx(nodes, abs=1e-10)
    assert masses == pytest.approx(weights / weights.sum(), abs=1e-12)


def test_value_agrees_with_simulated_worlds():
    """Draw levels, let the oracle choose K after seeing them, compare with choosing before."""
    rng = np.random.default_rng(7)
    tau, cost = lengths(0.65, 5), 1 + 0.3 * np.arange(6)
    sd = 0.15 * np.arange(6) ** 0.5
    level = rng.standard_normal(200_000)[:, None]
    worlds = np.clip(tau * np.exp(level * sd - sd**2 / 2), 1.0, np.arange(6) + 1.0) / cost
    simulated = worlds.max(axis=1).mean() / worlds.mean(axis=0).max() - 1.0
    value = measurement_values(tau, sd, cost, measured_log_sd=1e-9)
    assert value[-1] == pytest.approx(simulated, abs=2e-3)
