"""Commands alone: one document whatever is asked, or a sentence about what cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tuner.cli.app import run

ON, OTHER = "chat-llama-3.3-70b", "throughput-deepseek-v3"
LLAMACPP = [ON, "--engine", "llamacpp", "--set", "dtype=gguf:Q4_K_M"]


def printed(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str, str]:
    code = run(["recommend", *line])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("form", ["json", "argv"])
def test_several_profiles_are_one_list(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    alone = [json.loads(printed(capsys, name, "--emit", form)[1]) for name in (ON, OTHER)]
    _, both, _ = printed(capsys, ON, OTHER, "--emit", form)
    assert json.loads(both) == alone


def test_yaml_is_the_whole_server(capsys: pytest.CaptureFixture[str]) -> None:
    vllm = yaml.safe_load(printed(capsys, ON, "--emit", "yaml")[1])
    assert vllm["model"] == "meta-llama/Llama-3.3-70B-Instruct"
    assert vllm["tensor-parallel-size"] == 4
    assert vllm["speculative-config"]["method"] == "eagle3"
    sglang = yaml.safe_load(printed(capsys, ON, "--engine", "sglang", "--emit", "yaml")[1])
    assert sglang["model-path"] == "meta-llama/Llama-3.3-70B-Instruct"
    assert sglang["tensor-parallel-size"] == 4
    assert sglang["speculative-algorithm"] == "EAGLE3"
    plain = yaml.safe_load(printed(capsys, ON, "--emit", "yaml", "--baseline-command")[1])
    assert "speculative-config" not in plain
    assert plain["model"] == vllm["model"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ([ON, OTHER, "--emit", "yaml"], "one server"),
        ([ON, "--emit", "yaml", "--bench-command"], "--bench-command"),
        ([ON, "--emit", "json", "--bench-command"], "--bench-command"),
        ([*LLAMACPP, "--emit", "yaml"], "llama.cpp reads no YAML"),
    ],
)
def test_what_cannot_be_written_is_refused(
    line: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(capsys, *line)
    assert (code, out) == (2, "")
    assert what in err


@pytest.mark.parametrize("more", [["--emit", "shell"], ["--baseline-command"], ["--bench-command"]])
def test_without_a_target_there_is_no_command(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("overrides: {acceptance_rate: 0.8, draft_cost_ratio: 0.05}\n")
    code, out, err = printed(capsys, str(profile), *more)
    assert (code, out) == (4, "")
    assert "no target" in err


def test_forms_combine_with_the_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--baseline-command", "--bench-command"]
    _, text, err = printed(capsys, ON, "--emit", "argv", *both)
    serve, bench = json.loads(text)
    assert (serve[:2], bench[:3]) == (["vllm", "serve"], ["vllm", "bench", "serve"])
    assert "acceptance length" in err
    _, text, _ = printed(capsys, ON, *both)
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("vllm")] == [
        ["vllm", "serve"],
        ["vllm", "bench"],
    ]


def test_what_the_command_needs_is_said_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = printed(capsys, ON, "--engine", "sglang", "--emit", "shell")
    assert "--speculative-adaptive-config speculative-schedule.json" in out
    assert '"candidate_steps"' in err
    _, _, err = printed(capsys, ON, "--engine", "sglang", "--emit", "shell", "--quiet")
    assert err == ""
