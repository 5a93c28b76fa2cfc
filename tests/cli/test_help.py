"""``--help`` speaks in words."""

from __future__ import annotations

import re

import pytest

from tuner.cli.app import run
from tuner.cli.commands import COMMANDS

#: a type of Python's, or an interval in its notation
CODE = re.compile(r"list\[|<(str|int|float|path|file|dir|boolean)\b|x[<>]=?|\brange>")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_type_of_the_language_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert not CODE.search(out), CODE.search(out)
    usage = out.splitlines()[0]
    assert "{" not in usage
    assert "[[" not in usage


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("recommend", ["recommend [OPTIONS] PROFILE...", "1 or more"]),
        ("predict", ["--batch B", "--temperature T", "0 to 2"]),
        ("sweep", ["sweep [OPTIONS] [PROFILE]"]),
        ("catalog", ["catalog [OPTIONS] [TOPIC] [NAME]"]),
    ],
)
def test_words(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([name, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    for word in words:
        assert word in out
