"""Goodness-of-fit against SciPy's own tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tuner.simulate.statistics import (
    chi_square,
    chi_square_power,
    critical_value,
    g_test,
    kl_bias,
    pooled,
)


def test_chi_square_is_scipys() -> None:
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(8) * 5)
    counts = rng.multinomial(5_000, law)
    fit = chi_square([counts], [law], level=0.01)
    other = stats.chisquare(counts, 5_000 * law)
    assert fit.statistic == pytest.approx(other.statistic)
    assert fit.p_value == pytest.approx(other.pvalue)
    assert fit.degrees_of_freedom == 7
    assert fit.critical == pytest.approx(stats.chi2.isf(0.01, 7))


def test_tables_add_up() -> None:
    law = np.array([0.25, 0.75])
    parts = [chi_square([c], [law], level=0.1) for c in (np.array([30, 70]), np.array([20, 80]))]
    both = chi_square([np.array([30, 70]), np.array([20, 80])], [law, law], level=0.1)
    assert both.statistic == pytest.approx(sum(part.statistic for part in parts))
    assert both.degrees_of_freedom == 2
    assert both.samples == 200


def test_g_test_is_scipys() -> None:
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(6) * 5)
    counts = rng.multinomial(2_000, law)
    fit = g_test(counts, law, level=0.01)
    other = stats.power_divergence(counts, 2_000 * law, lambda_="log-likelihood")
    assert fit.statistic == pytest.approx(other.statistic)
    assert fit.p_value == pytest.approx(other.pvalue)


def test_kl_bias_is_what_samples_have_on_average() -> None:
    rng = np.random.default_rng(2)
    law = rng.dirichlet(np.ones(32) * 5)
    shares = rng.multinomial(20_000, law, size=400) / 20_000
    kl = (shares * np.log(np.where(shares > 0, shares / law, 1.0))).sum(axis=1)
    error = kl.std() / 20.0
    assert abs(kl.mean() - kl_bias(32, 20_000)) < 4.0 * error


def test_what_the_law_excludes_can_never_fit() -> None:
    law = np.array([0.5, 0.5, 0.0])
    for test in (lambda c: chi_square([c], [law], level=0.1), lambda c: g_test(c, law, level=0.1)):
        assert test(np.array([50, 50, 0])).fits
        broken = test(np.array([50, 50, 1]))
        assert not broken.fits
        assert broken.p_value == 0.0


def test_a_certain_outcome_has_no_degrees_of_freedom() -> None:
    law = np.array([0.0, 1.0])
    assert chi_square([np.array([0, 9])], [law], level=0.1).fits
    assert not chi_square([np.array([1, 8])], [law], level=0.1).fits


def test_rare_cells_are_pooled() -> None:
    seen, wanted = pooled(np.array([50, 3, 2, 1]), np.array([48.0, 4.0, 3.0, 1.0]))
    assert seen.tolist() == [50.0, 6.0]
    assert wanted.tolist() == [48.0, 8.0]
    seen, wanted = pooled(np.array([50, 40, 1]), np.array([49.0, 41.0, 1.0]))
    assert seen.tolist() == [50.0, 41.0]  # too rare even alone: into the smallest other
    assert wanted.tolist() == [49.0, 42.0]


def test_power_is_the_noncentral_chi_square() -> None:
    law = np.full(10, 0.1)
    fault = law + 0.01 * np.array([1, -1] * 5)
    shift = 3_000 * ((fault - law) ** 2 / law).sum()
    expected = stats.ncx2.sf(stats.chi2.isf(1e-3, 9), 9, shift)
    assert chi_square_power(fault, law, samples=3_000, level=1e-3) == pytest.approx(expected)
    assert chi_square_power(1.0 - law, law, samples=10**6, level=1e-3) == 1.0
    assert critical_value(9, 1e-3) == pytest.approx(stats.chi2.isf(1e-3, 9))
