"""Lossy rules: never emitted unasked, and no number where nothing was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.advise.lossy import require_lossy_evidence
from tuner.advise.recommend import recommend
from tuner.cli.app import run
from tuner.engines.lossy import LOSSY_RULES
from tuner.errors import MissingDataError
from tuner.profile import parse_profile, read_profile, shipped_profiles
from tuner.records.methods import Engine
from tuner.records.workload import Profile

OPTIONS = Path(__file__).parents[1] / "engines" / "data"
#: settings that make a server lossy, as the options of the two releases spell them
LOSSY_WORDS = ("fly", "accept-threshold", "posterior", "typical", "relaxed")


def case(engine: str) -> Profile:
    text = f"target: meta-llama/Llama-3.1-8B-Instruct\nengine: {{name: {engine}}}\n"
    return parse_profile(text, file="case.yaml", name="case")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_unmeasured_rule_is_refused_by_name(engine: str) -> None:
    with pytest.raises(MissingDataError, match="changes the output distribution") as caught:
        require_lossy_evidence(case(engine))
    assert LOSSY_RULES[Engine(engine)].setting in caught.value.message
    assert caught.value.exit_code == 4


def test_the_settings_named_are_those_of_the_releases() -> None:
    vllm = (OPTIONS / "vllm-0.33.0.json").read_text(encoding="utf-8")
    for word in ('"fly"', '"fly_entropy_threshold"', '"fly_window_size"'):
        assert word in vllm
    sglang = (OPTIONS / "sglang-0.5.23.json").read_text(encoding="utf-8")
    for word in ("--speculative-accept-threshold-single", "--speculative-accept-threshold-acc"):
        assert f'"{word}"' in sglang
    llamacpp = (OPTIONS / "llamacpp-b11434.json").read_text(encoding="utf-8")
    # its sampler knows "typical", its speculation no such thing
    spec = [line for line in llamacpp.splitlines() if "spec-" in line]
    assert spec
    assert not any(word in line for line in spec for word in LOSSY_WORDS)


def test_an_engine_without_such_a_rule_says_so() -> None:
    assert "changes nothing" in require_lossy_evidence(case("llamacpp")).message


@pytest.mark.parametrize("name", shipped_profiles())
def test_without_the_option_no_command_is_lossy(name: str) -> None:
    found = recommend(read_profile(name))
    assert not any(item.config.verify_rule.is_lossy for item in found.configs)
    for command in found.commands:
        assert not any(word in command.shell for word in LOSSY_WORDS)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("target: meta-llama/Llama-3.1-8B-Instruct\n", encoding="utf-8")
    assert run(["recommend", str(path), "--allow-lossy", "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == 4
    assert "fly" in error["message"]
    line = ["recommend", str(path), "--engine", "llamacpp", "--allow-lossy", "--json"]
    assert run(line) == 0
    (result,) = json.loads(capsys.readouterr().out)["profiles"]
    assert result["warnings"][0]["code"] == "no-lossy-rule"
