"""Whether the advice makes sense where anybody in the field would know the answer."""

from __future__ import annotations

import pytest

from tuner.advise.recommend import recommend
from tuner.catalog import find_model
from tuner.errors import InfeasibleError
from tuner.profile import parse_profile, read_profile, shipped_profiles
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation, State
from tuner.records.methods import Method


def advice(text: str) -> Recommendation:
    return recommend(parse_profile(text, file="case.yaml", name="case"))


def best_of(found: Recommendation) -> Prediction:
    return next(item for item in found.configs if item.config.num_speculative_tokens)


@pytest.mark.parametrize(
    ("target", "confidence"),
    # the second has EAGLE-3 heads of its own, the first a small model of the family at best
    [("Llama-3.1-70B-Instruct", 0.8), ("Llama-3.3-70B-Instruct", 0.9)],
)
def test_a_dense_70b_alone_is_clearly_on(target: str, confidence: float) -> None:
    found = advice(
        f"target: meta-llama/{target}\nhardware: {{gpu: H100-SXM, count: 4}}\n"
        "workload: {task: chat, temperature: 0, batch: 1}\n"
    )
    assert found.decision.state is State.ON
    assert found.decision.confidence > confidence
    assert best_of(found).speedup.mean > 1.4


@pytest.mark.parametrize("name", shipped_profiles())
def test_shipped_profiles_are_answered_with_a_command(name: str) -> None:
    found = recommend(read_profile(name))
    assert found.commands
    assert found.assumptions
    for item in found.configs:
        if item.config.method is Method.MTP:
            target = read_profile(name).target
            assert target is not None
            assert target.model_id is not None
            assert find_model(target.model_id).mtp_layers > 0


def test_the_gain_shrinks_with_load_and_k_with_it() -> None:
    found = advice(
        "target: meta-llama/Llama-3.1-8B-Instruct\nhardware: {gpu: H100-SXM, count: 1}\n"
        "workload: {task: chat, temperature: 0, batch: 1, prompt_tokens: 200, output_tokens: 200}\n"
        "candidates: {methods: [eagle3]}\n"
    )
    rows = found.schedule.by_batch
    lengths = [row.num_speculative_tokens for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert rows[0].speedup > rows[-1].speedup


def test_a_drafter_as_large_as_its_target_never_pays() -> None:
    found = advice(
        "target: Qwen/Qwen3-8B\nhardware: {gpu: H100-SXM, count: 1}\n"
        "drafter: {path_or_id: Qwen/Qwen3-8B, method: draft_model}\n"
        "candidates: {methods: [draft_model]}\n"
        "workload: {task: chat, temperature: 0, batch: 8}\n"
    )
    own = [
        item
        for item in found.configs
        if item.config.drafter and item.config.drafter.path_or_id == "Qwen/Qwen3-8B"
    ]
    assert own
    assert all(item.speedup.mean < 1.1 for item in own)


def test_copying_without_a_head_is_for_lookups() -> None:
    found = recommend(read_profile("summarize-phi-4"))
    assert best_of(found).config.method in (Method.NGRAM, Method.SUFFIX)


def test_a_request_that_is_all_prefill_is_told_off() -> None:
    found = advice(
        "target: meta-llama/Llama-3.1-8B-Instruct\nhardware: {gpu: A100-80GB-SXM, count: 1}\n"
        "workload: {task: chat, batch: 8, prompt_tokens: 30000, output_tokens: 4}\n"
        "candidates: {methods: [dflash, eagle3, draft_model]}\n"
    )
    assert found.decision.state is State.OFF
    assert "prefill" in found.decision.reason


def test_what_does_not_fit_names_what_would() -> None:
    with pytest.raises(InfeasibleError, match=r"What would fit: .*devices"):
        advice(
            "target: deepseek-ai/DeepSeek-R1\nhardware: {gpu: H100-SXM, count: 1}\n"
            "workload: {batch: 1}\n"
        )


def test_more_requests_than_fit_queue_and_are_not_simulated_beyond_memory() -> None:
    found = advice(
        "target: meta-llama/Llama-3.3-70B-Instruct\nhardware: {gpu: H100-SXM, count: 4}\n"
        "workload: {concurrency: 5000, prompt_tokens: 1000, output_tokens: 400}\n"
    )
    for item in found.configs:
        assert item.max_batch is not None
        assert item.batch <= item.max_batch + 1e-9
    assert any(warning.code == "saturated" for warning in found.warnings)
    rates = [item.output_tok_s or 0.0 for item in found.configs]
    assert rates == sorted(rates, reverse=True)


def test_a_method_without_any_measurement_is_not_switched_on_unseen() -> None:
    found = advice(
        "target: meta-llama/Llama-3.1-8B-Instruct\nhardware: {gpu: H100-SXM, count: 1}\n"
        "workload: {task: summarization, temperature: 0, batch: 1}\n"
        "observed:\n"
        "  - {method: ngram, num_speculative_tokens: 4, batch: 1, acceptance_length: 2.5}\n"
        "candidates: {methods: [ngram]}\n"
    )
    assert best_of(found).acceptance_source == "posterior"
    assert found.decision.state is State.ON


def test_the_schedule_runs_what_the_headline_says() -> None:
    for name in ("chat-llama-3.3-70b", "chat-llama-3.1-8b-a100", "code-qwen3-coder-30b"):
        found = recommend(read_profile(name))
        best = best_of(found)
        row = next(row for row in found.schedule.by_batch if row.start <= best.batch <= row.end)
        assert row.num_speculative_tokens == best.config.num_speculative_tokens


@pytest.mark.parametrize(
    "measured",
    # Qwen3.8-27B Q4 with its MTP head, llama.cpp on one RTX 3090 (thc1006, sweeps of several
    # prompts): speedup at K = 1 … 5
    [
        (1.38, 1.44, 1.31, 1.22, 1.07),
        (1.41, 1.49, 1.37, 1.22, 1.07),
        (1.52, 1.73, 1.71, 1.67, 1.55),
        (1.58, 1.92, 1.99, 1.99, 1.91),
    ],
)
def test_one_measured_speed_finds_the_length(measured: tuple[float, ...]) -> None:
    found = advice(
        "target: Qwen/Qwen3.8-27B\nhardware: {gpu: RTX-3090, count: 1}\ndtype: gguf:Q4_K_M\n"
        "engine: {name: llamacpp}\ncandidates: {methods: [mtp]}\n"
        "workload: {task: chat, temperature: 0, batch: 1}\n"
        "observed: [{method: mtp, num_speculative_tokens: 3, batch: 1, "
        f"speedup: {measured[2]}}}]\n"
    )
    chosen = best_of(found).config.num_speculative_tokens
    assert measured[chosen - 1] >= 0.98 * max(measured)


def test_a_head_picked_among_several_is_named_as_one_of_them() -> None:
    text = (
        "target: meta-llama/Llama-3.3-70B-Instruct\nhardware: {gpu: H100-SXM, count: 4}\n"
        "workload: {task: chat, temperature: 0, batch: 1}\n"
    )
    several = [w for w in advice(text).warnings if w.code == "drafters-alike"]
    assert len(several) == 1
    # the user's own choice is not questioned
    chosen = "candidates: {drafters: [nebius/EAGLE3-Llama-3.3-70B-Instruct]}\n"
    assert not [w for w in advice(text + chosen).warnings if w.code == "drafters-alike"]


@pytest.mark.parametrize("name", shipped_profiles())
def test_a_flat_optimum_names_settings_that_are_as_fast(name: str) -> None:
    found = recommend(read_profile(name))
    best = max(item.speedup.mean for item in found.configs)
    said = (found.flatness or "").partition(" are within ")[0]
    named = [
        item
        for item in found.configs
        if item.config.method is best_of(found).config.method
        and item.config.tree
        and str(item.config.tree) in said
    ]
    assert all(item.speedup.mean >= 0.97 * best for item in named)
    if best_of(found).config.tree is not None and found.flatness:
        assert said.startswith("Trees ")


def test_drafters_that_only_other_engines_serve_do_not_hide_that_none_is_known() -> None:
    text = (
        "target: Qwen/Qwen2.5-72B-Instruct\nhardware: {gpu: H100-SXM, count: 4}\n"
        "engine: {name: ENGINE}\nworkload: {task: chat, temperature: 0, batch: 1}\n"
    )
    codes = {
        engine: {w.code for w in advice(text.replace("ENGINE", engine)).warnings}
        for engine in ("vllm", "sglang")
    }
    assert "no-drafter" in codes["vllm"]
    assert "no-drafter" not in codes["sglang"]
