"""Sizes of models and formats against published figures."""

from __future__ import annotations

import pytest

from tests.cost.setups import DEEPSEEK, LLAMA_8B, LLAMA_70B
from tuner.catalog import find_model
from tuner.cost.dtypes import kv_bytes_per_value, weight_format
from tuner.cost.memory import weights_bytes
from tuner.cost.parts import model_parts
from tuner.errors import InputError
from tuner.units import GIGA

#: parameters outside embeddings that one token uses, computed from the published configs
#: (data/models.csv, active_nonembed_params_b_computed)
ACTIVE = {
    LLAMA_8B: 6.979,
    LLAMA_70B: 68.451,
    "Qwen/Qwen3-32B": 31.206,
    "Qwen/Qwen3-30B-A3B": 2.730,
    "Qwen/Qwen3-235B-A22B": 20.945,
    DEEPSEEK: 35.698,
    "moonshotai/Kimi-K2-Instruct": 30.512,
    "openai/gpt-oss-120b": 4.552,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": 12.618,
}
#: bytes of a cached token in bfloat16 (same table, kv_bytes_per_token_bf16_computed)
CACHE = {LLAMA_8B: 131072, LLAMA_70B: 327680, DEEPSEEK: 70272, "Qwen/Qwen3-30B-A3B": 98304}
#: sizes of published files, decimal GB: Hugging Face, bartowski/Meta-Llama-3.1-8B-Instruct-GGUF
FILES = {"gguf:F16": 16.07, "gguf:Q8_0": 8.54, "gguf:Q6_K": 6.60, "gguf:Q4_K_M": 4.92}


@pytest.mark.parametrize(("model", "billions"), ACTIVE.items())
def test_active_parameters_outside_embeddings(model: str, billions: float) -> None:
    assert model_parts(find_model(model)).active_params / GIGA == pytest.approx(billions, rel=0.03)


@pytest.mark.parametrize(("model", "expected"), CACHE.items())
def test_cache_of_a_token(model: str, expected: int) -> None:
    parts = model_parts(find_model(model))
    layers = parts.n_full_layers + parts.n_window_layers
    assert layers * parts.kv_values_per_layer * kv_bytes_per_value("bfloat16") == expected


@pytest.mark.parametrize(("dtype", "gigabytes"), FILES.items())
def test_file_sizes(dtype: str, gigabytes: float) -> None:
    size = weights_bytes(find_model(LLAMA_8B), dtype) / GIGA
    assert size == pytest.approx(gigabytes, rel=0.06)


def test_experts_are_all_but_a_sliver_of_deepseek() -> None:
    parts = model_parts(find_model(DEEPSEEK))
    # 58 layers × 256 experts × three matrices of 7168 × 2048
    assert parts.expert_params == pytest.approx(58 * 256 * 3 * 7168 * 2048)
    assert parts.expert_share == 8 / 256


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("bfloat16", 2.0),
        ("float32", 4.0),
        ("fp8", 1.0),
        ("bfloat16+fp8", 1.0),
        ("mxfp4", 0.53125),
        ("nvfp4", 0.5625),
        ("awq", 0.51953125),
        ("gguf:Q8_0", 1.0625),
        ("gguf:q6_k", 0.8203125),
        ("gguf:UD-Q4_K_XL", 0.60625),
    ],
)
def test_bytes_of_a_weight(dtype: str, size: float) -> None:
    assert weight_format(dtype).bytes_per_weight == size


@pytest.mark.parametrize("dtype", ["bf17", "gguf:", "gguf:Q9_K", ""])
def test_unknown_formats_are_named(dtype: str) -> None:
    with pytest.raises(InputError, match="not known"):
        weight_format(dtype)
