"""The shipped profiles: valid, resolvable, and the cases that people have."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tuner.catalog import drafters_for, find_accelerator, find_model
from tuner.profile import read_profile, shipped_profiles
from tuner.records.methods import Engine, Method, Objective, Task

FOLDER = Path(__file__).parents[2] / "profiles"
FILES = sorted(FOLDER.glob("*.yaml"))
NAMES = [file.stem for file in FILES]


@pytest.fixture(params=FILES, ids=NAMES)
def file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_there_are_enough_and_all_are_shipped() -> None:
    assert len(FILES) >= 12
    assert set(NAMES) <= set(shipped_profiles())


def test_a_profile_names_its_schema_and_meets_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=profile.schema.json\n")
    schema = json.loads((FOLDER / "profile.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load(text), schema)


def test_a_profile_resolves(file: Path) -> None:
    profile = read_profile(str(file))
    assert profile.name == file.stem
    assert profile.target is not None
    assert profile.target.model_id is not None
    assert profile.hardware is not None
    assert profile.hardware.gpu is not None
    shape = find_model(profile.target.model_id)
    device = find_accelerator(profile.hardware.gpu)
    assert profile.engine.version is not None
    # the weights fit, at two bytes, one byte or a half for a parameter
    size = {"bfloat16": 2.0, "float16": 2.0, "fp8": 1.0, "mxfp4": 0.55, "gguf:Q4_K_M": 0.62}
    assert profile.dtype is not None
    weights = shape.total_params * size[profile.dtype]
    assert weights < 0.9 * device.memory_bytes * profile.hardware.count


def test_the_cases_are_covered() -> None:
    profiles = {name: read_profile(str(FOLDER / f"{name}.yaml")) for name in NAMES}
    engines = {profile.engine.name for profile in profiles.values()}
    assert {Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP} <= engines
    assert {p.objective for p in profiles.values()} == set(Objective)
    tasks = {task for p in profiles.values() for task, _ in p.workload.task}
    assert {Task.CHAT, Task.CODE, Task.RAG, Task.SUMMARIZATION, Task.CREATIVE, Task.STRUCTURED,
            Task.REASONING, Task.AGENT, Task.QA} <= tasks  # fmt: skip
    largest = max(
        batch for p in profiles.values() if p.workload.batch for batch, _ in p.workload.batch
    )
    assert largest == 256
    assert any(t > 1.0 for p in profiles.values() for t, _ in p.workload.temperature)


def test_the_summary_case_has_no_head_to_prefer() -> None:
    profile = read_profile(str(FOLDER / "summarize-phi-4.yaml"))
    assert profile.target is not None
    assert profile.target.model_id is not None
    assert drafters_for(profile.target.model_id) == ()


def test_mtp_cases_have_the_layer() -> None:
    for name in ("reasoning-deepseek-r1", "throughput-deepseek-v3", "local-qwen3.8-27b-rtx5090"):
        profile = read_profile(str(FOLDER / f"{name}.yaml"))
        assert profile.target is not None
        assert profile.target.model_id is not None
        methods = {drafter.method for drafter in drafters_for(profile.target.model_id)}
        assert Method.MTP in methods
