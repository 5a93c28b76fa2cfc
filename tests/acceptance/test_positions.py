"""Everything that follows from survival by position."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.acceptance.positions import (
    conditional_of,
    curve,
    drafted_basis,
    length_distribution,
    length_quantile,
    length_variance,
    lengths_of,
    survival_of,
)

RATES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)
QUIET = settings(deadline=None, derandomize=True, max_examples=60)


@pytest.mark.parametrize(
    ("alpha", "k", "tokens"),
    [  # Leviathan et al. 2023, equation 1, worked by hand: Σ α^i, i = 0 … K
        (0.8, 4, 3.3616),
        (0.5, 3, 1.875),
        (0.9, 2, 2.71),
    ],
)
def test_constant_rate_gives_the_published_formula(alpha, k, tokens):
    assert lengths_of(survival_of(np.full(k, alpha)))[k] == pytest.approx(tokens, abs=1e-9)


def test_eagle_table_of_conditional_rates():
    # EAGLE paper (arXiv:2401.15077), LLaMA2-Chat-7B on MT-bench at T = 0: 0- to 4-alpha
    rates = [0.76, 0.69, 0.67, 0.68, 0.68]
    by_hand = 1 + 0.76 * (1 + 0.69 * (1 + 0.67 * (1 + 0.68 * (1 + 0.68))))
    assert lengths_of(survival_of(rates))[5] == pytest.approx(by_hand, rel=1e-12)


@QUIET
@given(RATES)
def test_length_is_one_plus_survival_and_stays_in_bounds(rates):
    survival = survival_of(rates)
    length = lengths_of(survival)
    assert length[0] == 1.0
    for k in range(1, len(rates) + 1):
        assert length[k] == pytest.approx(1.0 + survival[:k].sum(), abs=1e-12)
        assert 1.0 <= length[k] <= k + 1.0 + 1e-12
    assert (np.diff(length) >= 0.0).all()


@QUIET
@given(RATES)
def test_distribution_sums_to_one_and_has_the_stated_moments(rates):
    survival, k = survival_of(rates), len(rates)
    law = length_distribution(survival, k)
    tokens = np.arange(1, k + 2)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert (law * tokens).sum() == pytest.approx(lengths_of(survival)[k], abs=1e-9)
    centred = (law * tokens**2).sum() - (law * tokens).sum() ** 2
    assert length_variance(survival, k) == pytest.approx(centred, abs=1e-8)


@QUIET
@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=10))
def test_conditional_and_survival_are_inverse(rates):
    assert conditional_of(survival_of(rates)) == pytest.approx(rates, rel=1e-9)


def test_monte_carlo_agrees_with_the_distribution():
    generator = np.random.default_rng(20261129)
    rates = np.array([0.83, 0.7, 0.66, 0.5])
    accepted = generator.random((200_000, 4)) < rates
    tokens = 1 + np.cumprod(accepted, axis=1).sum(axis=1)
    seen = np.bincount(tokens, minlength=6)[1:] / len(tokens)
    law = length_distribution(survival_of(rates), 4)
    error = np.sqrt(law * (1 - law) / len(tokens))
    assert (np.abs(seen - law) < 4.5 * error).all()
    assert length_quantile(survival_of(rates), 4, 0.5) == np.median(tokens)


def test_slope_of_a_curve_is_its_finite_difference():
    basis, shape = drafted_basis(9), np.array([1.3, -0.35, 0.2])
    _, slope = curve(shape, basis)
    for which in range(3):
        step = np.zeros(3)
        step[which] = 1e-6
        above, below = curve(shape + step, basis)[0], curve(shape - step, basis)[0]
        assert slope[:, which] == pytest.approx((above - below) / 2e-6, abs=1e-7)
