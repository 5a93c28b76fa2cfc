"""Configuration files, read the way each engine's own reader turns them into arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tuner.engines import emit
from tuner.engines.config_file import config_mapping
from tuner.errors import InputError
from tuner.records.config import SpecConfig
from tuner.records.decision import BatchRow
from tuner.records.emit import EmitRequest
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine, Method
from tuner.records.model import Drafter

ROWS = tuple(
    BatchRow(start=start, end=end, method=Method.EAGLE3, num_speculative_tokens=k, speedup=1.0)
    for start, end, k in ((1, 8, 5), (9, 64, 2))
)


def request_of(engine: Engine, **more: Any) -> EmitRequest:
    drafter = Drafter(path_or_id="org/é drafter", method=Method.EAGLE3)
    config = SpecConfig(method=Method.EAGLE3, drafter=drafter, num_speculative_tokens=5)
    return EmitRequest(
        engine=engine,
        target="org/target",
        config=config,
        parallel=Parallel(tensor=2, data=2, expert=2),
        max_context_tokens=8192,
        max_batch=64,
        memory_fraction=0.9,
        **more,
    )


def arguments(mapping: dict[str, object]) -> dict[str, object]:
    """As both readers do: ``--key value``; true is a bare switch, a mapping is JSON."""
    found: dict[str, object] = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False)
        found[f"--{key}"] = None if value is True else str(value)
    return found


def flags_of(argv: tuple[str, ...]) -> dict[str, object]:
    found: dict[str, object] = {}
    words = list(argv)
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            found[word] = None if following.startswith("--") else following
    return found


@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.SGLANG])
@pytest.mark.parametrize("schedule", [(), ROWS])
def test_the_file_gives_the_arguments_of_the_command(
    engine: Engine, schedule: tuple[BatchRow, ...]
) -> None:
    command = emit(request_of(engine, schedule=schedule))
    text = yaml.safe_dump(config_mapping(command), sort_keys=False, allow_unicode=True)
    found = arguments(yaml.safe_load(text))
    expected = flags_of(command.argv)
    if engine is Engine.VLLM:
        assert found.pop("--model") == "org/target"
    assert found == expected


@pytest.mark.parametrize("target", ["007", "1e5", "12", "true", "null", "{a}", "[1]", "1.50"])
def test_a_name_that_looks_like_a_value_stays_text(target: str) -> None:
    command = emit(EmitRequest(engine=Engine.SGLANG, target=target))
    mapping = yaml.safe_load(yaml.safe_dump(config_mapping(command)))
    assert arguments(mapping)["--model-path"] == target


def test_llamacpp_has_no_such_file() -> None:
    command = emit(EmitRequest(engine=Engine.LLAMACPP, target="m.gguf"))
    with pytest.raises(InputError, match=r"llama\.cpp reads no YAML"):
        config_mapping(command)


def test_llamacpp_settings_are_named_without_dashes() -> None:
    config = emit(request_of(Engine.LLAMACPP)).config
    assert config["spec-type"] == "draft-eagle3"
    assert not any(key.startswith("-") for key in config)


@pytest.mark.parametrize(
    ("engine", "flag"), [(Engine.VLLM, "--max-model-len"), (Engine.SGLANG, "--context-length")]
)
def test_a_limit_of_context_is_written_where_one_is_asked_for(engine: Engine, flag: str) -> None:
    assert flags_of(emit(request_of(engine)).argv)[flag] == "8192"
    bare = EmitRequest(engine=engine, target="org/target")
    assert flag not in emit(bare).argv
