"""What holds in every output, over many profiles."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.advise.recommend import recommend
from tuner.errors import InfeasibleError
from tuner.profile import parse_profile
from tuner.report.export import recommendation_document

TARGETS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-R1",
)
LOADS = st.one_of(
    st.integers(1, 300).map(lambda batch: f"batch: {batch}"),
    st.just("batch: {1: 0.25, 48: 0.75}"),
    st.integers(1, 200).map(lambda count: f"concurrency: {count}"),
    st.floats(0.1, 5.0).map(lambda rate: f"request_rate: {rate:.3f}"),
)
HEATS = st.one_of(st.sampled_from(["0", "0.7", "1.0", "1.4"]), st.just("{0.0: 0.4, 1.0: 0.6}"))
TASKS = st.one_of(
    st.sampled_from(["chat", "code", "rag", "creative"]), st.just("{chat: 0.7, code: 0.3}")
)


@st.composite
def profiles(draw: st.DrawFn) -> str:
    return f"""
name: any
target: {draw(st.sampled_from(TARGETS))}
hardware: {{gpu: {draw(st.sampled_from(["H100-SXM", "H200-SXM", "A100-80GB-SXM"]))}, count: 8}}
engine: {{name: {draw(st.sampled_from(["vllm", "sglang"]))}}}
gpu_hour_usd: 2.5
workload:
  task: {draw(TASKS)}
  temperature: {draw(HEATS)}
  {draw(LOADS)}
  prompt_tokens: {draw(st.integers(1, 8000))}
  output_tokens: {draw(st.integers(1, 2000))}
objective: {draw(st.sampled_from(["latency", "throughput", "cost"]))}
"""


def result_of(text: str) -> dict[str, Any] | None:
    try:
        document = recommendation_document(
            [recommend(parse_profile(text, file="any.yaml", name="any"))]
        )
    except InfeasibleError:
        return None
    profiles_: list[dict[str, Any]] = document["profiles"]  # type: ignore[assignment]
    return profiles_[0]


def assert_beliefs_hold(item: dict[str, Any]) -> None:
    """The centre of each belief is the number beside it, inside its ends."""
    beliefs = item["beliefs"]
    beside = {
        "step_cost_ratio": item["step_cost_ratio"],
        "output_tok_s": item["output_tok_s"],
        "chunk_gap_ms": item["chunk_gap_ms"],
        "request_tpot_p99_ms": item["request_tpot_ms"]["p99"],
        "e2e_ms": item["e2e_ms"],
        "usd_per_million_tokens": item["usd_per_million_tokens"],
    }
    assert beliefs.keys() == beside.keys()
    for name, mean in beside.items():
        assert beliefs[name]["mean"] == pytest.approx(mean, rel=1e-9)
        assert beliefs[name]["p10"] <= beliefs[name]["mean"] <= beliefs[name]["p90"]
    # one step brings τ tokens to each sequence, so gap ÷ τ is the time a token
    tau, tpot = item["acceptance_length"]["mean"], item["tpot_ms"]["mean"]
    assert beliefs["chunk_gap_ms"]["mean"] == pytest.approx(tau * tpot, rel=1e-6)


@given(profiles())
@settings(deadline=None, derandomize=True, max_examples=60)
def test_identities_of_the_contract(text: str) -> None:
    result = result_of(text)
    if result is None:
        return
    configs = result["configs"]
    for item in configs:
        tau = item["acceptance_length"]["mean"]
        assert tau == pytest.approx(1.0 + sum(item["acceptance_per_position"]), rel=1e-9)
        parts = item["step_cost_parts"]
        assert item["step_cost_ratio"] == pytest.approx(sum(parts.values()), rel=1e-9)
        assert item["speedup"]["mean"] == pytest.approx(tau / item["step_cost_ratio"], rel=1e-9)
        tpot_s = item["tpot_ms"]["mean"] / 1000.0
        assert item["output_tok_s"] == pytest.approx(item["batch"] / tpot_s, rel=1e-9)
        for name in ("acceptance_length", "tpot_ms", "speedup"):
            assert item[name]["p10"] <= item[name]["mean"] <= item[name]["p90"]
        assert_beliefs_hold(item)
        survival = item["acceptance_per_position"]
        if item["tree"] is None:
            assert 1.0 <= tau <= item["num_speculative_tokens"] + 1.0
            assert all(a >= b - 1e-12 for a, b in pairwise(survival))
    drafting = [item for item in configs if item["method"] != "none"]
    if drafting:
        even = result["decision"]["break_even_acceptance_length"]
        assert even == pytest.approx(drafting[0]["step_cost_ratio"], rel=1e-9)


@given(profiles())
@settings(deadline=None, derandomize=True, max_examples=40)
def test_equal_batch_speedup_is_the_ratio_of_times(text: str) -> None:
    result = result_of(text)
    if result is None or "batch:" not in text:
        return
    plain = result["baseline"]["tpot_ms"]["mean"]
    for item in result["configs"]:
        assert item["speedup"]["mean"] == pytest.approx(plain / item["tpot_ms"]["mean"], rel=1e-9)


@given(profiles())
@settings(deadline=None, derandomize=True, max_examples=40)
def test_order_schedule_and_numbers(text: str) -> None:
    result = result_of(text)
    if result is None:
        return
    fitting = [item for item in result["configs"] if item["fits_memory"] is not False]
    codes = {warning["code"] for warning in result["warnings"]}
    # where requests queue, throughput compares, or the arrival rate rules out: test_sense
    if codes & {"saturated", "falls-behind"}:
        return
    # arrivals that are kept up with fix tokens a second: times differ
    if "objective: latency" in text or "request_rate" in text:
        times = [item["tpot_ms"]["mean"] for item in fitting]
        assert times == sorted(times)
    else:
        rates = [item["output_tok_s"] for item in fitting]
        assert rates == sorted(rates, reverse=True)
    rows = result["schedule"]["by_batch"]
    for before, after in pairwise(rows):
        assert after["from"] == before["to"] + 1
    assert _all_finite(result)


def _all_finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(_all_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_all_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
