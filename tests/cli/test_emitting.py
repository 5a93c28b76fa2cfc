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


MIXES = "workload: {task: chat, temperature: {0.0: 0.4, 1.0: 0.6}, batch: {1: 0.5, 32: 0.5}}"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (MIXES, ["temperature 1 in place of 0 (40 %) and 1 (60 %)", "batches 1 (50 %) and 32"]),
        ("workload: {task: chat, temperature: {0.2: 0.5, 0.8: 0.5}}", ["temperature 0.8 in place"]),
        ("workload: {task: chat, batch: {2: 0.5, 8: 0.5}}", ["batches 2 (50 %) and 8 (50 %)"]),
        ("workload: {task: chat, temperature: 0.5, batch: 8}", []),
        ("workload: {task: chat, concurrency: 8}", []),
    ],
)
def test_a_client_says_in_one_line_which_mix_it_reduces(
    engine: str,
    workload: str,
    said: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    profile = tmp_path / "p.yaml"
    gguf = "\ndtype: gguf:Q4_K_M" if engine == "llamacpp" else ""
    profile.write_text(
        "target: meta-llama/Llama-3.1-8B-Instruct\nhardware: {gpu: H100-SXM}\n" + workload + gguf
    )
    code, out, err = printed(capsys, str(profile), "--engine", engine, "--bench-command")
    assert (code, "in place" in out) == (0, False)
    told = [line for line in err.splitlines() if "one run of this client" in line.lower()]
    assert len(told) == bool(said)
    assert all(words in told[0] and "repeat it with each" in told[0] for words in said)


@pytest.mark.parametrize("rate", [0.5, 5])
def test_a_client_sends_at_the_rate_or_says_what_it_does_instead(
    rate: float, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ["--set", "workload.batch=null", "--set", f"workload.request_rate={rate}"]
    for engine in ("vllm", "sglang"):
        line = [ON, "--engine", engine, *load, "--bench-command", "--emit", "argv"]
        argv = json.loads(printed(capsys, *line)[1])
        assert argv[argv.index("--request-rate") + 1] == f"{rate:g}"
        assert "--max-concurrency" not in argv
    _, _, err = printed(capsys, *LLAMACPP, *load, "--bench-command")
    assert f"in flight in place of {rate:g} requests a second" in err


def test_a_client_keeps_the_requests_in_flight_that_the_profile_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = ["--set", "workload.batch=null", "--set", "workload.concurrency=64"]
    line = [ON, *load, "--bench-command", "--emit", "argv"]
    argv = json.loads(printed(capsys, *line)[1])
    assert argv[argv.index("--max-concurrency") + 1] == "64"
