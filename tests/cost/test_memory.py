"""What fits: published sizes, what a drafter costs, and what does not fit."""

from __future__ import annotations

import pytest

from tests.cost.setups import DEEPSEEK, LLAMA_8B, LLAMA_70B, PLAIN, on, plan
from tuner.cost.memory import memory_fit
from tuner.records.methods import Engine, Method
from tuner.units import GIBI, GIGA


def test_llama_70b_in_bfloat16_on_four_h100() -> None:
    fit = memory_fit(
        on(LLAMA_70B, "H100-SXM", count=4),
        plan(Method.EAGLE3),
        context_tokens=4096.0,
        batch=32.0,
        verify_tokens=6,
    )
    # 70.55 B parameters × 2 bytes over four cards
    assert fit.weights_bytes == pytest.approx(70.55e9 * 2.0 / 4.0, rel=0.01)
    # 80 layers × 2 × 8 heads × 128 × 2 bytes over four cards
    assert fit.kv_bytes_per_token == 327680 / 4
    assert fit.fits
    assert fit.max_batch < fit.max_batch_plain


def test_cache_of_one_long_sequence_of_llama_8b() -> None:
    """128 KiB a token: 128K tokens take 16 GiB (131072 × 131072 bytes)."""
    fit = memory_fit(
        on(LLAMA_8B, "H100-SXM"), PLAIN, context_tokens=131072.0, batch=1.0, verify_tokens=1
    )
    assert fit.kv_bytes_per_token * 131072 == 16 * GIBI
    assert fit.max_batch == 3  # 0.9 × 80 GB − 16 GB of weights leave room for three


@pytest.mark.parametrize(
    ("model", "device", "dtype"),
    [(LLAMA_70B, "H100-SXM", "bfloat16"), (DEEPSEEK, "H100-SXM", "fp8")],
)
def test_too_large_for_one_card(model: str, device: str, dtype: str) -> None:
    fit = memory_fit(
        on(model, device, dtype=dtype), PLAIN, context_tokens=100.0, batch=1.0, verify_tokens=1
    )
    assert fit.weights_bytes > 80 * GIGA * 0.9
    assert fit.max_batch == 0
    assert not fit.fits


def test_latent_cache_is_not_split_over_the_group() -> None:
    two = memory_fit(
        on(DEEPSEEK, "H200-SXM", count=8, dtype="fp8"),
        PLAIN,
        context_tokens=1000.0,
        batch=1.0,
        verify_tokens=1,
    )
    assert two.kv_bytes_per_token == 61 * 576 * 2


@pytest.mark.parametrize("method", [Method.EAGLE3, Method.MTP, Method.DFLASH, Method.DRAFT_MODEL])
def test_a_drafter_takes_memory_and_room(method: Method) -> None:
    setup = on("Qwen/Qwen3-32B", "H100-SXM", count=2)
    fit = memory_fit(setup, plan(method), context_tokens=2000.0, batch=8.0, verify_tokens=5)
    assert fit.drafter_bytes > 0.0
    assert fit.draft_kv_bytes_per_token > 0.0
    assert fit.max_batch < fit.max_batch_plain


def test_lookup_takes_only_logits() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    fit = memory_fit(setup, plan(Method.NGRAM), context_tokens=2000.0, batch=8.0, verify_tokens=5)
    assert fit.drafter_bytes == 0.0
    assert fit.draft_kv_bytes_per_token == 0.0
    assert fit.logits_bytes == pytest.approx(5 * 8 * 128256 * 4 * 2)


def test_quantised_27b_on_a_24_gb_card() -> None:
    """Qwen3.6-27B Q4_K_M runs on one RTX 3090 (community tables), in bfloat16 it cannot."""
    small = on("Qwen/Qwen3.6-27B", "RTX-3090", dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP)
    large = on("Qwen/Qwen3.6-27B", "RTX-3090", dtype="bfloat16", engine=Engine.LLAMACPP)
    asked = {"context_tokens": 8192.0, "batch": 1.0, "verify_tokens": 1}
    assert memory_fit(small, PLAIN, **asked).fits
    assert not memory_fit(large, PLAIN, **asked).fits
