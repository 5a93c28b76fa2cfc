"""Published drafters of targets, and what is left out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tuner.catalog import drafters_for, find_model, model_ids
from tuner.catalog.drafters import LARGEST_DRAFT_SHARE, published_drafters
from tuner.catalog.listing import drafter_rows
from tuner.catalog.methods import all_methods, method_info
from tuner.catalog.tables import read_document
from tuner.records.methods import DRAFT_KIND, DraftKind, Method
from tuner.records.sources import Grade

DATA = Path(__file__).parents[2] / "data"
ENGINES = {"vllm", "sglang", "trtllm", "llamacpp"}


def table() -> list[dict[str, object]]:
    document = read_document("drafters")
    return [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]


def test_no_published_drafter_is_lost() -> None:
    with (DATA / "drafters.csv").open(encoding="utf-8", newline="") as handle:
        raw = list(csv.DictReader(handle))
    assert len(raw) >= 278
    assert len(table()) >= len(raw)


def test_every_row_has_a_method_or_a_reason() -> None:
    for row in table():
        if row["not_offered"] is None:
            assert row["method"] in set(Method)
            assert row["engines"], row["path_or_id"]
            assert set(row["engines"]) <= ENGINES
        assert row["source"]
        assert row["grade"] in ("reported", "assumed")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("mlp_speculator", "removed"),
        ("dfly", "fork"),
        ("jetspec", "Edge"),
        ("eagle4", "forks"),
    ],
)
def test_methods_that_no_release_serves_are_not_offered(method: str, words: str) -> None:
    rows = [row for row in table() if row["method"] == method]
    assert rows
    for row in rows:
        assert words in str(row["not_offered"])


def test_sizes_and_depths_are_possible() -> None:
    for row in table():
        assert row["params"] is None or 1e8 <= float(row["params"]) <= 1.2e11
        assert row["trained_depth"] is None or 1 <= int(row["trained_depth"]) <= 16
        assert row["max_context"] is None or 1_024 <= int(row["max_context"]) <= 1_000_000
        length = row["acceptance_length"]
        assert length is None or 1.0 <= float(length) <= 8.0
        assert row["k"] is None or 1 <= int(row["k"]) <= 16


def test_llama_33_70b_has_its_heads_and_small_models() -> None:
    found = {drafter.path_or_id: drafter for drafter in drafters_for("Llama-3.3-70B-Instruct")}
    head = found["yuhuili/EAGLE3-LLaMA3.3-Instruct-70B"]
    assert head.method is Method.EAGLE3
    assert "vllm" in head.engines
    small = found["meta-llama/Llama-3.2-1B-Instruct"]
    assert small.method is Method.DRAFT_MODEL
    assert small.shape is not None
    assert small.source is not None
    assert small.source.grade is Grade.ASSUMED
    assert small.params == find_model("meta-llama/Llama-3.2-1B-Instruct").total_params


def test_mtp_is_built_in_and_has_no_size_of_its_own() -> None:
    (mtp,) = drafters_for("deepseek-ai/DeepSeek-R1")
    assert mtp.method is Method.MTP
    assert mtp.path_or_id is None
    assert mtp.params is None
    assert mtp.trained_depth == 1


@pytest.mark.parametrize("name", model_ids())
def test_mtp_is_listed_where_the_checkpoint_has_it_and_only_there(name: str) -> None:
    shape = find_model(name)
    built_in = [
        drafter
        for drafter in drafters_for(name)
        if drafter.method is Method.MTP and drafter.path_or_id is None
    ]
    assert len(built_in) == (1 if shape.mtp_layers else 0)


def test_advertised_mtp_that_nothing_runs_is_not_offered() -> None:
    assert find_model("MiniMaxAI/MiniMax-M2.5").mtp_layers == 0
    assert all(d.method is not Method.MTP for d in drafters_for("MiniMaxAI/MiniMax-M2.5"))


def test_quantised_copies_share_drafters_both_ways() -> None:
    base = {d.path_or_id for d in drafters_for("Qwen/Qwen3-Next-80B-A3B-Instruct")}
    copy = {d.path_or_id for d in drafters_for("Qwen/Qwen3-Next-80B-A3B-Instruct-FP8")}
    assert base == copy
    assert any(name and name.startswith("lmsys/") for name in base)


def test_a_fork_only_head_is_published_and_not_offered() -> None:
    target = "Qwen/Qwen3.8-27B"
    reasons = {row["method"]: row["not_offered"] for row in published_drafters(target)}
    assert "forks" in reasons["eagle4"]
    assert all(drafter.path_or_id != "EAGLE-corp/EAGLE4-Qwen3.8-27B"
               for drafter in drafters_for(target))  # fmt: skip


def test_one_token_head_is_kept_to_one_token() -> None:
    found = {d.path_or_id: d for d in drafters_for("openai/gpt-oss-120b")}
    assert found["nvidia/gpt-oss-120b-Eagle3-throughput"].trained_depth == 1
    assert found["z-lab/gpt-oss-120b-DFlash"].trained_depth == 15


@pytest.mark.parametrize(
    ("target", "drafter", "context"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "lmsys/sglang-EAGLE3-LLaMA3.3-Instruct-70B", 2048),
        ("meta-llama/Llama-3.1-8B-Instruct", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", 2048),
        ("Qwen/Qwen3.5-27B", "z-lab/Qwen3.5-27B-DFlash", 4096),
        ("moonshotai/Kimi-K2.5", "nvidia/Kimi-K2.5-Thinking-Eagle3", 4096),
        ("mistralai/Mistral-Small-4-119B-2603", "mistralai/Mistral-Small-4-119B-2603-eagle", 65536),
    ],
)
def test_heads_know_the_context_they_were_trained_on(
    target: str, drafter: str, context: int
) -> None:
    found = {d.path_or_id: d for d in drafters_for(target)}
    assert found[drafter].max_context == context


def test_nothing_known_is_an_empty_answer() -> None:
    assert drafters_for("microsoft/phi-4") == ()
    assert drafters_for("somebody/unheard-of") == ()


@pytest.mark.parametrize("name", model_ids())
def test_small_models_have_the_tokenizer_size_and_are_small(name: str) -> None:
    target = find_model(name)
    listed = {row["path_or_id"] for row in published_drafters(name)}
    for drafter in drafters_for(name):
        if drafter.method is not Method.DRAFT_MODEL or drafter.path_or_id in listed:
            continue
        assert drafter.shape is not None
        assert drafter.shape.active_params <= LARGEST_DRAFT_SHARE * target.active_params
        # Qwen2.5 pads 151,936 to 152,064; the note says so
        assert drafter.shape.vocab_size == pytest.approx(target.vocab_size, rel=1e-3)


def test_a_foreign_tokenizer_is_listed_and_not_offered() -> None:
    """vLLM's use_heterogeneous_vocab takes greedy drafts alone; no command here writes it."""
    name = "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert name not in [drafter.path_or_id for drafter in drafters_for("Qwen/Qwen3-8B")]
    (row,) = (row for row in published_drafters("Qwen/Qwen3-8B") if row["path_or_id"] == name)
    assert "tokenizer is not the target's" in row["not_offered"]


def test_vocabularies_of_two_sizes_are_not_for_vllm() -> None:
    """vllm/config/speculative.py, verify_equal_vocab_size_if_draft_model; llama.cpp allows 128."""
    for target, sizes_agree in (("Qwen/Qwen2.5-32B-Instruct", False), ("Qwen/Qwen3-32B", True)):
        drafts = [d for d in drafters_for(target) if d.method is Method.DRAFT_MODEL]
        assert drafts
        for drafter in drafts:
            assert ("vllm" in drafter.engines) is sizes_agree
            assert "llamacpp" in drafter.engines
        listed = [row for row in drafter_rows(target) if row["method"] == "draft_model"]
        assert all(("vllm" in row["engines"]) is sizes_agree for row in listed)


def test_every_method_is_described() -> None:
    infos = all_methods()
    assert [info.method for info in infos] == list(Method)
    for info in infos:
        assert info is method_info(info.method)
        assert info.kind is DRAFT_KIND[info.method]
        assert info.needs
        assert info.limits
        if info.kind is not DraftKind.NONE:
            assert info.papers, info.method
        for paper in info.papers:
            assert paper.title
            assert paper.reference


def test_only_medusa_is_lossy_as_published() -> None:
    lossy = [info.method for info in all_methods() if info.lossy_as_published]
    assert lossy == [Method.MEDUSA]
