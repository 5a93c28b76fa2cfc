"""The textbook formula against sums, the published closed form, and exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.speedup import (
    acceptance_length,
    best_num_speculative_tokens,
    expected_tokens,
    formula_time_per_token,
    is_worth_one_more,
)

RATES = st.floats(0.0, 1.0)
COSTS = st.floats(0.0, 2.0)

#: (α, N, E) worked out by hand from 1 + α + … + α^N
HAND = [
    (0.8, 4, 3.3616),
    (0.6, 5, 2.38336),
    (0.9, 5, 4.68559),
    (0.0, 7, 1.0),
    (1.0, 7, 8.0),
    (0.5, 1, 1.5),
]


@pytest.mark.parametrize(("rate", "count", "tokens"), HAND)
def test_expected_tokens_by_hand(rate: float, count: int, tokens: float) -> None:
    assert expected_tokens(rate, count) == pytest.approx(tokens, rel=1e-14)


@pytest.mark.parametrize(
    ("rate", "cost", "count", "speedup"), [(0.8, 0.05, 8, 3.09208), (0.9, 0.04, 15, 5.09186)]
)
def test_known_optima(rate: float, cost: float, count: int, speedup: float) -> None:
    assert best_num_speculative_tokens(rate, cost) == count
    assert 1.0 / formula_time_per_token(rate, cost, count) == pytest.approx(speedup, abs=1e-5)


@given(RATES, st.integers(0, 60))
@settings(deadline=None, derandomize=True)
def test_expected_tokens_is_the_exact_sum(rate: float, count: int) -> None:
    exact = sum(Fraction(rate) ** power for power in range(count + 1))
    assert float(expected_tokens(rate, count)) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_stable_next_to_one(gap: float) -> None:
    rate = 1.0 - gap
    exact = sum(Fraction(rate) ** power for power in range(11))
    assert float(expected_tokens(rate, 10)) == pytest.approx(float(exact), rel=1e-13)


@given(RATES, COSTS, st.integers(1, 40))
@settings(deadline=None, derandomize=True)
def test_best_is_the_least_of_all(rate: float, cost: float, most: int) -> None:
    found = int(best_num_speculative_tokens(rate, cost, max_tokens=most))
    times = [float(formula_time_per_token(rate, cost, count)) for count in range(most + 1)]
    assert times[found] == min(times)
    assert all(time > times[found] for time in times[:found])


@given(st.floats(0.01, 0.99), st.floats(0.005, 1.5))
@settings(deadline=None, derandomize=True)
def test_stopping_condition_finds_the_optimum(rate: float, cost: float) -> None:
    """The closed-form condition walks to the same N as exhaustive search, but for exact ties."""
    count = 0
    while bool(is_worth_one_more(rate, cost, count)):
        count += 1
    found = int(best_num_speculative_tokens(rate, cost, max_tokens=2000))
    walked = float(formula_time_per_token(rate, cost, count))
    searched = float(formula_time_per_token(rate, cost, found))
    assert walked == pytest.approx(searched, rel=1e-12)


@given(RATES, st.integers(1, 30))
@settings(deadline=None, derandomize=True)
def test_bounds_and_monotony(rate: float, count: int) -> None:
    tokens = float(expected_tokens(rate, count))
    assert 1.0 <= tokens <= count + 1.0 + 1e-12
    assert tokens <= float(expected_tokens(rate, count + 1)) + 1e-12
    assert tokens <= float(expected_tokens(min(rate + 0.05, 1.0), count)) + 1e-12


def test_length_from_survival_is_the_formula_for_powers() -> None:
    survival = 0.7 ** np.arange(1, 6)
    assert acceptance_length(survival) == pytest.approx(float(expected_tokens(0.7, 5)), rel=1e-14)
