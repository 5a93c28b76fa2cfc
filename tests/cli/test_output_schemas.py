"""What commands print with ``--json`` satisfies the schema that ``schema`` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tuner.cli.app import run

LINES = {
    "recommend": [
        ["recommend", "chat-llama-3.3-70b", "offline-batch-256"],
        ["recommend", "local-qwen3.8-27b-rtx5090"],
        ["recommend", "{alpha}"],
    ],
    "predict": [
        ["predict", "chat-llama-3.3-70b", "--method", "eagle3", "--k", "1:4", "--batch", "8"],
        ["predict", "{alpha}", "--k", "4"],
    ],
    "why": [["why", "chat-llama-3.3-70b"]],
    "verify": [["verify", "--k", "1", "--vocab", "2", "--restarts", "1000", "--samples", "1000"]],
    "catalog": [["catalog", "gpus"], ["catalog", "methods"]],
    "skill": [["skill"]],
    "init": [["init", "--target", "a/b", "--output", "-"]],
    "sweep": [
        ["sweep", "chat-llama-3.3-70b", "--over", "batch=1:64"],
        ["sweep", "--alpha", "0,0.8,1", "--c", "0.05", "--k", "1:10"],
        ["sweep", "--alpha", "0.5,0.7", "--k", "4"],
    ],
    "tree": [["tree", "--acceptance", "0.634,0.108,0.057", "--nodes", "15", "--depth", "4"]],
    "error": [["recommend", "no-such.yaml"], ["recommend", "{broken}"], ["nonsense"]],
}
CASES = [(name, line) for name, lines in LINES.items() for line in lines]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "alpha": "overrides: {acceptance_rate: 0.8, draft_cost_ratio: 0.05}\n",
        "broken": "target: a/b\nworkload: {batch: 0, top_p: 2}\n",
    }
    paths = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name])
    return {name: str(path) for name, path in paths.items()}


def printed(capsys: pytest.CaptureFixture[str], *line: str) -> Any:
    run([*line, "--json"])
    out, _ = capsys.readouterr()
    return json.loads(out)


@pytest.mark.parametrize("name", LINES)
def test_the_schema_is_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.Draft202012Validator.check_schema(printed(capsys, "schema", name))


@pytest.mark.parametrize(("name", "line"), CASES, ids=[" ".join(line) for _, line in CASES])
def test_documents_satisfy_their_schema(
    name: str, line: list[str], files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    schema = printed(capsys, "schema", name)
    document = printed(capsys, *(word.format(**files) for word in line))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_the_example_of_an_error_holds(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    error = printed(capsys, "recommend", files["broken"])["error"]
    assert error["where"] == {"file": files["broken"], "line": 2, "key": "workload.batch"}
    assert [problem["where"]["key"] for problem in error["problems"]] == [
        "workload.batch",
        "workload.top_p",
    ]


def test_a_schema_refuses_what_lacks_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "schema", "recommend")
    document = printed(capsys, "recommend", "chat-llama-3.3-70b")
    del document["profiles"][0]["decision"]["state"]
    with pytest.raises(jsonschema.ValidationError, match=re.escape("'state'")):
        jsonschema.Draft202012Validator(schema).validate(document)
