"""The ``catalog`` command: screens that fit, one JSON document, sentences for what is unknown."""

from __future__ import annotations

import json
import re

import pytest

from tuner.cli.app import run
from tuner.cli.catalog import Topic

TOPICS = [topic.value for topic in Topic]
FILTERED = [
    "methods eagle3",
    "methods lookup",
    "drafters llama-3.3",
    "drafters Qwen/Qwen3-8B",
    "drafters microsoft/phi-4",
    "drafters RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
    "drafters z-lab/Qwen3.8-27B-DFlash2",
    "gpus h100",
    "gpus rtx 4090",
    "gpus RTX-5090",
    "models qwen3",
    "models deepseek-ai/DeepSeek-V3",
    "models Llama-3.3-70B-Instruct-FP8",
    "engines vllm",
    "priors eagle3",
    "priors eagle3 code",
]


def shown(capsys: pytest.CaptureFixture[str], command: str) -> str:
    assert run(["catalog", *command.split()]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("command", ["", *TOPICS, *FILTERED])
def test_screens_fit(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    command: str,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = shown(capsys, command)
    assert text.strip()
    for line in text.splitlines():
        assert len(line) <= width, line
        assert line == line.rstrip()
        assert not re.search(r"\x1b|None|nan", line)


@pytest.mark.parametrize("command", ["", *TOPICS, *FILTERED])
def test_json_is_one_document(capsys: pytest.CaptureFixture[str], command: str) -> None:
    document = json.loads(shown(capsys, f"{command} --json"))
    assert document["schema_version"] == 1
    assert document["catalog_date"] == "2026-11"
    assert isinstance(document["rows"], list)
    if document["topic"] in ("models", "gpus", "drafters"):
        for row in document["rows"]:
            assert row["source"]
            assert row["grade"]
            assert row["date"]


def test_one_model_says_what_was_stated_and_what_was_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(capsys, "models deepseek-ai/DeepSeek-V3")
    assert "671B in all" in text
    assert "(derived)" in text
    assert "37B active" in text
    assert "grade" in text
    assert "source" in text


def test_a_target_without_drafters_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(shown(capsys, "drafters microsoft/phi-4").split())
    for words in ("no published drafter", "n-gram", "suffix", "same tokenizer", "training"):
        assert words in text


def test_what_is_not_proposed_has_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert "needs forks" in shown(capsys, "drafters Qwen/Qwen3.8-27B")


def test_one_method_says_where_it_stops(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "methods medusa")
    for words in ("needs", "limits", "typical acceptance", "2401.10774", "not vLLM"):
        assert words in text


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("gpu", 2, "Did you mean gpus?"),
        ("nonsense", 2, "methods, drafters"),
        ("models Llama-9-70B", 4, "Nearest"),
        ("gpus H101", 4, "Nearest"),
        ("drafters who/knows", 4, "matches"),
        ("methods telepathy", 4, "matches"),
        ("engines tgi", 4, "matches"),
        ("priors telepathy", 4, "matches"),
    ],
)
def test_unknown_names(
    capsys: pytest.CaptureFixture[str], command: str, code: int, words: str
) -> None:
    assert run(["catalog", *command.split()]) == code
    assert words in capsys.readouterr().err


def test_priors_that_are_not_there_tell_methods_from_tasks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["catalog", "priors", "medusa"]) == 4
    message = capsys.readouterr().err
    methods, tasks = re.findall(r"Methods with measured chains: (.*)\. Tasks: (.*)\.", message)[0]
    assert {"eagle3", "ngram"} <= set(methods.split(", "))
    assert {"chat", "code"} <= set(tasks.split(", "))
    assert not set(methods.split(", ")) & set(tasks.split(", "))


def test_priors_of_lookups_do_not_gain_from_temperature(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # What is copied has no distribution: the target's own chance of the token decides, and that
    # is smaller at temperature 1 than the chance that it is the most likely one.
    for row in json.loads(shown(capsys, "priors ngram --json"))["rows"]:
        if row["task"] is None:
            assert row["acceptance_length_t0"] is row["acceptance_length_t1"] is None
        else:
            assert row["acceptance_length_t1"]["mean"] <= row["acceptance_length_t0"]["mean"]


def test_sources_of_priors_are_counted_and_named_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    rows = json.loads(shown(capsys, "priors --json"))["rows"]
    head, *lines = shown(capsys, "priors").splitlines()
    assert head.split()[-3:] == ["sources", "such", "as"]
    for row, line in zip(rows, lines, strict=False):
        *_, n_sources, example = re.split(r"\s{2,}", line.strip())
        assert int(n_sources) == len(row["sources"])
        if example.endswith("…"):  # cut where a word ends
            assert any(name.startswith(example[:-1] + " ") for name in row["sources"])
        else:
            assert example in row["sources"]


def test_an_error_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "models", "Llama-9-70B", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["code"] == 4
