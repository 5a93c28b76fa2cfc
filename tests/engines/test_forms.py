"""The form of single commands, what they caution about, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engines.asked import ENGINES, config_of, flags_of, request_of, row
from tuner.engines import emit, emit_baseline
from tuner.errors import InputError, MissingDataError
from tuner.records.config import SpecConfig, TreeSetting
from tuner.records.decision import EngineCommand
from tuner.records.emit import EmitRequest
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine, Method, VerifyRule
from tuner.records.model import Drafter


def test_vllm_writes_the_documented_form() -> None:
    config = SpecConfig(
        method=Method.EAGLE3,
        drafter=Drafter(path_or_id="yuhuili/EAGLE3-LLaMA3.3-Instruct-70B", method=Method.EAGLE3),
        num_speculative_tokens=5,
    )
    command = emit(
        EmitRequest(
            engine=Engine.VLLM,
            target="meta-llama/Llama-3.3-70B-Instruct",
            config=config,
            parallel=Parallel(tensor=4),
            schedule=(row(1, 16, 5), row(17, 64, 3), row(65, 128, 1), row(129, 512, 0)),
        )
    )
    assert command.argv == (
        "vllm",
        "serve",
        "meta-llama/Llama-3.3-70B-Instruct",
        "--tensor-parallel-size",
        "4",
        "--speculative-config",
        '{"method": "eagle3", "model": "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B", '
        '"num_speculative_tokens": 5, "num_speculative_tokens_per_batch_size": '
        "[[1, 16, 5], [17, 64, 3], [65, 128, 1], [129, 512, 0]]}",
    )
    assert command.version == "0.33.0"


def test_vllm_method_forms() -> None:
    def config(method: Method, **more: Any) -> dict[str, object]:
        return emit(request_of(Engine.VLLM, config_of(method, **more))).config

    assert config(Method.P_EAGLE)["parallel_drafting"] is True
    assert config(Method.P_EAGLE)["method"] == "eagle3"
    assert config(Method.MTP) == {"method": "mtp", "num_speculative_tokens": 4}
    assert config(Method.NGRAM) == {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_min": 2,
        "prompt_lookup_max": 5,
    }
    assert config(Method.SUFFIX) == {"method": "suffix", "num_speculative_tokens": 4}
    ratio = config(Method.EAGLE3, verify_rule=VerifyRule.RATIO)
    assert ratio["draft_sample_method"] == "probabilistic"
    block = config(Method.EAGLE3, verify_rule=VerifyRule.BLOCK)
    assert block["rejection_sample_method"] == "block"
    assert "draft_sample_method" not in config(Method.NGRAM, verify_rule=VerifyRule.RATIO)


def test_the_longest_row_sets_the_length() -> None:
    """Each K of the schedule is capped at num_speculative_tokens, so that must be the largest."""
    config = emit(
        request_of(Engine.VLLM, config_of(Method.EAGLE3, 2), schedule=(row(1, 4, 6), row(5, 64, 2)))
    ).config
    assert config["num_speculative_tokens"] == 6


def test_a_schedule_that_never_changes_is_left_out() -> None:
    for schedule in ((row(1, 4, 3), row(5, 64, 3)), (row(1, 64, 3),)):
        config = emit(
            request_of(Engine.VLLM, config_of(Method.EAGLE3, 3), schedule=schedule)
        ).config
        assert "num_speculative_tokens_per_batch_size" not in config


def test_a_schedule_ends_with_the_largest_batch() -> None:
    schedule = (row(1, 4, 3), row(5, 64, 1), row(65, 512, 0))
    request_ = request_of(Engine.VLLM, config_of(Method.EAGLE3, 3), schedule=schedule, max_batch=32)
    assert emit(request_).config["num_speculative_tokens_per_batch_size"] == [[1, 4, 3], [5, 64, 1]]


def test_sglang_schedule_is_an_adaptive_file_of_fixed_rows() -> None:
    command = emit(
        request_of(
            Engine.SGLANG,
            config_of(Method.EAGLE3, 3),
            schedule=(row(1, 8, 5), row(9, 64, 2), row(65, 512, 0)),
            max_batch=256,
        )
    )
    (name,) = command.files
    assert flags_of(command.argv)["--speculative-adaptive-config"] == name
    table = json.loads(command.files[name])
    assert table == {
        "1": {"candidate_steps": [5]},
        "9": {"candidate_steps": [2]},
        "65": {"candidate_steps": [0]},
    }
    union = {step for entry in table.values() for step in entry["candidate_steps"]}
    assert command.config["speculative_num_steps"] in union
    assert flags_of(command.argv)["--max-running-requests"] == "256"


@pytest.mark.parametrize(
    ("engine", "method"),
    [
        (Engine.SGLANG, Method.DFLASH),
        (Engine.LLAMACPP, Method.EAGLE3),
        (Engine.VLLM, Method.SUFFIX),
    ],
)
def test_engines_that_cannot_follow_a_schedule_say_so(engine: Engine, method: Method) -> None:
    schedule = (row(1, 8, 4, method), row(9, 64, 1, method))
    command = emit(request_of(engine, config_of(method), schedule=schedule))
    assert any(w.code.startswith("schedule-ignored") for w in command.warnings)
    assert "num_speculative_tokens_per_batch_size" not in command.config
    assert command.files == {}


def test_rows_of_another_method_cannot_be_in_one_server() -> None:
    schedule = (row(1, 8, 4), row(9, 64, 3, Method.NGRAM))
    command = emit(request_of(Engine.VLLM, config_of(Method.EAGLE3), schedule=schedule))
    assert [w.code for w in command.warnings] == ["schedule-mixes-methods"]


def test_llamacpp_forms() -> None:
    def argv(**more: Any) -> tuple[str, ...]:
        return emit(EmitRequest(engine=Engine.LLAMACPP, **more)).argv

    assert argv(target="/m/x.gguf") == ("llama-server", "-m", "/m/x.gguf")
    assert argv(target="org/x-GGUF", dtype="gguf:Q4_K_M")[:3] == (
        "llama-server",
        "-hf",
        "org/x-GGUF:Q4_K_M",
    )
    command = emit(EmitRequest(engine=Engine.LLAMACPP, target="org/model", dtype="gguf:Q4_K_M"))
    assert command.argv[1:] == ("-m", "model-Q4_K_M.gguf")
    assert [w.code for w in command.warnings] == ["needs-gguf"]
    head = Drafter(path_or_id="org/head", method=Method.EAGLE3)
    config = SpecConfig(method=Method.EAGLE3, drafter=head, num_speculative_tokens=3)
    command = emit(EmitRequest(engine=Engine.LLAMACPP, target="/m/x.gguf", config=config))
    assert flags_of(command.argv)["-md"] == "head.gguf"
    assert [w.code for w in command.warnings] == ["needs-gguf"]
    hosted = Drafter(path_or_id="org/d-GGUF", method=Method.DRAFT_MODEL, dtype="gguf:Q8_0")
    config = SpecConfig(method=Method.DRAFT_MODEL, drafter=hosted, num_speculative_tokens=3)
    assert flags_of(argv(target="/m/x.gguf", config=config))["-hfd"] == "org/d-GGUF:Q8_0"
    slots = flags_of(argv(target="/m/x.gguf", max_batch=4, max_context_tokens=8192))
    assert slots["-c"] == "32768"
    assert slots["-np"] == "4"
    drafter = Drafter(path_or_id="/m/draft.gguf", method=Method.DRAFT_MODEL)
    config = SpecConfig(method=Method.DRAFT_MODEL, drafter=drafter, num_speculative_tokens=3)
    flags = flags_of(argv(target="/m/x.gguf", config=config))
    assert flags["-md"] == "/m/draft.gguf"
    assert flags["--spec-type"] == "draft-simple"
    assert flags["--spec-draft-n-max"] == "3"
    assert flags["--spec-draft-p-min"] == "0"
    with pytest.raises(InputError, match="gguf:Q4_K_M"):
        argv(target="org/x", dtype="awq")


def test_weights_are_named_only_where_they_differ_from_the_checkpoint() -> None:
    def words(engine: Engine, **more: Any) -> EngineCommand:
        return emit(EmitRequest(engine=engine, target="org/x", **more))

    for engine in (Engine.VLLM, Engine.SGLANG):
        same = words(engine, dtype="fp8", native_dtype="fp8")
        assert "--quantization" not in same.argv
        online = words(engine, dtype="fp8", native_dtype="bfloat16")
        assert flags_of(online.argv)["--quantization"] == "fp8"
        assert flags_of(words(engine, dtype="float16").argv)["--dtype"] == "float16"
        awq = words(engine, dtype="awq", native_dtype="bfloat16")
        assert [w.code for w in awq.warnings] == ["checkpoint-must-be-quantised"]
    with pytest.raises(InputError, match="GGUF"):
        words(Engine.VLLM, dtype="gguf:Q4_K_M")
    with pytest.raises(InputError, match="KV cache"):
        words(Engine.LLAMACPP, kv_dtype="fp8")


def test_cautions() -> None:
    def codes(engine: Engine, config: SpecConfig, **more: Any) -> set[str]:
        return {w.code for w in emit(request_of(engine, config, **more)).warnings}

    eagle = config_of(Method.EAGLE3, 5)
    assert "min-p-rejected" in codes(Engine.VLLM, eagle, min_p=0.05)
    assert "min-p-rejected" not in codes(Engine.VLLM, SpecConfig(method=Method.NONE), min_p=0.05)
    assert "cuda-graph-coverage" in codes(Engine.VLLM, eagle, max_batch=128)
    assert "cuda-graph-coverage" not in codes(Engine.VLLM, eagle, max_batch=64)
    off_above_64 = (row(1, 64, 5), row(65, 512, 0))
    assert "cuda-graph-coverage" not in codes(
        Engine.VLLM, eagle, max_batch=512, schedule=off_above_64
    )
    assert "needs-package" in codes(Engine.VLLM, config_of(Method.SUFFIX))
    assert "model-runner-v1" in codes(Engine.VLLM, config_of(Method.P_EAGLE))
    piped = Parallel(tensor=2, pipeline=2)
    assert codes(Engine.VLLM, eagle, parallel=piped) == set()
    assert codes(Engine.VLLM, config_of(Method.SUFFIX), parallel=piped, structured_output=True) == {
        "needs-package",
        "model-runner-v1",
        "structured-output-with-pipeline",
        "pipeline-with-speculation",
    }
    assert "running-requests-capped" in codes(Engine.SGLANG, eagle)
    assert "running-requests-capped" not in codes(Engine.SGLANG, eagle, max_batch=64)


def test_contradictions_are_refused() -> None:
    tree = TreeSetting(num_steps=3, topk=4, draft_tokens=8)
    with pytest.raises(InputError, match="tree"):
        emit(request_of(Engine.VLLM, config_of(Method.EAGLE3, tree=tree)))
    split = Drafter(path_or_id="d", method=Method.EAGLE3, tensor_parallel=2)
    config = SpecConfig(method=Method.EAGLE3, drafter=split, num_speculative_tokens=3)
    with pytest.raises(InputError, match="neither"):
        emit(request_of(Engine.VLLM, config, parallel=Parallel(tensor=4)))
    two_layers = Drafter(path_or_id=None, method=Method.MTP, trained_depth=2)
    config = SpecConfig(method=Method.MTP, drafter=two_layers, num_speculative_tokens=3)
    with pytest.raises(InputError, match="multiple"):
        emit(request_of(Engine.VLLM, config))
    with pytest.raises(InputError, match="drafter"):
        emit(request_of(Engine.VLLM, SpecConfig(method=Method.EAGLE3, num_speculative_tokens=3)))
    with pytest.raises(InputError, match="typical"):
        emit(request_of(Engine.VLLM, config_of(Method.EAGLE3, verify_rule=VerifyRule.TYPICAL)))
    with pytest.raises(MissingDataError, match="pipeline"):
        emit(request_of(Engine.SGLANG, config_of(Method.DFLASH), parallel=Parallel(pipeline=2)))


def test_a_draft_length_of_zero_is_the_plain_command() -> None:
    for engine in ENGINES:
        request_ = request_of(engine, config_of(Method.EAGLE3, 0))
        assert emit(request_).argv == emit_baseline(request_).argv


def test_a_tree_of_width_one_is_a_chain() -> None:
    tree = TreeSetting(num_steps=5, topk=1, draft_tokens=6)
    command = emit(request_of(Engine.VLLM, config_of(Method.EAGLE3, tree=tree)))
    assert command.config["num_speculative_tokens"] == 5
