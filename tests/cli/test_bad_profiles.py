"""Broken profiles: the sentences and the exit code that each must give, on screen and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tuner.cli.app import run


class Case(NamedTuple):
    """One profile and what is said about it."""

    name: str
    profile: bytes
    lines: list[str]


def load() -> list[Case]:
    text = (Path(__file__).parent / "bad_profiles.txt").read_text()
    cases = []
    for block in text.split("\n### ")[1:]:
        name, _, body = block.partition("\n")
        lines = body.rstrip("\n").split("\n")
        file = [line for line in lines if not line.startswith("> ")]
        said = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
        cases.append(Case(name, ("\n".join(file) + "\n").encode(), said))
    return cases


BYTES = [
    Case("empty", b"", ["p.yaml: is empty; a profile names at least a target."]),
    Case("binary", b"\x7fELF\x02\x01\0\0", ["p.yaml: is not text (it contains NUL bytes)."]),
    Case("latin-1", b"target: a/b\nname: caf\xe9\n", ["p.yaml:2: is not UTF-8 text (byte 0xe9)."]),
    Case(
        "utf-16",
        "target: a/b\n".encode("utf-16"),
        ["p.yaml: is not text (it contains NUL bytes)."],
    ),
    Case(
        "control character",
        b"target: a/b\nname: x\x07y\n",
        ["p.yaml:2: not YAML: control characters are not allowed."],
    ),
    Case(
        "deep nesting",
        b"target: " + b"[" * 500 + b"]" * 500,
        ["p.yaml:1: nested more than 16 deep; a profile is small."],
    ),
    Case(
        "a number of 5,000 digits",
        b"target: a/b\ngpu_hour_usd: 1" + b"0" * 5000 + b"\n",
        [
            "p.yaml:2: gpu_hour_usd: 1" + "0" * 56 + "… is not possible: a number above 0, at most "
            "100,000. Write plain decimal digits."
        ],
    ),
    Case(
        "larger than a profile may be",
        b"target: a/b\n" + b"# padding\n" * 110_000,
        ["p.yaml: larger than 1,024 KiB; a profile is small."],
    ),
    Case(
        "alias bomb",
        b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10)
        ),
        ["p.yaml:1: more than 20,000 values, aliases written out; a profile is small."],
    ),
]
CASES = load() + BYTES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_is_long_and_has_no_doubles() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_on_screen(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "p.yaml").write_bytes(case.profile)
    code = run(["recommend", "p.yaml"])
    out, err = capsys.readouterr()
    lines = err.rstrip("\n").split("\n")
    if lines[-1].endswith("nothing was computed."):
        count = len(lines) - 1
        assert lines.pop() == f"{count} error{'s' if count > 1 else ''}; nothing was computed."
    assert (code, out) == (2, "")
    assert lines == case.lines
    assert [file.name for file in here.iterdir()] == ["p.yaml"]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_as_json(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "p.yaml").write_bytes(case.profile)
    code = run(["recommend", "p.yaml", "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (code, err, document["schema_version"]) == (2, "", 1)
    error = document["error"]
    assert error["code"] == 2
    where = error["where"]
    place = ":".join(str(part) for part in (where["file"], where["line"]) if part is not None)
    first = f"{place}: {where['key']}: " if where["key"] else f"{place}: "
    assert first + error["message"] == case.lines[0]
    assert len(error.get("problems", [error])) == len(case.lines)
