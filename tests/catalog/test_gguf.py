"""Shapes from GGUF files that the gguf package itself wrote, whole and damaged."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuner.catalog import shape_from_gguf
from tuner.errors import ExitCode, InputError, MissingDataError
from tuner.records.model import Attention
from tuner.records.sources import Grade

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCAB = 64, 8, 2, 16, 96, 300
EXPERTS, USED, EXPERT_FFN = 8, 2, 32


def begin(path: Path, architecture: str, layers: int) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_token_list([f"token {place}" for place in range(VOCAB)])
    return writer


def add(writer: gguf.GGUFWriter, name: str, *shape: int) -> int:
    writer.add_tensor(name, np.zeros(shape, dtype=np.float16))
    return int(np.prod(shape))


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_dense(path: Path) -> int:
    writer = begin(path, "llama", layers=3)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    total = add(writer, "token_embd.weight", VOCAB, HIDDEN)
    total += add(writer, "output.weight", VOCAB, HIDDEN)
    for layer in range(3):
        total += add(writer, f"blk.{layer}.attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
        total += add(writer, f"blk.{layer}.ffn_up.weight", FFN, HIDDEN)
    finish(writer)
    return total


def write_experts(path: Path) -> tuple[int, int]:
    writer = begin(path, "qwen3moe", layers=2)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(USED)
    writer.add_expert_feed_forward_length(EXPERT_FFN)
    embedding = add(writer, "token_embd.weight", VOCAB, HIDDEN)
    head = add(writer, "output.weight", VOCAB, HIDDEN)
    routed = other = 0
    for layer in range(2):
        routed += add(writer, f"blk.{layer}.ffn_up_exps.weight", EXPERTS, EXPERT_FFN, HIDDEN)
        other += add(writer, f"blk.{layer}.attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
    finish(writer)
    return embedding + head + routed + other, head + other + routed * USED // EXPERTS


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "dense.gguf"
    write_dense(path)
    return path


def test_dense(tmp_path: Path) -> None:
    path = tmp_path / "dense.gguf"
    total = write_dense(path)
    shape = shape_from_gguf(path)
    assert shape.total_params == shape.active_params == total
    assert (shape.n_layers, shape.hidden_size, shape.intermediate_size) == (3, HIDDEN, FFN)
    assert (shape.n_heads, shape.n_kv_heads, shape.head_dim) == (HEADS, KV_HEADS, HEAD_DIM)
    assert shape.vocab_size == VOCAB
    assert shape.attention is Attention.GQA
    assert shape.native_dtype == "gguf:Q4_K_M"
    assert shape.model_id == str(path)
    assert shape.source is not None
    assert shape.source.grade is Grade.DERIVED


def test_experts(tmp_path: Path) -> None:
    path = tmp_path / "moe.gguf"
    total, active = write_experts(path)
    shape = shape_from_gguf(path)
    assert (shape.total_params, shape.active_params) == (total, active)
    assert (shape.n_experts, shape.experts_per_token) == (EXPERTS, USED)
    assert shape.moe_intermediate_size == EXPERT_FFN
    assert shape.native_dtype == "gguf:F16"


@pytest.mark.parametrize("block", ["9" * 5001, "²", "01"])
def test_names_of_no_layer_are_not_counted(tmp_path: Path, block: str) -> None:
    path = tmp_path / "odd.gguf"
    writer = begin(path, "qwen35", layers=2)
    writer.add_head_count_kv(KV_HEADS)
    add(writer, "blk.0.attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
    add(writer, "blk.1.ssm_out.weight", HIDDEN, HIDDEN)
    add(writer, f"blk.{block}.ssm_out.weight", HIDDEN, HIDDEN)
    finish(writer)
    shape = shape_from_gguf(path)
    assert (shape.n_full_attention_layers, shape.n_linear_layers) == (1, 1)


def test_hybrid_with_a_trained_mtp_layer(tmp_path: Path) -> None:
    path = tmp_path / "hybrid.gguf"
    writer = begin(path, "qwen35", layers=5)
    # per layer, and none in layers that scan
    writer.add_head_count_kv([0, 0, 0, KV_HEADS, KV_HEADS])
    writer.add_uint32("qwen35.nextn_predict_layers", 1)
    for layer in range(3):
        add(writer, f"blk.{layer}.ssm_out.weight", HIDDEN, HIDDEN)
    for layer in (3, 4):
        add(writer, f"blk.{layer}.attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
    finish(writer)
    shape = shape_from_gguf(path)
    assert (shape.n_layers, shape.mtp_layers) == (4, 1)
    assert (shape.n_full_attention_layers, shape.n_linear_layers) == (1, 3)
    assert shape.n_kv_heads == KV_HEADS


def test_latent_attention(tmp_path: Path) -> None:
    path = tmp_path / "mla.gguf"
    writer = begin(path, "deepseek2", layers=2)
    writer.add_head_count_kv(1)
    writer.add_kv_lora_rank(32)
    writer.add_rope_dimension_count(8)
    add(writer, "token_embd.weight", VOCAB, HIDDEN)
    finish(writer)
    shape = shape_from_gguf(path)
    assert shape.attention is Attention.MLA
    assert (shape.kv_lora_rank, shape.qk_rope_head_dim) == (32, 8)


def write_part(path: Path, number: int, count: int) -> int:
    writer = begin(path, "llama", layers=2) if number == 0 else gguf.GGUFWriter(path, "llama")
    writer.add_uint16("split.no", number)
    writer.add_uint16("split.count", count)
    total = add(writer, f"blk.{number}.ffn_up.weight", FFN, HIDDEN)
    finish(writer)
    return total


def test_a_split_model_is_counted_whole(tmp_path: Path) -> None:
    names = [tmp_path / f"big-{n:05d}-of-00002.gguf" for n in (1, 2)]
    total = sum(write_part(path, place, 2) for place, path in enumerate(names))
    assert shape_from_gguf(names[0]).total_params == total
    with pytest.raises(InputError, match="give the first"):
        shape_from_gguf(names[1])
    names[1].unlink()
    with pytest.raises(InputError, match="no such file"):
        shape_from_gguf(names[0])


def test_a_model_without_attention(tmp_path: Path) -> None:
    path = tmp_path / "mamba.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    writer.add_vocab_size(VOCAB)
    writer.add_block_count(2)
    writer.add_embedding_length(HIDDEN)
    finish(writer)
    with pytest.raises(InputError, match="head_count"):
        shape_from_gguf(path)


def test_a_long_vocabulary_is_counted_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_embedding_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_token_list(["x"] * 50_000)
    finish(writer)
    assert shape_from_gguf(path).vocab_size == 50_000


@pytest.mark.parametrize("size", range(0, 400, 7))
def test_a_cut_file_is_damaged(dense: Path, tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(dense.read_bytes()[:size])
    with pytest.raises(InputError, match="GGUF"):
        shape_from_gguf(path)


@settings(
    max_examples=250, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(changes=st.dictionaries(st.integers(0, 1_500), st.integers(0, 255), min_size=1, max_size=6))
def test_any_bytes_give_a_shape_or_a_sentence(
    dense: Path, tmp_path: Path, changes: dict[int, int]
) -> None:
    data = bytearray(dense.read_bytes())
    for place, value in changes.items():
        data[place] = value
    path = tmp_path / "noise.gguf"
    path.write_bytes(bytes(data))
    try:
        shape = shape_from_gguf(path)
    except InputError:
        return
    assert shape.n_layers > 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "too short"),
        (b"PK\x03\x04" + b"\0" * 60, "does not start"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "version 1"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "version"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**60, 1), "claims"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60), "claims"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 0), "general.architecture"),
        (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 2**60), "text of"),
        # an array of 2^40 strings
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 8, 2**40), "elements"),
        # an array of arrays
        (struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 9, 4), "array of type"),
        (struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 77), "unknown type"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_damaged_headers(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        shape_from_gguf(path)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.gguf", Path("/dev/zero")):
        with pytest.raises(InputError):
            shape_from_gguf(path)


def test_without_the_package_the_sentence_names_it(
    dense: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingDataError, match=r"specdec-tune\[gguf\]") as caught:
        shape_from_gguf(dense)
    assert caught.value.exit_code == ExitCode.MISSING_DATA
