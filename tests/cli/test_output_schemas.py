"""What commands print with ``--json`` satisfies the schema that ``schema`` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tuner.cli.app import run
from tuner.cli.commands import COMMANDS

LINES = {
    "recommend": [
        ["recommend", "chat-llama-3.3-70b", "offline-batch-256"],
        ["recommend", "local-qwen3.8-27b-rtx5090"],
        ["recommend", "{alpha}"],
        ["recommend", "chat-llama-3.3-70b", "--engine", "sglang"],
        ["recommend", "chat-llama-3.3-70b", "--engine", "sglang", "--emit", "shell"],
        ["recommend", "chat-llama-3.3-70b", "--baseline-command", "--bench-command"],
    ],
    "predict": [
        ["predict", "chat-llama-3.3-70b", "--method", "eagle3", "--k", "1:4", "--batch", "8"],
        ["predict", "{alpha}", "--k", "4"],
    ],
    "why": [["why", "chat-llama-3.3-70b"]],
    "verify": [["verify", "--k", "1", "--vocab", "2", "--restarts", "1000", "--samples", "1000"]],
    "simulate": [
        ["simulate", "--k", "1:2", "--batch", "8", "--steps", "8"],
        ["simulate", "--tree", "2x2", "--batch", "8", "--steps", "8"],
        ["simulate", "--model", "markov", "--noise", "0.2", "--batch", "8", "--steps", "8"],
    ],
    "lesson": [["lesson"], ["lesson", "greedy"]],
    "catalog": [
        ["catalog"],
        ["catalog", "methods"],
        ["catalog", "drafters", "Qwen3-8B"],
        ["catalog", "gpus"],
        ["catalog", "models", "llama"],
        ["catalog", "engines"],
        ["catalog", "priors", "eagle3"],
    ],
    "skill": [["skill"], ["skill", "--install", "{folder}"]],
    "init": [["init", "--target", "Qwen/Qwen3-8B", "--output", "-"]],
    "sweep": [
        ["sweep", "chat-llama-3.3-70b", "--over", "batch=1:64"],
        ["sweep", "--alpha", "0,0.8,1", "--c", "0.05", "--k", "1:10"],
        ["sweep", "--alpha", "0.5,0.7", "--k", "4"],
    ],
    "tree": [
        ["tree", "--acceptance", "0.634,0.108,0.057", "--nodes", "15", "--depth", "4"],
        ["tree", "--acceptance", "0.6,0.2", "--nodes", "5", "--allow-gaps", "--mask"],
    ],
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
    return {**{name: str(path) for name, path in paths.items()}, "folder": str(tmp_path / "skills")}


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


def closed(schema: Any, extra: frozenset[str] = frozenset()) -> Any:
    """Return the schema with every object shut: a key that it does not name is an error."""
    if isinstance(schema, list):
        return [closed(item, extra) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("properties", {})
    shut = {
        key: {name: closed(item) for name, item in value.items()}
        if key == "properties"
        else closed(value, frozenset(named))
        if key == "anyOf"
        else closed(value)
        for key, value in schema.items()
    }
    if named and "anyOf" not in schema and "additionalProperties" not in schema:
        shut["additionalProperties"] = False
        shut["properties"] = {**dict.fromkeys(extra, True), **shut["properties"]}
    return shut


@pytest.mark.parametrize(("name", "line"), CASES, ids=[" ".join(line) for _, line in CASES])
def test_every_key_is_in_the_schema(
    name: str, line: list[str], files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    schema = closed(printed(capsys, "schema", name))
    document = printed(capsys, *(word.format(**files) for word in line))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_every_command_with_a_document_has_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """``schema`` prints schemas itself."""
    for name in COMMANDS:
        if name != "schema":
            assert printed(capsys, "schema", name)["$schema"]


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
