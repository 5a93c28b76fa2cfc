"""No end of a shown interval is impossible: a step is no cheaper than a plain one and emits few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.advise.predict import Question, predict
from tuner.advise.predictions import ratio_and_gain
from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.config import Prediction
from tuner.records.interval import Interval
from tuner.records.methods import Method
from tuner.records.workload import Profile

#: widest ratios there are: an engine, a device and a method that few have measured together
BASE: dict[str, Any] = {
    "target": "meta-llama/Llama-3.1-8B-Instruct",
    "hardware": {"gpu": "RTX-4090"},
    "engine": {"name": "sglang"},
    "workload": {"task": {"code": 0.5, "math": 0.5}, "temperature": 0, "batch": 1},
}


def profile(**stated: Any) -> Profile:
    return parse_profile(yaml.safe_dump({**BASE, **stated}), file="case.yaml", name="case")


def assert_possible(item: Prediction, plain_s: Interval) -> None:
    most = item.config.draft_steps + 1.0
    gain, tau = item.speedup, item.acceptance_length
    assert item.beliefs is not None
    assert item.tpot_s is not None
    ratio, gap_s = item.beliefs.step_cost_ratio, item.beliefs.chunk_gap_s
    for one in (gain, tau, ratio, item.tpot_s, gap_s, item.beliefs.output_tok_s):
        assert 0.0 < one.p10 <= one.mean <= one.p90
    assert ratio.p10 >= min(1.0, ratio.mean)
    assert 1.0 <= tau.p10 <= tau.p90 <= most
    assert gain.p90 <= most / ratio.p10 * (1.0 + 1e-12)
    assert gain.p90 <= tau.p90 / min(ratio.mean, 1.0) * (1.0 + 1e-12)
    assert gain.p10 >= 1.0 / ratio.p90 * (1.0 - 1e-12)
    # a time is no shorter than the quickest plain step over the largest gain
    assert item.tpot_s.p10 >= plain_s.p10 / gain.p90 * (1.0 - 1e-12)
    assert item.tpot_s.p90 <= plain_s.p90 / gain.p10 * (1.0 + 1e-12)
    assert gap_s.p10 >= plain_s.p10 * min(ratio.mean, 1.0) * (1.0 - 1e-12)
    assert item.beliefs.output_tok_s.p90 == pytest.approx(item.batch / item.tpot_s.p10)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"engine": {"name": "vllm"}},
        {"engine": {"name": "llamacpp"}, "dtype": "gguf:Q4_K_M"},
        {"workload": {**BASE["workload"], "batch": {1: 0.5, 16: 0.5}}},
        {"workload": {"task": "creative", "temperature": 1, "concurrency": 8}},
        {"target": "Qwen/Qwen3-32B", "hardware": {"gpu": "H100-SXM", "count": 2}},
    ],
)
def test_no_end_of_any_interval_is_impossible(stated: dict[str, Any]) -> None:
    answer = predict(profile(**stated), Question())
    assert answer.baseline.tpot_s is not None
    drafting = [item for item in answer.configs if item.config.method is not Method.NONE]
    assert drafting
    for item in drafting:
        plain_s = item.tpot_s.mean * item.speedup.mean if item.tpot_s else 0.0
        assert_possible(item, answer.baseline.tpot_s.scaled(plain_s / answer.baseline.tpot_s.mean))


def test_one_draft_token_gains_less_than_two_tokens_a_step() -> None:
    (item,) = predict(
        profile(), Question(methods=(Method.EAGLE3,), num_speculative_tokens=(1,))
    ).configs
    assert item.speedup.p90 <= 2.0
    assert item.beliefs is not None
    assert item.beliefs.step_cost_ratio.p10 == 1.0
    assert item.beliefs.step_cost_ratio.mean > 1.0


def test_what_a_measurement_would_leave_is_within_what_is_believed() -> None:
    found = recommend(profile(candidates={"methods": ["eagle3"]}))
    assert found.next_measurement is not None
    before, after = found.next_measurement.why.split("from ")[1].split(" to about ")
    low, high = (float(end) for end in before.split("–"))
    narrow, wide = (float(end) for end in after.split(";")[0].split(" ")[0].split("–"))
    assert low <= narrow <= found.configs[0].speedup.mean <= wide <= high


def test_rows_that_measured_a_cheaper_step_are_believed() -> None:
    cost, gain = ratio_and_gain(Interval.lognormal(2.0, 0.1, upper=4.0), 0.95, 0.02, 0.102, 4.0)
    assert cost.p10 == cost.mean == 0.95
    assert cost.p90 > 0.95
    assert gain.mean == pytest.approx(2.0 / 0.95)
    assert gain.p90 > gain.mean


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(1, 16),
    st.floats(0.0, 1.0),
    st.floats(1.0, 5.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.5),
)
def test_the_bounds_cut_nothing_that_can_be(
    k: int, share: float, ratio: float, tau_sd: float, ratio_sd: float
) -> None:
    """Samples of a possible τ over a possible ratio lie inside the bounds, percentile-wise."""
    most, rng = k + 1.0, np.random.default_rng(5)
    tau = Interval.lognormal(1.0 + share * k, tau_sd, lower=1.0, upper=most)
    lengths = np.clip(tau.mean * np.exp(tau_sd * rng.standard_normal(20_000)), 1.0, most)
    ratios = np.maximum(ratio * np.exp(ratio_sd * rng.standard_normal(20_000)), 1.0)
    cost, gain = ratio_and_gain(tau, ratio, ratio_sd, float(np.hypot(tau_sd, ratio_sd)), most)
    low, high = np.quantile(lengths / ratios, [0.1, 0.9])
    slack = 1.0 + 0.1 * (tau_sd + ratio_sd) + 1e-9
    assert high <= min(most / cost.p10, tau.p90) * slack
    assert low >= 1.0 / cost.p90 / slack
    assert gain.p10 <= gain.mean <= gain.p90
