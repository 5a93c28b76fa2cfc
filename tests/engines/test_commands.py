"""Commands against the options that each engine's release declares.

The lists in ``data/`` were read from the releases by syntax tree; each names its source.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.asked import ENGINES, config_of, flags_of, request_of, row
from tuner.engines import emit, emit_baseline, emit_bench, serves
from tuner.records.config import TreeSetting
from tuner.records.emit import EmitRequest
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine, Method, VerifyRule

DATA = Path(__file__).parent / "data"
VLLM: dict[str, Any] = json.loads((DATA / "vllm-0.33.0.json").read_text())
SGLANG: dict[str, Any] = json.loads((DATA / "sglang-0.5.23.json").read_text())
LLAMACPP: dict[str, Any] = json.loads((DATA / "llamacpp-b11434.json").read_text())
EVERY_REQUEST = [
    request_of(
        engine,
        config_of(method, verify_rule=rule),
        parallel=Parallel(tensor=2, data=data, expert=2),
        dtype="bfloat16",
        kv_dtype="fp8" if engine is not Engine.LLAMACPP else "int8",
        max_context_tokens=8192,
        max_batch=64,
        memory_fraction=0.9,
        temperature=0.7,
        schedule=(row(1, 8, 4, method), row(9, 32, 2, method), row(33, 64, 0, method)),
    )
    for engine in ENGINES
    for method in Method
    if serves(engine, None, method).ok
    for rule in (VerifyRule.GREEDY, VerifyRule.RATIO)
    for data in (1, 2)
]


def check_vllm_config(config: dict[str, object]) -> None:
    """Every key is a field of SpeculativeConfig, with a value of its type and range."""
    fields = VLLM["speculative_config"]
    for key, value in config.items():
        field = fields[key]
        if "choices" in field:
            assert value in field["choices"]
        if "int" in field["type"].split(" | "):
            assert isinstance(value, int)
            assert not isinstance(value, bool)
        if field["type"] == "bool":
            assert isinstance(value, bool)
        if "gt" in field:
            assert isinstance(value, int)
            assert value > field["gt"]
        if "ge" in field:
            assert isinstance(value, int)
            assert value >= field["ge"]


def check_vllm_schedule(schedule: list[list[int]], most: int) -> None:
    """The rules of vllm/v1/spec_decode/dynamic/utils.py, 0.33.0."""
    assert schedule[0][0] == 1
    previous = 0
    for start, end, length in schedule:
        assert previous < start <= end
        assert 0 <= length <= most
        previous = end


@pytest.mark.parametrize("request_", EVERY_REQUEST, ids=lambda r: f"{r.engine}-{r.config.method}")
def test_every_option_exists_in_the_release(request_: EmitRequest) -> None:
    commands = [emit(request_), emit_baseline(request_)]
    bench = emit_bench(request_)
    for command in commands:
        known = {Engine.VLLM: VLLM, Engine.SGLANG: SGLANG}.get(command.engine)
        names = known["serve"] if known else LLAMACPP["flags"]
        for flag in flags_of(command.argv):
            assert flag in names
    if request_.engine is not Engine.LLAMACPP:
        known_bench = (VLLM if request_.engine is Engine.VLLM else SGLANG)["bench"]
        assert {flag for flag in flags_of(bench.argv) if flag.startswith("--")} <= set(known_bench)


@pytest.mark.parametrize(
    "request_", [r for r in EVERY_REQUEST if r.engine is Engine.VLLM], ids=lambda r: r.config.method
)
def test_vllm_config_is_valid(request_: EmitRequest) -> None:
    command = emit(request_)
    flags = flags_of(command.argv)
    assert flags["--kv-cache-dtype"] in VLLM["kv_cache_dtype"]
    if request_.config.method is Method.NONE:
        assert "--speculative-config" not in flags
        assert command.config == {}
        return
    config = json.loads(flags["--speculative-config"] or "")
    assert config == command.config
    check_vllm_config(config)
    schedule = config.get("num_speculative_tokens_per_batch_size")
    if schedule is not None:
        check_vllm_schedule(schedule, config["num_speculative_tokens"])
    if request_.parallel.data > 1:
        assert schedule is None
        assert "schedule-ignored-with-data-parallel" in [w.code for w in command.warnings]


@pytest.mark.parametrize(
    "request_",
    [r for r in EVERY_REQUEST if r.engine is Engine.SGLANG],
    ids=lambda r: r.config.method,
)
def test_sglang_values_are_among_the_choices(request_: EmitRequest) -> None:
    command = emit(request_)
    for flag, value in flags_of(command.argv).items():
        choices = SGLANG["serve"][flag]
        if choices:
            assert value in choices
        assert (value is None) == (flag in SGLANG["switches"])


@given(length=st.integers(1, 32), tree=st.none() | st.tuples(st.integers(1, 8), st.integers(1, 8)))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_sglang_numbers_agree(length: int, tree: tuple[int, int] | None) -> None:
    setting = TreeSetting(num_steps=tree[0], topk=tree[1], draft_tokens=9) if tree else None
    command = emit(request_of(Engine.SGLANG, config_of(Method.EAGLE3, length, tree=setting)))
    config = command.config
    if config["speculative_eagle_topk"] == 1:
        steps = config["speculative_num_steps"]
        assert steps == (tree[0] if tree else length)
        assert config["speculative_num_draft_tokens"] == tree[0] + 1 if tree else length + 1
    else:
        assert setting is not None
        assert config["speculative_num_draft_tokens"] == setting.draft_tokens


def test_llamacpp_uses_no_removed_option() -> None:
    for request_ in EVERY_REQUEST:
        if request_.engine is Engine.LLAMACPP:
            command = emit(request_)
            assert not set(command.argv) & set(LLAMACPP["removed"])
            kind = command.config.get("--spec-type")
            assert kind is None or kind in LLAMACPP["spec_types"]
