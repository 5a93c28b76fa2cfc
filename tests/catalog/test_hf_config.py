"""Shapes from config.json: published models, and files that are broken or strange."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.catalog import find_model, shape_from_config
from tuner.catalog.hf_config import shape_from_mapping
from tuner.catalog.json_file import MAX_BYTES
from tuner.errors import InputError
from tuner.records.model import Attention, ModelShape
from tuner.records.sources import Grade

_SPEC = importlib.util.spec_from_file_location("configs", Path(__file__).with_name("configs.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
configs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(configs)


def written(folder: Path, values: object) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def shape_of(values: dict[str, Any]) -> ModelShape:
    return shape_from_mapping(values, model_id="model", file="config.json")


@pytest.mark.parametrize(
    ("config", "total", "active"),
    [(config, total, active) for _, config, total, active in configs.COUNTED],
    ids=[name for name, *_ in configs.COUNTED],
)
def test_counts_meet_the_published_ones(
    tmp_path: Path, config: dict[str, Any], total: float, active: float
) -> None:
    shape = shape_from_config(written(tmp_path, config))
    assert shape.total_params / 1e9 == pytest.approx(total, rel=0.01)
    assert shape.active_params / 1e9 == pytest.approx(active, rel=0.09)
    assert shape.source is not None
    assert shape.source.grade is Grade.DERIVED


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (configs.LLAMA_31_8B, "meta-llama/Llama-3.1-8B-Instruct"),
        (configs.QWEN3_30B_A3B, "Qwen/Qwen3-30B-A3B"),
        (configs.DEEPSEEK_V3, "deepseek-ai/DeepSeek-V3"),
        (configs.GPT_OSS_120B, "openai/gpt-oss-120b"),
        (configs.QWEN35_35B_A3B, "Qwen/Qwen3.5-35B-A3B"),
        (configs.NEMOTRON_3_NANO, "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
        (configs.LLAMA_4_MAVERICK, "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
        (configs.GEMMA_2_9B, "google/gemma-2-9b-it"),
    ],
)
def test_a_config_gives_the_shape_of_the_catalog(config: dict[str, Any], known: str) -> None:
    read, listed = shape_of(config), find_model(known)
    for name in (
        "n_layers", "hidden_size", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "attention",
        "n_experts", "experts_per_token", "n_shared_experts", "moe_intermediate_size",
        "n_dense_layers", "mtp_layers", "native_dtype", "kv_lora_rank", "qk_rope_head_dim",
        "v_head_dim", "sliding_window", "n_full_attention_layers", "n_linear_layers",
    ):  # fmt: skip
        assert getattr(read, name) == getattr(listed, name), name
    assert read.total_params == pytest.approx(listed.total_params, rel=2e-3)


def test_mla_and_mtp() -> None:
    shape = shape_of(configs.DEEPSEEK_V3)
    assert shape.attention is Attention.MLA
    assert (shape.head_dim, shape.kv_lora_rank, shape.qk_rope_head_dim) == (192, 512, 64)
    assert shape.mtp_layers == 1
    assert shape.native_dtype == "fp8"


def test_hybrid_by_interval_and_by_list_agree() -> None:
    by_interval = shape_of(configs.QWEN3_NEXT_80B)
    listed = {
        **configs.QWEN3_NEXT_80B,
        "layer_types": [*["linear_attention"] * 3, "full_attention"] * 12,
    }
    listed.pop("full_attention_interval")
    assert shape_of(listed) == by_interval
    assert (by_interval.n_full_attention_layers, by_interval.n_linear_layers) == (12, 36)


@pytest.mark.parametrize(
    ("extra", "window", "full"),
    [
        ({"sliding_window": 4096}, 4096, 0),
        ({"sliding_window": 4096, "use_sliding_window": False}, None, None),
        ({"sliding_window": 4096, "sliding_window_pattern": 8}, 4096, 4),
        ({"sliding_window": 131072}, None, None),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 28}, 4096, 28),
        ({"sliding_window": None}, None, None),
    ],
)
def test_sliding_windows(extra: dict[str, Any], window: int | None, full: int | None) -> None:
    shape = shape_of({**configs.LLAMA_31_8B, **extra})
    assert (shape.sliding_window, shape.n_full_attention_layers) == (window, full)


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}}}, "int4"),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}, "fp8"),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}}}}, "int8"),
        ({"quant_method": "compressed-tensors", "config_groups": {
            "group_0": {"format": "mxfp4-pack-quantized", "weights": {"num_bits": 4}}}}, "mxfp4"),
        ({"quant_method": "something-new"}, "bfloat16"),
    ],
)  # fmt: skip
def test_number_formats(quantization: dict[str, Any], dtype: str) -> None:
    assert (
        shape_of({**configs.LLAMA_31_8B, "quantization_config": quantization}).native_dtype == dtype
    )


def test_modelopt_keeps_its_format_beside_the_config(tmp_path: Path) -> None:
    written(tmp_path, configs.LLAMA_31_8B)
    beside = tmp_path / "hf_quant_config.json"
    beside.write_text(json.dumps({"quantization": {"quant_algo": "NVFP4"}}), encoding="utf-8")
    assert shape_from_config(tmp_path).native_dtype == "nvfp4"


def test_a_folder_stands_for_the_file_and_is_the_name(tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    folder.mkdir()
    written(folder, configs.LLAMA_31_8B)
    assert shape_from_config(folder).model_id == str(folder)
    # a fine-tune names its parent there: the parent's weights and heads are not its own
    named = {**configs.LLAMA_31_8B, "_name_or_path": "org/parent"}
    assert shape_from_config(written(folder, named)).model_id == str(folder)


def test_the_present_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, configs.LLAMA_31_8B)
    monkeypatch.chdir(tmp_path)
    assert shape_from_config(".").model_id == str(tmp_path.resolve())
    assert shape_from_config("config.json").model_id == str(tmp_path.resolve())


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"hidden_size": "4096"}, "whole number"),
    ({"hidden_size": -1}, "from 1"),
    ({"hidden_size": 0}, "from 1"),
    ({"hidden_size": 1e30}, "from 1"),
    ({"hidden_size": 4096.5}, "whole number"),
    ({"hidden_size": True}, "whole number"),
    ({"hidden_size": float("nan")}, "whole number"),
    ({"hidden_size": [4096]}, "whole number"),
    ({"hidden_size": None}, "no hidden_size"),
    ({"num_hidden_layers": 10**9}, "from 1 to"),
    ({"num_attention_heads": {}}, "whole number"),
    ({"vocab_size": -5}, "from 1"),
    ({"layer_types": ["quantum"] * 32}, "layer"),
    ({"layer_types": 7}, "a list"),
    ({"num_experts": 8}, "num_experts_per_tok"),
    ({"num_experts": 8, "num_experts_per_tok": 9}, "from 1 to 8"),
    ({"tie_word_embeddings": "yes"}, "true or false"),
    ({"quantization_config": "fp8"}, "a mapping"),
    ({"text_config": 3}, "a mapping"),
    ({"is_encoder_decoder": True}, "decoder-only"),
    ({"model_type": 5}, "text"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN, ids=[repr(c)[:50] for c, _ in BROKEN])
def test_wrong_values_are_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = written(tmp_path, {**configs.LLAMA_31_8B, **change})
    with pytest.raises(InputError) as caught:
        shape_from_config(path)
    assert words in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.file == str(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1, 2]", "object"),
        (b"null", "object"),
        (b"{}", "no num_hidden_layers"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"{" + b'"a":{' * 5_000, "nested"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
        (b" " * (MAX_BYTES + 1), "too large"),
        (b'{"hidden_size": ' + b"9" * 10_000 + b"}", "not JSON that can be read: a number"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_files_that_are_no_configuration(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        shape_from_config(path)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.json", Path("/dev/null"), "a\0b"):
        with pytest.raises(InputError):
            shape_from_config(path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="regular"):
        shape_from_config(pipe)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10**12),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(-2, 300), max_size=4),
    st.dictionaries(st.text(max_size=4), st.none(), max_size=2),
)
KEYS = sorted(
    {key for _, config, *_ in configs.COUNTED for key in config}
    | {"block_configs", "use_sliding_window"}
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    base=st.sampled_from([config for _, config, *_ in configs.COUNTED]),
    change=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
)
def test_any_values_give_a_shape_or_a_sentence(
    base: dict[str, Any], change: dict[str, Any]
) -> None:
    try:
        shape = shape_of({**base, **change})
    except InputError:
        return
    assert shape.total_params >= shape.active_params > 0
    assert shape.n_layers > 0
    assert shape.n_dense_layers >= 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    layers=st.integers(1, 100), hidden=st.integers(1, 64), experts=st.integers(2, 64),
    chosen=st.integers(1, 8),
)  # fmt: skip
def test_more_experts_chosen_means_more_active(
    layers: int, hidden: int, experts: int, chosen: int
) -> None:
    config = {
        **configs.QWEN3_30B_A3B, "num_hidden_layers": layers, "hidden_size": 128 * hidden,
        "num_experts": experts, "num_experts_per_tok": min(chosen, experts),
    }  # fmt: skip
    shape = shape_of(config)
    everything = shape_of({**config, "num_experts_per_tok": experts})
    assert shape.active_params <= everything.active_params
    assert shape.total_params == everything.total_params
