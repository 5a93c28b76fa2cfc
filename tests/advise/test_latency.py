"""Latency beyond the mean, against simulated requests and enumerated chunks."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tuner.advise.latency import (
    chunk_tokens_p99,
    client_beliefs,
    crowded,
    dilution,
    request_tpot_s,
)
from tuner.advise.points import Load
from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.interval import Interval

FloatArray = NDArray[np.float64]

#: survival by position of three drafters: weak, middling, strong
SURVIVALS = (
    (0.35, 0.12),
    (0.72, 0.5, 0.34),
    (0.9, 0.8, 0.71, 0.62, 0.55, 0.48, 0.42),
)
#: steps of one request that are alike in the simulation: variance of a mean is so many times that
#: of independent steps, which is the clustering that the product assumes
ALIKE = 4


def load(*, output_tokens: float = 400.0, prefill_s: float = 0.0) -> Load:
    return Load(
        batches=((1.0, 1.0),),
        concurrency=None,
        request_rate=None,
        output_tokens=output_tokens,
        prefill_s=prefill_s,
    )


def step_tokens(
    survival: tuple[float, ...], rng: np.random.Generator, shape: tuple[int, ...]
) -> FloatArray:
    """Draw tokens of steps: the bonus, and drafts for as long as uniform draws stay below."""
    draws = rng.random(shape)
    return 1.0 + (draws[..., None] < np.array(survival)).sum(axis=-1)


@pytest.mark.parametrize("survival", SURVIVALS)
@pytest.mark.parametrize("output_tokens", [32, 64, 200, 400, 1600])
def test_luck_of_a_request_is_that_of_simulated_requests(
    survival: tuple[float, ...], output_tokens: int
) -> None:
    rng = np.random.default_rng(7)
    tau = 1.0 + sum(survival)
    blocks = step_tokens(survival, rng, (8_000, output_tokens // ALIKE + 1))
    steps = np.repeat(blocks, ALIKE, axis=1)
    needed = 1 + (np.cumsum(steps, axis=1) < output_tokens).sum(axis=1)
    # one step takes τ times the mean time per token
    per_token = needed * tau / output_tokens
    half, slow = request_tpot_s(1.0, survival, float(output_tokens))
    # a short answer is a whole number of few steps
    near = 0.05 if output_tokens < 100 else 0.02
    assert half == pytest.approx(float(np.quantile(per_token, 0.5)), rel=near)
    assert slow == pytest.approx(float(np.quantile(per_token, 0.99)), rel=2 * near)
    assert slow <= tau


def test_plain_decoding_has_no_luck() -> None:
    assert request_tpot_s(0.02, (), 400.0) == (0.02, 0.02)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=0, max_size=12).map(
        lambda rates: tuple(np.cumprod(rates).tolist())
    )
)
@settings(deadline=None, derandomize=True, max_examples=200)
def test_the_size_of_all_but_one_of_100_chunks_is_enumerated(survival: tuple[float, ...]) -> None:
    # chance of exactly n drafts: to reach position n and not n + 1
    reached = (1.0, *survival, 0.0)
    exactly = [reached[n] - reached[n + 1] for n in range(len(survival) + 1)]
    within, tokens = 0.0, 0
    while within < 0.99 - 1e-12:
        within += exactly[tokens]
        tokens += 1
    assert chunk_tokens_p99(survival) == tokens


def test_beliefs_are_quantiles_of_drawn_times_per_token() -> None:
    rng = np.random.default_rng(3)
    tpot = 0.01 * np.exp(0.2 * rng.standard_normal(200_000))
    found = client_beliefs(
        load(output_tokens=300.0, prefill_s=0.8),
        step_ratio=Interval.exact(1.3),
        tpot_s=Interval.lognormal(0.01, 0.2),
        gap_s=Interval.lognormal(0.03, 0.1),
        slow_s=0.012,
        delta_s=0.05,
        tokens_per_s=16 / 0.01,
        usd_per_million=2.0,
    )
    assert found is not None
    assert found.usd_per_million_tokens is not None
    drawn = {
        found.e2e_s: 0.8 + 0.05 + 299 * tpot,
        found.output_tok_s: 16 / tpot,
        found.request_tpot_p99_s: 1.2 * tpot,
        # twice the time a token is twice the price
        found.usd_per_million_tokens: 2.0 * tpot / 0.01,
    }
    for interval, values in drawn.items():
        expected = np.quantile(values, (0.1, 0.5, 0.9))
        assert (interval.p10, interval.mean, interval.p90) == pytest.approx(expected, rel=0.01)
    assert found.chunk_gap_s == Interval.lognormal(0.03, 0.1)


def test_nothing_is_believed_about_an_unknown_target() -> None:
    nothing = client_beliefs(
        load(),
        step_ratio=Interval.exact(1.3),
        tpot_s=None,
        gap_s=None,
        slow_s=None,
        delta_s=None,
        tokens_per_s=None,
        usd_per_million=None,
    )
    assert nothing is None


@pytest.mark.parametrize("output_tokens", [8, 60, 400])
@pytest.mark.parametrize("prefill_s", [0.0, 0.3, 4.0])
def test_dilution_is_that_of_simulated_requests(output_tokens: int, prefill_s: float) -> None:
    """The first token comes from prefill; the last step may give more than is wanted."""
    survival, plain_s, step_s, delta_s = (0.72, 0.5, 0.34), 0.02, 0.026, 0.04
    tau = 1.0 + sum(survival)
    rng = np.random.default_rng(11)
    tokens = step_tokens(survival, rng, (6_000, output_tokens))
    steps = 1 + (np.cumsum(tokens, axis=1) < output_tokens - 1).sum(axis=1)
    spec = float((prefill_s + delta_s + steps * step_s).mean())
    plain = prefill_s + (output_tokens - 1) * plain_s
    found = dilution(
        load(output_tokens=float(output_tokens), prefill_s=prefill_s),
        plain_s,
        step_s / tau,
        delta_s,
    )
    # what the last step gives in vain is less than τ tokens of all
    most = tau * step_s / tau / (spec - prefill_s)
    assert found == pytest.approx(plain / spec, rel=min(most, 0.25))
    assert found >= plain / spec
    if output_tokens == 400:
        assert found == pytest.approx(plain / spec, rel=0.01)


def full_house(batch: int, prefill_steps: int, chunk_s: float, step_s: float, tokens: int,
               per_step: float) -> float:  # fmt: skip
    """Simulate a server that is always full: one chunk of prefill a step, first come first served.

    Returns the mean time from a request's start to its end. Every slot starts over when it ends.
    """
    needed = max(round(tokens / per_step), 1)
    left = [needed * (slot + 1) // batch for slot in range(batch)]
    waiting: list[int] = []
    prefill_left = [0] * batch
    started = [0.0] * batch
    clock, taken = 0.0, []
    while len(taken) < 12 * batch:
        decoding = [slot for slot in range(batch) if prefill_left[slot] == 0]
        clock += step_s
        if waiting:
            clock += chunk_s
            prefill_left[waiting[0]] -= 1
            if prefill_left[waiting[0]] == 0:
                left[waiting.pop(0)] = needed
        for slot in decoding:
            left[slot] -= 1
            if left[slot] == 0:
                taken.append(clock - started[slot])
                started[slot] = clock
                prefill_left[slot] = prefill_steps
                waiting.append(slot)
    return float(np.mean(taken[4 * batch :]))


@pytest.mark.parametrize("batch", [4, 16])
def test_a_full_house_shares_its_steps_with_the_prefill_of_others(batch: int) -> None:
    chunks, chunk_s, step_s, tokens, speedup = 2, 0.05, 0.02, 600, 1.9
    prefill_s = chunks * chunk_s
    plain = full_house(batch, chunks, chunk_s, step_s, tokens, 1.0)
    # steps half as long again, 2.85 tokens each: 1.9 times as fast
    spec = full_house(batch, chunks, chunk_s, 1.5 * step_s, tokens, 1.5 * speedup)
    bare = load(output_tokens=tokens + 1.0, prefill_s=prefill_s)
    found = dilution(crowded(bare, batch), step_s, step_s / speedup, 0.0)
    alone = dilution(bare, step_s, step_s / speedup, 0.0)
    assert found == pytest.approx(plain / spec, rel=0.03)
    assert abs(found - plain / spec) < 0.5 * abs(alone - plain / spec)


CACHED = """
target: Qwen/Qwen3-32B
hardware: {{gpu: H100-SXM, count: 2}}
workload: {{task: rag, temperature: 0.3, batch: 8, prompt_tokens: 16000, output_tokens: 250,
           prefix_cache_hit: {hit}}}
candidates: {{methods: [eagle3], num_speculative_tokens: [3]}}
"""


def test_a_lost_prefix_cache_costs_what_a_profile_without_one_says() -> None:
    warm, cold = (
        recommend(parse_profile(CACHED.format(hit=hit), file="case.yaml", name="case"))
        for hit in (0.6, 0.0)
    )
    before = next(item for item in warm.configs if not item.config.num_speculative_tokens)
    after = next(item for item in cold.configs if item.config.num_speculative_tokens)
    own = next(item for item in warm.configs if item.config.num_speculative_tokens)
    assert before.e2e_s is not None
    assert after.e2e_s is not None
    assert own.ttft_delta_s is not None
    assert after.ttft_delta_s is not None
    (told,) = (item.message for item in warm.warnings if item.code == "prefix-cache")
    numbers = re.search(r"comes (\d+) ms later and the request ends ([\d.]+)×", told)
    assert numbers is not None
    # the cold profile's drafter reads the whole prompt as well
    ends = after.e2e_s - (after.ttft_delta_s - own.ttft_delta_s)
    assert float(numbers[2]) == pytest.approx(before.e2e_s / ends, abs=0.006)
    plain_cold = next(item for item in cold.configs if not item.config.num_speculative_tokens)
    assert plain_cold.e2e_s is not None
    assert float(numbers[1]) == pytest.approx(1e3 * (plain_cold.e2e_s - before.e2e_s), abs=1.0)


def test_shared_steps_are_told_where_they_take_much_of_the_gain() -> None:
    text = CACHED.format(hit=0.0)
    many = recommend(parse_profile(text, file="case.yaml", name="case"))
    (told,) = (item.message for item in many.warnings if item.code == "shared-steps")
    assert "the prompts of 8 requests" in told
    alone = parse_profile(text.replace("batch: 8", "batch: 1"), file="case.yaml", name="case")
    assert not any(item.code == "shared-steps" for item in recommend(alone).warnings)


def test_short_outputs_dilute_the_more() -> None:
    gains = []
    for tokens in (10.0, 100.0, 1000.0):
        bare = replace(load(prefill_s=0.5), output_tokens=tokens)
        gains.append(dilution(bare, 0.02, 0.01, 0.0))
    assert gains == sorted(gains)
    assert gains[0] < 1.2
    assert gains[-1] > 1.9
