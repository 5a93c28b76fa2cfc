"""Reading published measurements: names, lengths, temperatures, and what is not stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.evidence import method_of, read_measurements, tasks_of
from scripts.evidence_names import dtypes_of, engine_of, version_of
from scripts.evidence_rows import COLUMNS
from tuner.records.methods import Engine, Method, Task


def write(path: Path, *rows: dict[str, str]) -> Path:
    lines = [",".join(COLUMNS)]
    lines += [",".join(row.get(column, "") for column in COLUMNS) for row in rows]
    file = path / "rows.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def one(path: Path, **row: str):
    defaults = {"id": "x1", "source": "s", "method": "eagle3", "metric": "tau", "value": "2.5"}
    return read_measurements(write(path, {**defaults, **row}))[0]


def test_a_blank_temperature_or_batch_is_unknown_not_zero(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert row.temperature is None
    assert row.batch is None
    assert row.context_tokens is None
    assert row.gpu_id is None


def test_sglang_chain_takes_k_from_its_steps(tmp_path: Path) -> None:
    # SpecBundle row es00002: 3 steps, topk 1, 4 verified tokens
    row = one(tmp_path, num_steps="3", topk="1", num_draft_tokens="4")
    assert row.k == 3
    assert not row.is_tree


def test_sglang_tree_keeps_its_three_numbers(tmp_path: Path) -> None:
    row = one(tmp_path, num_steps="7", topk="4", num_draft_tokens="8")
    assert row.is_tree
    assert row.tree == (7, 4, 8)


def test_paper_tree_is_read_from_its_text(tmp_path: Path) -> None:
    row = one(tmp_path, draft_len_k="6", tree="dynamic tree total_tokens=60 depth=6 topk=10")
    assert row.tree == (6, 10, 60)


@pytest.mark.parametrize("text", ["chain", "block of 16, chain", "chain (assumed)", ""])
def test_chains_are_not_trees(tmp_path: Path, text: str) -> None:
    assert not one(tmp_path, tree=f'"{text}"').is_tree


def test_plain_rows_have_no_draft_tokens(tmp_path: Path) -> None:
    row = one(tmp_path, method="none", metric="baseline_output_tok_s", value="100")
    assert row.is_plain
    assert row.k == 0


def test_an_arrival_rate_is_not_a_batch(tmp_path: Path) -> None:
    row = one(tmp_path, batch="2", rate="2")
    assert row.batch is None
    assert row.rate == 2.0


def test_only_specbundle_has_a_gpu_without_naming_it(tmp_path: Path) -> None:
    assert one(tmp_path, source="SpecBundle dashboard").gpu_id == "H200-SXM"
    assert one(tmp_path, source="another").gpu_id is None


def test_an_unknown_target_keeps_the_sizes_of_its_row(tmp_path: Path) -> None:
    row = one(tmp_path, target_model="Nobody-Knows", target_params_b="30.5 (3.3 act)")
    assert row.target_id is None
    target = row.target_class()
    assert target is not None
    assert target.total_params == pytest.approx(30.5e9)
    assert target.active_params == pytest.approx(3.3e9)
    assert target.is_moe


def test_sizes_are_read_from_the_name_when_nothing_else_has_them(tmp_path: Path) -> None:
    row = one(tmp_path, target_model="Future-120B-A9B")
    assert (row.total_params, row.active_params) == (120e9, 9e9)


def test_no_size_at_all_is_none_not_a_guess(tmp_path: Path) -> None:
    row = one(tmp_path, target_model="Mystery")
    assert row.total_params is None
    assert row.target_class() is None


def test_a_llama_cpp_window_is_not_a_context(tmp_path: Path) -> None:
    assert one(tmp_path, engine="llama.cpp", context_len="131072").context_tokens is None
    filler = one(tmp_path, engine="llama.cpp", context_len="16255", task="filler prompt")
    assert filler.context_tokens == 16255


def test_context_from_the_lengths_in_the_task(tmp_path: Path) -> None:
    assert one(tmp_path, task="random 8K/1K").context_tokens == 8192 + 512
    assert one(tmp_path, task="ISL 65536 OSL 4096").context_tokens == 65536 + 2048


@pytest.mark.parametrize("value", ["", "n/a", "nan", "inf"])
def test_rows_without_a_number_are_left_out(tmp_path: Path, value: str) -> None:
    assert read_measurements(write(tmp_path, {"id": "x", "metric": "tau", "value": value})) == []


def test_missing_columns_read_as_not_stated(tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("id,method,metric,value\na,mtp,tau,2\n", encoding="utf-8")
    (row,) = read_measurements(file)
    assert row.method is Method.MTP
    assert row.source == ""


@pytest.mark.parametrize(
    ("text", "method", "is_static"),
    [
        ("eagle3", Method.EAGLE3, True),
        ("dflash2", Method.DFLASH, True),
        ("dspark-adaptive", Method.DSPARK, False),
        ("mtp-relaxed(lossy)", None, False),
        ("unnamed-eagle", None, False),
        ("PTD (parallel EAGLE)", Method.P_EAGLE, True),
        ("token-recycling", None, True),
    ],
)
def test_methods(text: str, method: Method | None, is_static: bool) -> None:
    assert method_of(text) == (method, is_static)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("mt-bench", (Task.CHAT,)),
        ("gsm8k", (Task.MATH,)),
        ("humaneval", (Task.CODE,)),
        ("cnn-dm", (Task.SUMMARIZATION,)),
        ("spec-bench:rag", (Task.RAG,)),
        ("natural-questions", (Task.QA,)),
        ("spec-bench:translation", (Task.TRANSLATION,)),
        ("tool_call", (Task.AGENT,)),
        ("probe.py prose", (Task.CREATIVE,)),
        ("random 1K/1K", ()),
        ("", ()),
    ],
)
def test_tasks(text: str, tasks: tuple[Task, ...]) -> None:
    assert tasks_of(text) == tasks


def test_an_average_over_data_sets_is_a_mix() -> None:
    assert set(tasks_of("mean of mt-bench/humaneval/gsm8k")) == {Task.CHAT, Task.CODE, Task.MATH}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UD-Q4_K_XL, q8_0 KV", ("gguf:Q4_K_M", "int8")),
        ("fp16, fp8 KV", ("float16", "fp8")),
        ("AWQ W4A16", ("awq", None)),
        ("mxfp4, fp8 KV", ("mxfp4", "fp8")),
        ("IQ2_KS", ("gguf:Q2_K", None)),
        ("", (None, None)),
    ],
)
def test_weight_and_cache_types(text: str, expected: tuple[str | None, str | None]) -> None:
    assert dtypes_of(text, "some-model") == expected


def test_a_type_in_the_models_name_counts() -> None:
    assert dtypes_of("", "GLM-4.7-FP8")[0] == "fp8"


@pytest.mark.parametrize(
    ("text", "engine", "version"),
    [
        ("sglang 0.4.4", Engine.SGLANG, "0.4.4"),
        ("vLLM (fork)", Engine.VLLM, None),
        ("ik_llama.cpp", Engine.LLAMACPP, None),
        ("TensorRT-LLM", Engine.TRTLLM, None),
        ("transformers", None, None),
    ],
)
def test_engines(text: str, engine: Engine | None, version: str | None) -> None:
    assert engine_of(text) is engine
    assert version_of(text, "") == version
