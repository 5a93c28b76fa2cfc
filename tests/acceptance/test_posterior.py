"""The Gaussian posterior against integration over a grid, and its limits."""

import numpy as np
import pytest

from tuner.acceptance.belief import believe, curve_prior
from tuner.acceptance.evidence import Measured
from tuner.acceptance.posterior import CurvePrior, linearised, posterior_curve
from tuner.acceptance.shape import basis_of
from tuner.catalog.priors import load_acceptance_prior
from tuner.records.acceptance import (
    AcceptanceCounts,
    AcceptanceObservation,
    AcceptanceQuery,
    TargetClass,
)
from tuner.records.methods import Method, Task, VerifyRule

TARGET = TargetClass(target_id=None, total_params=8e9, active_params=8e9)
QUERY = AcceptanceQuery(method=Method.EAGLE3, target=TARGET, task=Task.CHAT)


def grid_moments(prior, measured):
    """Integrate the exact posterior of the three numbers on a grid around the Gaussian one."""
    near = posterior_curve(prior, measured, position_sd=1e-4)
    spread = np.sqrt(np.diag(near.numbers_covariance))
    axes = [
        np.linspace(centre - 5 * sd, centre + 5 * sd, 25)
        for centre, sd in zip(near.numbers, spread, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    precision = np.linalg.inv(prior.covariance)
    logs = np.empty(len(points))
    for place, point in enumerate(points):
        rate = 1 / (1 + np.exp(-linearised(prior, point)[0]))
        length = np.log1p(np.cumsum(np.cumprod(rate)))
        away = point - prior.mean
        logs[place] = -0.5 * away @ precision @ away - 0.5 * sum(
            (seen - length[k - 1]) ** 2 / variance for k, seen, variance, _ in measured.lengths
        )
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    centre = weight @ points
    return near, centre, (weight[:, None] * (points - centre)).T @ (points - centre)


@pytest.mark.parametrize(
    "lengths",
    [((3, 2.6, 0.02),), ((1, 1.7, 0.01), (3, 2.5, 0.01)), ((2, 2.2, 0.05), (7, 3.4, 0.03))],
)
def test_posterior_matches_a_brute_force_grid(lengths):
    tables = load_acceptance_prior()
    mean, covariance, _ = curve_prior(tables, QUERY)
    prior = CurvePrior(
        mean, covariance, tables.drafted_law, np.zeros(2), basis_of(Method.EAGLE3, 8)
    )
    measured = Measured(lengths=[(k, float(np.log(t)), sd**2, 0.0) for k, t, sd in lengths])
    near, centre, spread = grid_moments(prior, measured)
    sd = np.sqrt(np.diag(spread))
    assert (np.abs(near.numbers - centre) < 0.3 * sd).all()
    assert np.sqrt(np.diag(near.numbers_covariance)) == pytest.approx(sd, rel=0.15)


def test_one_observed_length_is_kept_and_narrows_the_interval():
    prior = load_acceptance_prior()
    before = believe(prior, QUERY, max_k=8)
    row = AcceptanceObservation(
        method=Method.EAGLE3, num_speculative_tokens=3, acceptance_length=2.9
    )
    after = believe(prior, QUERY, [row], max_k=8)
    assert after.origin == "posterior"
    assert after.length[3] == pytest.approx(2.9, rel=0.01)
    assert (after.length_log_sd[1:] < before.length_log_sd[1:]).all()
    assert after.length_log_sd[3] < 0.02


@pytest.mark.parametrize(
    "rates", [(0.9, 0.5, 0.8, 0.3), (0.3, 0.6, 0.2, 0.9), (0.7, 0.7, 0.7, 0.7)]
)
def test_many_drafts_leave_nothing_of_the_prior(rates):
    survival = np.cumprod(rates)
    drafts = 10_000_000
    accepted = tuple(round(value * drafts) for value in survival)
    counts = AcceptanceCounts(
        num_drafts=drafts,
        num_draft_tokens=4 * drafts,
        num_accepted_tokens=sum(accepted),
        accepted_per_position=accepted,
    )
    row = AcceptanceObservation(method=Method.EAGLE3, num_speculative_tokens=4, counts=counts)
    belief = believe(load_acceptance_prior(), QUERY, [row], max_k=4)
    assert belief.survival == pytest.approx(survival, abs=2e-3)


def test_interval_of_a_hundred_thousand_drafts_is_the_data_s_own():
    drafts, survival = 100_000, np.array([0.75, 0.55, 0.4])
    accepted = tuple(int(value * drafts) for value in survival)
    counts = AcceptanceCounts(
        num_drafts=drafts,
        num_draft_tokens=3 * drafts,
        num_accepted_tokens=sum(accepted),
        accepted_per_position=accepted,
    )
    row = AcceptanceObservation(method=Method.EAGLE3, num_speculative_tokens=3, counts=counts)
    belief = believe(load_acceptance_prior(), QUERY, [row], max_k=3)
    # variance of tokens a step ÷ drafts, times the design effect of clustered steps (4)
    moments = 1 + (np.array([3, 5, 7]) * survival).sum() - (1 + survival.sum()) ** 2
    own = np.sqrt(4 * moments / drafts) / (1 + survival.sum())
    assert belief.length[3] == pytest.approx(1 + survival.sum(), rel=2e-3)
    assert belief.length_log_sd[3] == pytest.approx(own, rel=0.25)


def test_rows_of_another_method_or_drafter_change_nothing():
    prior = load_acceptance_prior()
    query = AcceptanceQuery(
        method=Method.EAGLE3, target=TARGET, task=Task.CHAT, drafter="someone/head"
    )
    rows = [
        AcceptanceObservation(method=Method.MTP, num_speculative_tokens=3, acceptance_length=2.0),
        AcceptanceObservation(
            method=Method.EAGLE3,
            num_speculative_tokens=3,
            acceptance_length=2.0,
            drafter="other/head",
        ),
    ]
    assert believe(prior, query, rows).length == pytest.approx(believe(prior, query).length)


def test_a_row_at_another_temperature_counts_with_doubt():
    prior = load_acceptance_prior()
    hot = AcceptanceQuery(
        method=Method.EAGLE3,
        target=TARGET,
        task=Task.CHAT,
        temperature=1.0,
        rule=VerifyRule.RATIO,
    )
    row = AcceptanceObservation(
        method=Method.EAGLE3, num_speculative_tokens=3, acceptance_length=3.2, temperature=0.0
    )
    same = believe(prior, QUERY, [row], max_k=3)
    moved = believe(prior, hot, [row], max_k=3)
    assert moved.length[3] < same.length[3]
    assert moved.length_log_sd[3] > same.length_log_sd[3]


def test_a_served_tree_informs_the_chain_with_doubt():
    prior = load_acceptance_prior()
    tree = AcceptanceObservation(
        method=Method.EAGLE3, num_speculative_tokens=5, tree=(5, 3, 6), acceptance_length=3.6
    )
    before, after = believe(prior, QUERY, max_k=5), believe(prior, QUERY, [tree], max_k=5)
    assert after.length[5] > before.length[5]
    assert 0.05 < after.length_log_sd[5] < before.length_log_sd[5]


def test_lookup_counts_without_steps_leave_coverage_to_the_prior():
    prior = load_acceptance_prior()
    query = AcceptanceQuery(method=Method.NGRAM, target=TARGET, task=Task.CODE)
    counts = AcceptanceCounts(
        num_drafts=100_000,
        num_draft_tokens=300_000,
        num_accepted_tokens=180_000,
        accepted_per_position=(80_000, 60_000, 40_000),
    )
    row = AcceptanceObservation(method=Method.NGRAM, num_speculative_tokens=3, counts=counts)
    before, after = believe(prior, query, max_k=3), believe(prior, query, [row], max_k=3)
    assert after.survival[0] == pytest.approx(before.survival[0], abs=0.05)
    assert after.conditional[1:] == pytest.approx([0.75, 2 / 3], abs=0.02)
    assert after.coverage < 1.0
