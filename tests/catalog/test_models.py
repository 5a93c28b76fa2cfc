"""Shapes of known targets: found by name, and consistent with what others counted."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tuner.catalog import find_model, load_models, model_ids
from tuner.errors import ExitCode, MissingDataError
from tuner.records.model import Attention, ModelShape
from tuner.records.sources import Grade

MODELS_CSV = Path(__file__).parents[2] / "data" / "models.csv"

#: parameters as counted in the published weights (Hugging Face model pages); gpt-oss from the
#: model card (116.83 B and 20.91 B), DeepSeek-V3 from the technical report (671 B)
COUNTED = {
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "meta-llama/Llama-3.3-70B-Instruct": 70_553_706_496,
    "meta-llama/Llama-3.2-1B-Instruct": 1_235_814_400,
    "Qwen/Qwen3-0.6B": 596_049_920,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "Qwen/Qwen3-30B-A3B": 30_532_122_624,
    "Qwen/Qwen3-235B-A22B": 235_093_634_560,
    "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "mistralai/Mistral-7B-Instruct-v0.3": 7_248_023_552,
    "google/gemma-2-9b-it": 9_241_705_984,
    "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": 1_100_048_384,
    "openai/gpt-oss-120b": 116.83e9,
    "openai/gpt-oss-20b": 20.91e9,
    "deepseek-ai/DeepSeek-V3": 671e9,
}

#: active parameters as their makers state them, billions
STATED_ACTIVE = {
    "openai/gpt-oss-120b": 5.13,
    "openai/gpt-oss-20b": 3.61,
    "mistralai/Mixtral-8x7B-v0.1": 12.9,
    "moonshotai/Kimi-K2-Instruct": 32.0,
    "deepseek-ai/DeepSeek-V3": 37.0,
    "zai-org/GLM-4.5-Air": 12.0,
    "Qwen/Qwen3-235B-A22B": 22.0,
}


def rows() -> list[dict[str, str]]:
    with MODELS_CSV.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.mark.parametrize(("name", "params"), COUNTED.items())
def test_total_parameters_are_those_of_the_published_weights(name: str, params: float) -> None:
    assert find_model(name).total_params == pytest.approx(params, rel=2e-3)


@pytest.mark.parametrize(("name", "billions"), STATED_ACTIVE.items())
def test_active_parameters_are_near_what_the_makers_state(name: str, billions: float) -> None:
    assert find_model(name).active_params == pytest.approx(billions * 1e9, rel=0.08)


def kv_bytes_per_token(shape: ModelShape) -> int:
    """Return bytes of bfloat16 cache for a token, every layer counted in full."""
    if shape.attention in (Attention.MLA, Attention.SPARSE):
        assert shape.kv_lora_rank is not None
        values = shape.kv_lora_rank + (shape.qk_rope_head_dim or 0)
    else:
        values = 2 * shape.n_kv_heads * shape.head_dim
    return 2 * values * shape.n_layers


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        (row["model_id"], int(row["kv_bytes_per_token_bf16_computed"]))
        for row in rows()
        if row["kv_bytes_per_token_bf16_computed"]
    ],
)
def test_cache_bytes_follow_from_the_shape(name: str, stated: int) -> None:
    assert kv_bytes_per_token(find_model(name)) == stated


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["model_id"])
def test_every_model_of_the_raw_table_is_known_or_has_sizes_only(row: dict[str, str]) -> None:
    if (row["n_layers"] and row["hidden"]) or row["model_id"] in model_ids():
        shape = find_model(row["model_id"])
        assert shape.model_id == row["model_id"]
        if row["total_params_b"]:
            stated = float(row["total_params_b"]) * 1e9
            # labels round ("7B" is 6.5 to 7.6); GLM-4.5 states its MTP layer, Gemma-2 2B is 2.6
            assert shape.total_params == pytest.approx(stated, rel=0.32)


@pytest.mark.parametrize("name", model_ids())
def test_shapes_are_possible(name: str) -> None:
    shape = find_model(name)
    assert 1e8 < shape.total_params < 5e12
    assert 0 < shape.active_params <= shape.total_params
    assert 8 <= shape.n_layers <= 200
    assert 256 <= shape.hidden_size <= 32_768
    assert 1 <= shape.n_kv_heads <= shape.n_heads <= 256
    assert 32 <= shape.head_dim <= 512
    assert 16_000 <= shape.vocab_size <= 400_000
    assert 0 <= shape.mtp_layers <= 8
    assert 0 <= shape.n_linear_layers < shape.n_layers
    assert 0 <= shape.n_dense_layers < shape.n_layers
    full = shape.n_full_attention_layers
    assert full is None or 0 < full <= shape.n_layers - shape.n_linear_layers
    if shape.is_moe:
        assert 0 < shape.experts_per_token < shape.n_experts
        assert shape.moe_intermediate_size
        assert shape.active_params < 0.6 * shape.total_params
    else:
        assert shape.active_params == shape.total_params
        assert shape.experts_per_token == 0
    assert shape.year is None or 2023 <= shape.year <= 2026


@pytest.mark.parametrize("name", model_ids())
def test_shapes_name_their_origin(name: str) -> None:
    source = find_model(name).source
    assert source is not None
    assert len(source.reference) > 8
    assert source.date == "2026-11"
    assert source.grade in Grade


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("META-LLAMA/llama-3.3-70b-instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-R1"),
        ("Qwen3.8-27B", "Qwen/Qwen3.8-27B"),
    ],
)
def test_names_in_other_forms(asked: str, found: str) -> None:
    assert find_model(asked).model_id == found


@pytest.mark.parametrize(
    ("copy", "base", "dtype"),
    [
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "Llama-3.3-70B-Instruct", "fp8"),
        ("nvidia/DeepSeek-R1-NVFP4", "deepseek-ai/DeepSeek-R1", "nvfp4"),
        ("Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B", "awq"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-7B-Instruct", "gptq"),
        ("RedHatAI/Qwen3-8B-quantized.w4a16", "Qwen/Qwen3-8B", "gptq"),
        ("zai-org/GLM-4.7-FP8", "zai-org/GLM-4.7", "fp8"),
        ("unsloth/Llama-3.3-70B-Instruct", "Llama-3.3-70B-Instruct", "bfloat16"),
        ("unsloth/Qwen3.8-27B-MTP-GGUF", "Qwen/Qwen3.8-27B", "gguf:Q4_K_M"),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
         "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nvfp4"),
    ],
)  # fmt: skip
def test_copies_keep_their_name_and_take_their_format(copy: str, base: str, dtype: str) -> None:
    shape = find_model(copy)
    assert shape.model_id == copy
    assert shape.native_dtype == dtype
    assert shape.total_params == find_model(base).total_params


def test_an_unknown_name_says_what_is_near_and_what_to_do() -> None:
    with pytest.raises(MissingDataError) as caught:
        find_model("meta-llama/Llama-3.3-80B-Instruct")
    assert caught.value.exit_code == ExitCode.MISSING_DATA
    for part in ("Llama-3.3-70B-Instruct", "config:", "gguf:", "params_b"):
        assert part in caught.value.message


@pytest.mark.parametrize("name", ["", "/", "meta-llama/", "Instruct", "x" * 5_000, "\x00"])
def test_names_that_mean_nothing_are_unknown(name: str) -> None:
    with pytest.raises(MissingDataError):
        find_model(name)


@pytest.mark.parametrize(
    ("name", "full", "linear"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 12, 36),
        ("Qwen/Qwen3.5-27B", 16, 48),
        ("Qwen/Qwen3.6-35B-A3B", 10, 30),
        ("Qwen/Qwen3.8-27B", 16, 48),
        ("moonshotai/Kimi-K3", 24, 69),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 6, 23),
    ],
)
def test_hybrids_scan_in_most_layers(name: str, full: int, linear: int) -> None:
    shape = find_model(name)
    assert (shape.n_full_attention_layers, shape.n_linear_layers) == (full, linear)
    assert shape.is_hybrid


def test_sliding_windows_are_not_hybrids() -> None:
    for name in ("openai/gpt-oss-120b", "google/gemma-3-27b-it", "google/gemma-4-31B-it"):
        shape = find_model(name)
        assert not shape.is_hybrid
        assert shape.sliding_window
        assert shape.n_full_attention_layers


@pytest.mark.parametrize(
    ("name", "billions", "mtp"),
    [
        ("Qwen/Qwen3.8-2.4T-A95B", 2400, 1),
        ("thinkingmachines/Inkling", 975, 8),
        ("XiaomiMiMo/MiMo-V2.5-Pro", 1000, 3),
    ],
)
def test_published_sizes_give_an_assumed_shape(name: str, billions: float, mtp: int) -> None:
    shape = find_model(name)
    assert name not in model_ids()
    assert shape.model_id == name
    assert shape.total_params == billions * 1e9
    assert shape.mtp_layers == mtp
    assert shape.source is not None
    assert shape.source.grade is Grade.ASSUMED
    assert "sizes" in shape.source.reference


def test_a_target_with_drafters_and_no_shape_says_so() -> None:
    with pytest.raises(MissingDataError, match="Drafters for it are known"):
        find_model("google/gemma-4-12B-it")


def test_a_very_long_name_is_cut_in_the_message() -> None:
    with pytest.raises(MissingDataError) as caught:
        find_model("x" * 5_000)
    assert len(caught.value.message) < 600


def test_all_at_once_equals_one_by_one() -> None:
    everything = load_models()
    assert tuple(everything) == model_ids()
    assert everything["openai/gpt-oss-20b"] == find_model("openai/gpt-oss-20b")
