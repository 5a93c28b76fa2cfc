"""What must hold of verification cost whatever the parameters: limits and monotonicity."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cost.setups import DEEPSEEK, LLAMA_8B, LLAMA_70B, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.model import learn
from tuner.records.cost import CostSetup
from tuner.records.methods import Engine, Method

LENGTHS = np.arange(1, 9)


def verify_cost(setup: CostSetup, batch: float, context: float) -> np.ndarray:
    """Time of a pass over K + 1 tokens of each sequence ÷ a plain step, for K = 1 … 8."""
    times = learn(load_cost_prior(), setup).step(
        plan(Method.EAGLE3),
        batch=batch,
        draft_steps=LENGTHS,
        verify_tokens=LENGTHS + 1,
        context_tokens=context,
    )
    return times.verify_s / times.baseline_s


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.SGLANG])
def test_saturated_batch_without_context_pays_for_every_token(engine: Engine) -> None:
    cost = verify_cost(on(LLAMA_8B, "H100-SXM", engine=engine), 1e6, 0.0)
    assert cost == pytest.approx(LENGTHS + 1, rel=0.01)


@pytest.mark.parametrize("batch", [1.0, 64.0, 256.0])
def test_long_context_makes_verification_nearly_free(batch: float) -> None:
    """The tokens of a sequence share one read of its cache."""
    cost = verify_cost(on(LLAMA_8B, "H100-SXM"), batch, 1e6)
    assert cost[:3].max() < 1.1
    assert cost[-1] < 1.3


@pytest.mark.parametrize(
    ("model", "device", "count"), [(LLAMA_8B, "H100-SXM", 1), (LLAMA_70B, "H100-SXM", 4)]
)
def test_memory_bound_dense_target_verifies_for_free_at_batch_one(
    model: str, device: str, count: int
) -> None:
    assert verify_cost(on(model, device, count=count), 1.0, 1000.0)[3] < 1.1


def test_experts_make_verification_dearer_at_medium_batch() -> None:
    """More tokens touch more experts until all are touched."""
    dense = verify_cost(on(LLAMA_70B, "H200-SXM", count=8), 16.0, 500.0)
    experts = verify_cost(on(DEEPSEEK, "H200-SXM", count=8, dtype="fp8"), 16.0, 500.0)
    assert np.all(experts > dense)


@pytest.mark.parametrize("device", ["M4-Max-40c", "RTX-3090"])
def test_quantised_kernels_charge_for_each_token(device: str) -> None:
    """llama.cpp's vector kernels and Apple GPUs: verifying is far from free at batch 1."""
    setup = on("Qwen/Qwen3.6-27B", device, dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP)
    assert verify_cost(setup, 1.0, 500.0)[3] > 1.3


def test_llama_cpp_leaves_its_vector_kernels_above_eight_tokens() -> None:
    """thc1006, Qwen3.8-27B Q4_K_M on RTX 3090: K = 8 is quicker than K = 7."""
    setup = on("Qwen/Qwen3.8-27B", "RTX-3090", dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP)
    cost = verify_cost(setup, 1.0, 500.0)
    assert cost[7] < cost[6]


@pytest.mark.parametrize("batch", [1.0, 32.0, 512.0])
def test_step_time_grows_with_tokens_batch_and_context(batch: float) -> None:
    model = learn(load_cost_prior(), on(LLAMA_8B, "A100-80GB-SXM"))
    tokens = np.arange(1, 17)

    def verify(batch: float, context: float) -> np.ndarray:
        return model.step(
            plan(Method.EAGLE3),
            batch=batch,
            draft_steps=tokens - 1,
            verify_tokens=tokens,
            context_tokens=context,
        ).verify_s

    here = verify(batch, 1000.0)
    assert np.all(np.diff(here) > 0.0)
    assert np.all(verify(2.0 * batch, 1000.0) > here)
    assert np.all(verify(batch, 2000.0) > here)


def test_parts_add_up_and_plain_decoding_costs_nothing_extra() -> None:
    times = learn(load_cost_prior(), on(LLAMA_8B, "H100-SXM")).step(
        plan(Method.EAGLE3),
        batch=8.0,
        draft_steps=np.arange(6),
        verify_tokens=np.arange(1, 7),
        context_tokens=1000.0,
    )
    step = times.draft_s + times.verify_s + times.overhead_s
    assert step[0] == pytest.approx(times.baseline_s[0], rel=1e-9)
    assert times.ratio_log_sd[0] == 0.0
    assert np.all(np.diff(times.draft_s) > 0.0)
    assert np.all(times.overhead_s[1:] > 0.0)
