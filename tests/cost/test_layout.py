"""What the layout over devices does to a step: networks, split attention, serving in step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy_steps import plain_serving
from scripts.cost_serving import read_serving
from tests.cost.setups import DEEPSEEK, LLAMA_70B, on
from tuner.catalog.priors import load_cost_prior
from tuner.cost.ceilings import FAST_LINK_LATENCY_S, SLOW_LINK_LATENCY_S, device_ceilings
from tuner.cost.drafters import target_setup
from tuner.cost.terms import pass_constants, pass_terms

SERVING = Path(__file__).parents[2] / "data" / "plain_tpot_measured.csv"


@pytest.mark.parametrize(
    ("device", "count", "latency"),
    [
        ("H100-SXM", 8, FAST_LINK_LATENCY_S),
        ("H100-SXM", 16, SLOW_LINK_LATENCY_S),
        ("GB200", 16, FAST_LINK_LATENCY_S),
    ],
)
def test_a_group_beyond_one_board_meets_over_the_network(
    device: str, count: int, latency: float
) -> None:
    setup = on(DEEPSEEK, device, count=count, dtype="fp8")
    ceilings = device_ceilings(setup.hardware, "fp8")
    assert ceilings.link_latency_s == latency
    if latency == SLOW_LINK_LATENCY_S:
        assert ceilings.link_bytes_per_s == 50e9  # 400 Gb/s


def cache_s(model: str, count: int, batch: np.ndarray, context: float) -> np.ndarray:
    one = np.ones_like(batch)
    constants = pass_constants(target_setup(on(model, "H200-SXM", count=count, dtype="fp8")))
    return pass_terms(constants, batch, one, context * one).kv_s


def test_latents_are_copied_while_that_is_quicker_and_split_by_sequences_beyond() -> None:
    batch = np.array([1.0, 4.0, 16.0, 64.0, 256.0, 1024.0])
    together, alone = cache_s(DEEPSEEK, 8, batch, 8000.0), cache_s(DEEPSEEK, 1, batch, 8000.0)
    assert np.all(np.diff(together) > 0.0)
    assert together[:3] == pytest.approx(alone[:3])
    # every device then reads its share of the cache, and dense matrices that were split before
    assert np.all(together[4:] < 0.5 * alone[4:])
    assert np.all(together > alone / 8.0)
    assert (together[5] - together[4]) == pytest.approx((alone[5] - alone[4]) / 8.0, rel=0.01)


def test_caches_of_heads_are_split_at_any_batch() -> None:
    batch = np.array([1.0, 256.0])
    split = cache_s(LLAMA_70B, 4, batch, 8000.0)
    assert split == pytest.approx(cache_s(LLAMA_70B, 1, batch, 8000.0) / 4.0)


def test_sequences_of_one_length_meet_half_of_the_other_prompts() -> None:
    """64 prompts read one after the other: 31.5 of the others' follow one's own in the mean."""
    run = next(one for one in read_serving(SERVING) if "sglang_agg_1024x128_c64" in one.name)
    assert run.prefill_share * run.output_tokens == pytest.approx(31.5)


def test_serving_over_unknown_decode_workers_is_not_scored() -> None:
    score = plain_serving(load_cost_prior(), SERVING)
    names = score["left out, decode workers not stated"]
    assert names == ["kimik2_5_gb200_vllm_fp4_disagg_1024x1024_c1024_cfg697"]
    assert score["n"] == 17
