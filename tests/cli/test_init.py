"""``init``: from options, from questions on a terminal, and never over a file unasked."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tuner.cli.app import run
from tuner.profile import read_profile
from tuner.records.methods import Engine, Task


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


OPTIONS = [
    *("--target", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "A100-SXM-80GB", "--count", "2"),
    *("--engine", "sglang", "--engine-version", "0.5.23", "--dtype", "fp8"),
    *("--task", "{chat: 0.7, code: 0.3}", "--temperature", "0", "--batch", "{1: 0.5, 32: 0.5}"),
    *("--prompt-tokens", "2000", "--output-tokens", "300", "--objective", "cost"),
    *("--set", "latency_target.tpot_ms=20"),
]


def test_options_become_a_profile_that_reads_back(here: Path) -> None:
    assert run(["init", *OPTIONS, "--output", "p.yaml"]) == 0
    profile = read_profile("p.yaml")
    assert profile.target is not None
    assert profile.target.model_id == "meta-llama/Llama-3.1-8B-Instruct"
    assert profile.hardware is not None
    assert (profile.hardware.gpu, profile.hardware.count) == ("A100-SXM-80GB", 2)
    assert (profile.engine.name, profile.engine.version) == (Engine.SGLANG, "0.5.23")
    assert profile.workload.task == ((Task.CHAT, 0.7), (Task.CODE, 0.3))
    assert profile.workload.temperature == ((0.0, 1.0),)
    assert profile.workload.batch == ((1.0, 0.5), (32.0, 0.5))
    assert profile.latency_target.tpot_ms == 20.0


def test_the_file_is_commented_and_named_after_task_and_model(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "--target", "Qwen/Qwen3-8B", "--task", "code"]) == 0
    file = here / "code-qwen3-8b.yaml"
    assert capsys.readouterr().out.startswith(f"{file.name} is written.")
    text = file.read_text()
    assert text.count("#") >= 5
    assert read_profile(str(file)).name == "code-qwen3-8b"


@pytest.mark.parametrize(
    "target", ["a b", "null", "12", "x: y", "#7", "ünï", "a'b\"c", "- a", "{a}", "2026-05-03", "no"]
)
def test_any_name_of_a_model_survives(target: str, here: Path) -> None:
    assert run(["init", "--target", target, "--output", "p.yaml", "--force"]) == 0
    found = read_profile("p.yaml").target
    assert found is not None
    assert found.model_id == target


def test_config_and_gguf_files_are_recognised(here: Path) -> None:
    run(["init", "--target", "models/config.json", "--output", "c.yaml", "--force"])
    run(["init", "--target", "m.gguf", "--output", "g.yaml", "--force"])
    config, gguf = read_profile("c.yaml").target, read_profile("g.yaml").target
    assert config is not None
    assert gguf is not None
    assert (config.config_path, gguf.gguf_path) == ("models/config.json", "m.gguf")


def test_a_dash_prints_the_profile(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--target", "Qwen/Qwen3-8B", "--output", "-"]) == 0
    assert "target: Qwen/Qwen3-8B" in capsys.readouterr().out
    assert list(here.iterdir()) == []


def test_json_tells_what_was_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--target", "Qwen/Qwen3-8B", "--output", "p.yaml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["file"]) == (1, "p.yaml")
    assert document["text"] == (here / "p.yaml").read_text()


def test_force_overwrites(here: Path) -> None:
    (here / "p.yaml").write_text("old")
    line = ["init", "--target", "Qwen/Qwen3-8B", "--output", "p.yaml"]
    assert run(line) == 2
    assert (here / "p.yaml").read_text() == "old"
    assert run([*line, "--force"]) == 0
    assert "Qwen/Qwen3-8B" in (here / "p.yaml").read_text()


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--target", "nope/none"], "nope/none"),
        (["--target", "Qwen/Qwen3-8BB"], "Qwen/Qwen3-8B"),
        (["--target", "Qwen/Qwen3-8B", "--gpu", "H100-SMX"], "H100-SXM"),
        (["--target", "no/such/config.json"], "no/such/config.json"),
        (["--target", "Qwen/Qwen3-8B", "--engine", "trtllm"], "TensorRT-LLM"),
    ],
)
def test_what_no_command_could_look_up_is_not_written(
    more: list[str], what: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", *more, "--output", "p.yaml"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err
    assert "--force" in err
    assert list(here.iterdir()) == []
    assert run(["init", *more, "--output", "p.yaml", "--force"]) == 0
    assert capsys.readouterr().err.startswith("warning: ")
    assert (here / "p.yaml").exists()


@pytest.mark.parametrize("more", [OPTIONS, ["--target", "Qwen/Qwen3-8B"]])
def test_what_is_written_can_be_recommended(more: list[str], here: Path) -> None:
    assert run(["init", *more, "--output", "p.yaml"]) == 0
    assert run(["recommend", "p.yaml"]) == 0


class Terminal:
    """``init`` on a pseudo-terminal."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.main, side = pty.openpty()
        command = [sys.executable, "-m", "tuner", "init", *argv]
        self.process = subprocess.Popen(
            command,
            stdin=side,
            stdout=subprocess.PIPE,
            stderr=side,
            cwd=folder,
            text=True,
            # a shell ignores interrupts for what it runs in the background, tests included
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(side)
        self.screen = ""

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 30
        while text not in self.screen and time.monotonic() < end:
            if select.select([self.main], [], [], 0.2)[0]:
                self.screen += os.read(self.main, 1000).decode()
        assert text in self.screen, self.screen

    def answer(self, question: str, line: str) -> None:
        self.screen = ""
        self.wait_for(question)
        os.write(self.main, f"{line}\n".encode())

    def finish(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=30)
        os.close(self.main)
        return self.process.returncode, out


def test_questions_on_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--engine", "sglang", "--output", "p.yaml")
    terminal.answer("Which model", "Qwen/Qwen3-8B")
    terminal.answer("Which device", "FOO")
    terminal.answer("'FOO'", "")
    terminal.answer("How many of them", "none")
    terminal.answer("'none' is not possible: a whole number", "2")
    terminal.answer("What is written", "{chat: 0.5, code: 0.5}")
    terminal.answer("temperature", "0.7")
    terminal.answer("sequences are decoded together", "8")
    terminal.answer("has a prompt", "")
    terminal.answer("has an answer", "")
    code, out = terminal.finish()
    assert (code, out.split(".")[0]) == (0, "p")
    profile = read_profile(str(tmp_path / "p.yaml"))
    assert profile.hardware is not None
    assert (profile.hardware.gpu, profile.hardware.count) == ("H100-SXM", 2)
    assert profile.engine.name is Engine.SGLANG
    assert profile.workload.batch == ((8.0, 1.0),)


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 2)], ids=["ctrl-c", "ctrl-d"])
def test_leaving_the_questions_writes_nothing(keys: str, code: int, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.wait_for("Which model")
    if keys == "\x03":
        terminal.process.send_signal(2)
    else:
        os.write(terminal.main, keys.encode())
    assert terminal.finish() == (code, "")
    assert list(tmp_path.iterdir()) == []
