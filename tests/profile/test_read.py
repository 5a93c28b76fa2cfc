"""Reading of valid profiles: every field of the contract's example, defaults, names, overlays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from tuner.errors import InputError
from tuner.profile import parse_profile, read_profile, shipped_profiles
from tuner.profile.table import defaults
from tuner.records.acceptance import AcceptanceCounts
from tuner.records.methods import Engine, Method, Objective, Task
from tuner.records.workload import Profile, SamplingSpec

EXAMPLE = """\
name: chat-llama-3.3-70b
target: meta-llama/Llama-3.3-70B-Instruct
hardware: {gpu: H100-SXM, count: 4}
parallel: {tensor: 2, pipeline: 2, data: 1, expert: 1}
dtype: bfloat16
kv_dtype: fp8
engine: {name: vllm, version: "0.33.0"}
drafter: {path_or_id: my/head, method: eagle3, params_b: 0.4, tensor_parallel: 1, max_context: 2048}
workload:
  task: {chat: 0.7, code: 0.3}
  temperature: {0.0: 0.4, 1.0: 0.6}
  top_p: 0.95
  batch: {1: 0.5, 32: 0.5}
  concurrency: null
  prompt_tokens: 1500
  output_tokens: 300
  prefix_cache_hit: 0.25
  sampling: {min_p: 0.05, penalties: true, structured_output: false, lora: false}
objective: throughput
latency_target: {tpot_ms: 20}
gpu_hour_usd: 2.5
candidates:
  methods: [eagle3, mtp, ngram, draft_model]
  num_speculative_tokens: [1, 3, 5]
  drafters: [yuhuili/EAGLE3-LLaMA3.3-Instruct-70B]
overrides: {acceptance_rate: {eagle3: 0.8}, draft_cost_ratio: 0.05}
observed:
  - {method: none, batch: 8, output_tok_s: 1071.3}
  - {method: eagle3, num_speculative_tokens: 3, batch: 8, temperature: 0, task: math,
     acceptance_length: 2.64, output_tok_s: 1488.4, source: "bench of 3 May", date: 2026-05-03}
  - {method: eagle3, tree: 5/4/8, engine: sglang, acceptance_per_position: [0.7, 0.5, 0.2]}
  - {method: mtp, num_speculative_tokens: 3,
     counts: {num_drafts: 129, num_draft_tokens: 387, num_accepted_tokens: 150,
              accepted_per_position: [70, 46, 34]}}
"""


def parse(text: str, *sets: str) -> Profile:
    return parse_profile(text, file="p.yaml", name="p", sets=sets)


@pytest.fixture(scope="module")
def example() -> Profile:
    return parse(EXAMPLE)


def test_every_field_of_the_example_arrives(example: Profile) -> None:
    assert example.name == "chat-llama-3.3-70b"
    assert example.target is not None
    assert example.target.model_id == "meta-llama/Llama-3.3-70B-Instruct"
    assert example.hardware is not None
    assert (example.hardware.gpu, example.hardware.count) == ("H100-SXM", 4)
    assert (example.parallel.tensor, example.parallel.pipeline) == (2, 2)
    assert (example.dtype, example.kv_dtype) == ("bfloat16", "fp8")
    assert (example.engine.name, example.engine.version) == (Engine.VLLM, "0.33.0")
    assert example.drafter is not None
    assert example.drafter.method is Method.EAGLE3
    assert example.drafter.max_context == 2048
    assert example.objective is Objective.THROUGHPUT
    assert example.latency_target.tpot_ms == 20.0
    assert example.gpu_hour_usd == 2.5


def test_workload_mixes_keep_their_shares(example: Profile) -> None:
    load = example.workload
    assert load.task == ((Task.CHAT, 0.7), (Task.CODE, 0.3))
    assert load.temperature == ((0.0, 0.4), (1.0, 0.6))
    assert load.batch == ((1.0, 0.5), (32.0, 0.5))
    assert load.concurrency is None
    assert load.sampling == SamplingSpec(min_p=0.05, penalties=True)
    assert load.min_p == 0.05


def test_candidates_and_overrides(example: Profile) -> None:
    assert example.candidates.methods == (
        Method.EAGLE3,
        Method.MTP,
        Method.NGRAM,
        Method.DRAFT_MODEL,
    )
    assert example.candidates.num_speculative_tokens == (1, 3, 5)
    assert example.overrides.acceptance_rate == ((Method.EAGLE3, 0.8),)
    assert example.overrides.draft_cost_ratio == ((None, 0.05),)


def test_observed_rows(example: Profile) -> None:
    plain, chain, tree, counted = example.observed
    assert (plain.method, plain.batch, plain.output_tok_s) == (Method.NONE, 8.0, 1071.3)
    assert (chain.temperature, chain.task, chain.date) == (0.0, Task.MATH, "2026-05-03")
    assert tree.tree == (5, 4, 8)
    assert counted.counts == AcceptanceCounts(
        num_drafts=129,
        num_draft_tokens=387,
        num_accepted_tokens=150,
        accepted_per_position=(70, 46, 34),
    )


def test_given_keys_are_the_stated_ones() -> None:
    given = parse("target: a/b\nworkload: {batch: 4, top_p: null}\n").given
    assert given == {"target", "workload", "workload.batch"}


def test_only_a_target_is_needed() -> None:
    profile = parse("target: a/b\n")
    assert profile.name == "p"
    assert profile.hardware is None
    assert profile.workload.batch == ((1.0, 1.0),)


def test_alpha_and_c_are_enough_without_a_target() -> None:
    profile = parse("overrides: {acceptance_rate: 0.8, draft_cost_ratio: 0.05}\n")
    assert profile.target is None


def test_each_documented_default_is_the_one_of_the_record() -> None:
    profile = parse("target: {params_b: 8}\nhardware: {gpu: X}\n")
    compared = 0
    for key, (default, _) in defaults().items():
        value: object = profile
        for name in key.split("."):
            value = getattr(value, name, None) if is_dataclass(value) else None
        if default is None or value is None:
            continue
        if isinstance(value, tuple):
            ((value, _share),) = value
        assert value == default, key
        compared += 1
    assert compared >= 15


def test_every_default_has_a_reason() -> None:
    missing = [key for key, (_, reason) in defaults().items() if not reason]
    assert missing == []


def test_every_field_of_the_record_can_be_stated() -> None:
    from tuner.profile.table import OBSERVED_ROW, PROFILE
    from tuner.records.workload import ObservedRow

    stated = set(PROFILE.fields) | {"path", "given"}
    assert {field.name for field in fields(Profile)} == stated
    assert {field.name for field in fields(ObservedRow)} == set(OBSERVED_ROW.fields)


@pytest.mark.parametrize(
    ("spelling", "method"),
    [
        ("nextn", Method.MTP),
        ("NEXTN", Method.MTP),
        ("vanilla", Method.DRAFT_MODEL),
        ("draft-model", Method.DRAFT_MODEL),
        ("eagle_3", Method.EAGLE3),
        ("EAGLE3", Method.EAGLE3),
        ("p_eagle", Method.P_EAGLE),
        ("prompt-lookup", Method.NGRAM),
        ("n-gram", Method.NGRAM),
        ("suffix_decoding", Method.SUFFIX),
        ("eagle3.1", Method.EAGLE3_1),
    ],
)
def test_other_names_of_methods(spelling: str, method: Method) -> None:
    profile = parse(f"target: a/b\ncandidates: {{methods: [{spelling}]}}\n")
    assert profile.candidates.methods == (method,)


def test_shares_rounded_to_three_decimals_are_normalised() -> None:
    profile = parse("target: a/b\nworkload: {task: {chat: 0.333, code: 0.333, qa: 0.333}}\n")
    assert sum(share for _, share in profile.workload.task) == pytest.approx(1.0, abs=1e-12)


def test_a_share_of_zero_drops_out() -> None:
    profile = parse("target: a/b\nworkload: {batch: {1: 1, 32: 0}}\n")
    assert profile.workload.batch == ((1.0, 1.0),)


def test_concurrency_and_request_rate_replace_the_batch() -> None:
    profile = parse("target: a/b\nworkload: {concurrency: 12}\n")
    assert (profile.workload.batch, profile.workload.concurrency) == (None, 12.0)
    profile = parse("target: a/b\nworkload: {request_rate: 2.5}\n")
    assert (profile.workload.batch, profile.workload.request_rate) == (None, 2.5)


def test_a_device_by_numbers() -> None:
    text = "target: a/b\nhardware: {memory_gb: 32, bandwidth_tb_s: 1.8, bf16_tflops: 210}\n"
    hardware = parse(text).hardware
    assert hardware is not None
    assert (hardware.gpu, hardware.memory_gb, hardware.bandwidth_tb_s) == (None, 32.0, 1.8)


def test_a_count_alone_takes_the_default_device() -> None:
    profile = parse("target: a/b\nhardware: {count: 2}\n")
    assert profile.hardware is not None
    assert (profile.hardware.gpu, profile.hardware.count) == ("H100-SXM", 2)
    assert "hardware.gpu" not in profile.given


@pytest.mark.parametrize("hardware", ["", "hardware: {gpu: H100-SXM}\n"])
def test_a_layout_says_how_many_devices_there_are(hardware: str) -> None:
    profile = parse(f"target: a/b\n{hardware}parallel: {{tensor: 4, pipeline: 2}}\n")
    assert profile.hardware is not None
    assert (profile.hardware.gpu, profile.hardware.count) == ("H100-SXM", 8)


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("{config: c.json}", "config_path", "c.json"),
        ("{gguf: m.gguf}", "gguf_path", "m.gguf"),
        ("{params_b: 27, active_params_b: null, mtp_layers: 1}", "params_b", 27.0),
    ],
)
def test_forms_of_the_target(text: str, attribute: str, value: object) -> None:
    target = parse(f"target: {text}\n").target
    assert target is not None
    assert getattr(target, attribute) == value


def test_a_config_beside_the_profile_is_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "p.yaml").write_text("target: {config: config.json}\n")
    target = read_profile(str(tmp_path / "p.yaml")).target
    assert target is not None
    assert target.config_path == str(tmp_path / "config.json")


def test_a_byte_order_mark_and_crlf_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"\xef\xbb\xbftarget: a/b\r\nobjective: cost\r\n")
    assert read_profile(str(tmp_path / "p.yaml")).objective is Objective.COST


def test_settings_replace_values_before_validation() -> None:
    profile = parse(EXAMPLE, "workload.batch={8: 0.7, 256: 0.3}", "observed.0.batch=16")
    assert profile.workload.batch == ((8.0, 0.7), (256.0, 0.3))
    assert profile.observed[0].batch == 16.0


def test_a_setting_makes_the_sections_that_it_needs() -> None:
    profile = parse("target: a/b\n", "workload.sampling.lora=true", "engine.name=sglang")
    assert profile.workload.sampling.lora is True
    assert profile.engine.name is Engine.SGLANG


def test_an_empty_setting_takes_a_value_away() -> None:
    profile = parse(EXAMPLE, "workload.batch=", "workload.concurrency=4")
    assert (profile.workload.batch, profile.workload.concurrency) == (None, 4.0)


@pytest.mark.parametrize("name", sorted(shipped_profiles()))
def test_shipped_profiles_are_reached_by_name(name: str) -> None:
    profile = read_profile(name)
    assert profile.name == name
    assert profile.target is not None


def test_a_name_that_is_not_shipped_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean chat-llama-3\.3-70b"):
        read_profile("chat-lama-3.3-70b")
