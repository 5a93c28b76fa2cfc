"""Quoted commands, handed to the shells that people paste them into."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.engines import emit, pretty, shell_line
from tuner.errors import InputError
from tuner.records.config import SpecConfig
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine, Method
from tuner.records.model import Drafter

SHELLS = [
    [path, *options]
    for name, options in (("bash", ["--norc"]), ("dash", []), ("zsh", ["-f"]), ("sh", []))
    if (path := shutil.which(name))
]
AWKWARD = [
    "a b",
    "two  blanks ",
    "it's",
    "''",
    'say "hi"',
    "$(touch pwned)",
    "`id`",
    "$HOME",
    "${X:-y}",
    "line\nbreak",
    "tab\there",
    "cr\rhere",
    "back\\slash",
    "end\\",
    "glob*?[a]",
    "{a,b}",
    "~root",
    "=ls",
    "a=b",
    "!history",
    "#comment",
    "%1",
    "^x^y",
    "a;b",
    "a&b|c>d<e",
    "-leading",
    "--",
    "モデル/重み",
    "naïve-Größe",
    "emoji🙂",
    "",
    "\\\n",
]


def read_back(shell: list[str], texts: list[str]) -> list[list[str]]:
    """Let a shell split each text; it prints what it got, NUL after every word."""
    script = "".join(f'set -- {text}\nprintf \'%s\\0\' "$#" "$@"\n' for text in texts)
    done = subprocess.run(
        [*shell, "-c", script],
        capture_output=True,
        check=True,
        timeout=30,
        env={"LC_ALL": "C.UTF-8", "PATH": "/nonexistent", "HOME": "/nonexistent"},
    )
    assert done.stderr == b""
    words = iter(done.stdout.decode().split("\0")[:-1])
    return [[next(words) for _ in range(int(count))] for count in words]


def test_there_are_shells_to_ask() -> None:
    assert len(SHELLS) >= 2


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0].rsplit("/", 1)[-1])
def test_awkward_words_come_back_unchanged(shell: list[str]) -> None:
    commands = [["run", word, "after"] for word in AWKWARD] + [["run", *AWKWARD]]
    assert read_back(shell, [shell_line(argv) for argv in commands]) == commands
    assert read_back(shell, [pretty(argv, 30) for argv in commands]) == commands


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0].rsplit("/", 1)[-1])
@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP])
def test_emitted_commands_come_back_unchanged(shell: list[str], engine: Engine) -> None:
    commands = [
        emit(
            EmitRequest(
                engine=engine,
                target=f"models/{word}.gguf",
                config=SpecConfig(
                    method=Method.EAGLE3,
                    drafter=Drafter(path_or_id=f"{word}/head.gguf", method=Method.EAGLE3),
                    num_speculative_tokens=4,
                ),
            )
        )
        for word in AWKWARD
    ]
    argvs = [list(command.argv) for command in commands]
    assert read_back(shell, [command.shell for command in commands]) == argvs
    for width in (20, 80, 120):
        assert read_back(shell, [pretty(command.argv, width) for command in commands]) == argvs


@settings(deadline=None, derandomize=True, max_examples=20)
@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(10, 100),
)
def test_any_text_comes_back_unchanged(commands: list[list[str]], width: int) -> None:
    for shell in SHELLS:
        assert read_back(shell, [shell_line(argv) for argv in commands]) == commands
        assert read_back(shell, [pretty(argv, width) for argv in commands]) == commands


def test_lines_stay_within_the_width_where_words_allow() -> None:
    argv = ["vllm", "serve", "meta-llama/Llama-3.3-70B-Instruct", "--tensor-parallel-size", "4"]
    argv += [
        "--speculative-config",
        '{"method": "ngram", "num_speculative_tokens": 5, "x": [[1, 2, 3]]}',
    ]
    for width in (60, 80, 100):
        assert max(map(len, pretty(argv, width).splitlines())) <= width


def test_names_that_start_with_a_dash_stay_operands() -> None:
    for engine in (Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP):
        command = emit(EmitRequest(engine=engine, target="-rf"))
        assert "./-rf" in command.argv
        assert "-rf" not in command.argv


def test_a_nul_cannot_be_passed_on() -> None:
    with pytest.raises(InputError, match="NUL"):
        emit(EmitRequest(engine=Engine.VLLM, target="a\0b"))
