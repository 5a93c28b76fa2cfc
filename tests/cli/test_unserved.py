"""Settings that an engine cannot serve are refused or warned of, never priced in silence."""

from __future__ import annotations

import pytest

from tuner.cli.app import run

PROFILE = "chat-llama-3.3-70b"
GGUF = ["--set", "dtype=gguf:Q4_K_M"]


def printed(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str, str]:
    code = run(list(line))
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), err


@pytest.mark.parametrize(
    "line",
    [
        ["--engine", "vllm", "--method", "eagle3", "--tree", "2/2/4"],
        ["--engine", "vllm", "--tree", "5/4/32"],
        ["--engine", "vllm", "--method", "ngram", "--tree", "2/2/4"],
        [
            "--engine",
            "vllm",
            "--method",
            "eagle3",
            "--k",
            "3",
            "--tree",
            "3/1/4",
            "--tree",
            "2/2/4",
        ],
        ["--engine", "llamacpp", *GGUF, "--method", "eagle3", "--tree", "2/2/4"],
        ["--engine", "sglang", "--method", "ngram", "--tree", "2/2/4"],
    ],
)
def test_a_tree_is_refused_where_chains_are_verified(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(capsys, "predict", PROFILE, *line)
    assert (code, out) == (2, "")
    assert "chains only" in err
    assert "--engine sglang" in err


@pytest.mark.parametrize(
    "line",
    [
        ["--engine", "vllm", "--method", "eagle3", "--tree", "3/1/4"],
        ["--engine", "sglang", "--method", "eagle3", "--tree", "2/2/4"],
        # methods that verify trees are shown, others left out
        ["--engine", "sglang", "--tree", "2/2/4"],
    ],
)
def test_trees_that_are_served_are_answered(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = printed(capsys, "predict", PROFILE, *line)
    assert code == 0
    assert line[-1] in out


@pytest.mark.parametrize("command", ["recommend", "predict"])
@pytest.mark.parametrize("gpu", ["M3-Ultra", "M4-Max", "H100-SXM"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
def test_engines_not_built_for_apple_are_warned_of(
    command: str, gpu: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [command, "chat-llama-3.1-8b-a100", "--engine", engine, "--set", f"hardware.gpu={gpu}"]
    code, out, _ = printed(capsys, *line, *(GGUF if engine == "llamacpp" else []))
    assert code == 0
    foreign = gpu != "H100-SXM" and engine != "llamacpp"
    assert ("is built for" in out) == foreign
