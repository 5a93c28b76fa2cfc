"""One limit of the temperature, wherever one is given."""

from __future__ import annotations

import pytest

from tuner.cli.app import run

PROFILE = "chat-llama-3.3-70b"
LINES = [
    ["recommend", PROFILE, "--set", "workload.temperature={}"],
    ["predict", PROFILE, "--method", "eagle3", "--k", "2", "--temperature", "{}"],
    ["sweep", PROFILE, "--over", "temperature={}"],
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_two_is_the_most_everywhere(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word.format("2") for word in line]) == 0
    capsys.readouterr()
    assert run([word.format("2.01") for word in line]) == 2
    assert "2.01" in capsys.readouterr().err
