"""Acceptance under each verify rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.acceptance.rules import Sampling, acceptance_under
from tuner.records.methods import VerifyRule

LOSSLESS = [rule for rule in VerifyRule if not rule.is_lossy]
RATE = st.floats(0.05, 0.98)
QUIET = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.mark.parametrize("rule", LOSSLESS)
def test_temperature_zero_is_greedy_under_every_lossless_rule(rule):
    assert acceptance_under(rule, 0.77, Sampling(temperature=0.0)) == pytest.approx(0.77)


@QUIET
@given(RATE, st.floats(0.05, 1.5))
def test_ratio_accepts_at_least_as_much_as_one_hot_and_block_more(rate, temperature):
    # Σ min(target, draft) against the target's probability of one token; blocks dominate tokens
    sampling = Sampling(temperature=temperature)
    ratio = acceptance_under(VerifyRule.RATIO, rate, sampling)
    assert 0.0 < ratio < 1.0
    assert acceptance_under(VerifyRule.BLOCK, rate, sampling) >= ratio
    if temperature >= 0.5:
        assert ratio >= acceptance_under(VerifyRule.ONE_HOT, rate, sampling) - 0.02


@QUIET
@given(RATE, RATE, st.sampled_from(LOSSLESS))
def test_a_better_drafter_is_accepted_more(first, second, rule):
    low, high = sorted((first, second))
    sampling = Sampling(temperature=0.8)
    assert acceptance_under(rule, low, sampling) <= acceptance_under(rule, high, sampling) + 1e-9


@QUIET
@given(st.floats(0.3, 0.97))
def test_one_hot_falls_with_temperature(rate):
    temperatures = [0.2, 0.5, 0.8, 1.0, 1.3]
    rates = [
        acceptance_under(VerifyRule.ONE_HOT, rate, Sampling(temperature=t)) for t in temperatures
    ]
    assert (np.diff(rates) <= 1e-9).all()


def test_truncation_to_one_token_is_greedy():
    # vLLM PR 56724: with a request's top-k of 1 greedy drafts lose nothing at temperature 1
    rate = acceptance_under(VerifyRule.ONE_HOT, 0.75, Sampling(temperature=1.0, top_k=1))
    assert rate == pytest.approx(0.75, abs=0.01)


def test_order_of_vllm_draft_sampling_modes():
    # vLLM PR 56724, τ of one model: top-k 1 2.92; unset, no top-p: greedy drafts 2.10,
    # probabilistic 2.64
    free = Sampling(temperature=1.0)
    one_hot = acceptance_under(VerifyRule.ONE_HOT, 0.75, free)
    ratio = acceptance_under(VerifyRule.RATIO, 0.75, free)
    assert one_hot < ratio < 0.75
    truncated = acceptance_under(VerifyRule.ONE_HOT, 0.75, Sampling(temperature=1.0, top_p=0.8))
    assert one_hot < truncated < 0.75


def test_lossy_rules_accept_more_than_greedy():
    for rule in (VerifyRule.TYPICAL, VerifyRule.RELAXED):
        assert acceptance_under(rule, 0.7, Sampling(temperature=0.7)) > 0.7
