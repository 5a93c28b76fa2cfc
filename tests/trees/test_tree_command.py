"""``tree`` as its users meet it: the document, the screen, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tuner.cli.output_schemas import tree_schema
from tuner.cli.shell import run_shell
from tuner.trees.expected import expected_tokens
from tuner.trees.ranks import SEQUOIA
from tuner.trees.shape import DraftTree
from tuner.trees.static import EAGLE_1, named_tree

VECTOR = ",".join(f"{value:.8f}" for value in SEQUOIA)


def document(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    assert run_shell(["tree", *argv, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    loaded: dict[str, Any] = json.loads(captured.out)
    return loaded


def screen(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert run_shell(["tree", *argv]) == 0
    return capsys.readouterr().out


def test_the_contract_example(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "--acceptance", VECTOR, "--nodes", "63", "--depth", "9")
    jsonschema.validate(found, tree_schema())
    assert found["expected_tokens"] == pytest.approx(3.85231, abs=1e-5)
    assert (found["nodes"], found["depth"]) == (63, 9)
    assert sum(found["depth_histogram"]) == 63
    tree = DraftTree(parents=tuple(found["parents"]), ranks=tuple(found["ranks"]))
    assert expected_tokens(tree, SEQUOIA) == pytest.approx(found["expected_tokens"], abs=1e-7)
    assert found["mask"] is None
    assert found["engines"]["vllm"] is None
    assert found["engines"]["sglang"]["num_draft_tokens"] <= 64
    assert found["engines"]["sglang"]["expected_tokens"] <= found["expected_tokens"] + 1e-9
    assert found["expected_tokens"] == pytest.approx(1.0 + sum(found["survival"]))


def test_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("--acceptance", VECTOR, "--nodes", "63", "--depth", "9", "--allow-gaps")
    found = document(capsys, *argv)
    assert found["expected_tokens"] == pytest.approx(3.85713, abs=1e-5)
    assert found["limits"] == {"nodes": 63, "depth": 9, "allow_gaps": True}


def test_the_mask(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("--acceptance", "0.6,0.3", "--nodes", "3", "--mask")
    mask = np.array(document(capsys, *argv)["mask"])
    assert mask.shape == (4, 4)
    assert (np.diag(mask) == 1).all()
    assert mask.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]]
    assert run_shell(["tree", *argv, "--json"]) == 0
    assert "\n    [1,1,0,1]\n  ],\n" in capsys.readouterr().out
    assert "1..." in screen(capsys, *argv)


def test_one_list_a_depth(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    file.write_text("[[0.9, 0.05], [0.4, 0.3, 0.1]]", encoding="utf-8")
    found = document(capsys, "--per-depth", str(file), "--nodes", "4")
    # 0.9, below it 0.36 + 0.27 + 0.09, against 0.05 beside it
    assert found["expected_tokens"] == pytest.approx(1.0 + 0.9 + 0.36 + 0.27 + 0.09)
    assert found["parents"] == [-1, 0, 1, 1, 1]
    assert found["limits"]["depth"] == 2


@pytest.mark.parametrize("columns", ["60", "80", "120"])
@pytest.mark.parametrize("nodes", ["1", "5", "63", "300"])
def test_nothing_wraps(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, nodes: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = screen(capsys, "--acceptance", VECTOR, "--nodes", nodes, "--depth", "25")
    assert max(map(len, text.splitlines())) <= int(columns)
    assert len(text.splitlines()) < 100
    assert "tokens a step" in text
    assert "--speculative-num-steps" in text
    if nodes == "300":
        assert "more paths" in text


def test_what_the_screen_compares(capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(capsys, "--acceptance", VECTOR, "--nodes", "127", "--depth", "9")
    assert "a chain of 9" in text
    assert "% short" in text
    assert "with gaps between ranks 4.1978" in " ".join(text.split())
    nothing = screen(capsys, "--acceptance", "0", "--nodes", "5")
    assert "Nothing is ever accepted" in nothing


def test_a_drawn_tree(capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(capsys, "--acceptance", "0.5,0.3,0.1", "--nodes", "6", "--depth", "3")
    assert "root ─ 1 ─ 1 ─ 1" in text


def test_drawings_have_one_line_a_leaf() -> None:
    from tuner.report.tree_drawing import draw_tree

    tree = named_tree(EAGLE_1)
    leaves = sum(not children for children in tree.children())
    lines = draw_tree(tree, width=80, most_lines=100)
    assert len(lines) == leaves
    digits = sum(character.isdigit() for line in lines for character in line)
    assert digits == tree.nodes
    short = draw_tree(tree, width=80, most_lines=5, blocks=False)
    assert len(short) == 6
    assert all(line.isascii() for line in short)
    assert short[-1].endswith(f"{leaves - 5} more paths")


def test_a_width_of_many_digits_is_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    usual = screen(capsys, "--acceptance", "0.5", "--nodes", "3")
    for name in ("COLUMNS", "LINES"):
        monkeypatch.setenv(name, "1" * 5001)
    assert screen(capsys, "--acceptance", "0.5", "--nodes", "3") == usual


def test_deep_trees_do_not_flood_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(capsys, "--acceptance", "1", "--nodes", "4096", "--depth", "4096")
    assert len(text.splitlines()) < 100
    assert "4,056 more levels, down to 4,096" in text
    assert "4097.0000 tokens a step" in text


def test_no_engine_setting_where_nothing_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    said = screen(capsys, "--acceptance", "0,0,0", "--nodes", "6").split()
    assert " ".join(said) == (
        "Nothing is ever accepted: no tree is better than plain decoding, 1 token a step."
    )
    found = document(capsys, "--acceptance", "0,0,0", "--nodes", "6")
    jsonschema.validate(found, tree_schema())
    assert set(found["engines"].values()) == {None}


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ([], "exactly one of --acceptance"),
        (["--nodes", "5"], "exactly one of --acceptance"),
        (["--acceptance", "0.5", "--per-depth", "x.json", "--nodes", "5"], "exactly one"),
        (["--acceptance", "0.5"], "--nodes is needed"),
        (["--acceptance", "0.7,0.4", "--nodes", "5"], "sums to 1.1"),
        (["--acceptance", "0.5,-0.1", "--nodes", "5"], "-0.1"),
        (["--acceptance", "1.5", "--nodes", "5"], "1.5"),
        (["--acceptance", "nan", "--nodes", "5"], "nan"),
        (["--acceptance", "inf", "--nodes", "5"], "inf"),
        (["--acceptance", "a,b", "--nodes", "5"], "a"),
        (["--acceptance", "", "--nodes", "5"], "--acceptance"),
        (["--acceptance", "0.5", "--nodes", "0"], "nodes 0"),
        (["--acceptance", "0.5", "--nodes", "-4"], "nodes -4"),
        (["--acceptance", "0.5", "--nodes", "1000000"], "nodes 1000000"),
        (["--acceptance", "0.5", "--nodes", "5", "--depth", "0"], "depth 0"),
        (["--acceptance", "0.5", "--nodes", "5.5"], "5.5"),
        (["--per-depth", "no-such-file.json", "--nodes", "5"], "no-such-file.json"),
        (["--per-depth", ".", "--nodes", "5"], "directory"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str) -> None:
    found = document(capsys, *argv, code=2)
    assert sentence in found["error"]["message"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not JSON"),
        (b"{}", "list of lists"),
        (b"[]", "list of lists"),
        (b"[0.5, 0.2]", "depth 1"),
        (b"[[0.5], []]", "depth 2"),
        (b"[[0.5], [true]]", "depth 2"),
        (b'[[0.5], ["0.2"]]', "depth 2"),
        (b"[[NaN]]", "NaN"),
        (b"[[1e999]]", "inf"),
        (b"[[2]]", "depth 1 holds 2"),
        (b"[[0.9, 0.9]]", "sums to 1.8"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "nested"),
        (b"[[0.5, %s]]" % (b"1" * 5001), "too many digits"),
        (b"[[0.5, %s]]" % (b"1" * 4000), "depth 1 holds 1111"),
    ],
)
def test_files_that_hold_no_ranks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "ranks.json"
    file.write_bytes(content)
    found = document(capsys, "--per-depth", str(file), "--nodes", "5", code=2)
    assert sentence in found["error"]["message"]


def test_more_depth_than_lists(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ranks.json"
    file.write_text("[[0.5]]", encoding="utf-8")
    found = document(capsys, "--per-depth", str(file), "--nodes", "5", "--depth", "3", code=2)
    message = found["error"]["message"]
    assert message.startswith("--depth 3 with 5 nodes needs 3 lists; this has 1 list")
    assert found["error"]["where"]["file"] == str(file)
