"""``specdec-tune sweep`` as a user meets it: options, files, errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.cli.app import run

PROFILE = """\
name: swept
target: meta-llama/Llama-3.1-8B-Instruct
hardware: {gpu: H100-SXM, count: 1}
workload: {task: chat, temperature: 0.0, batch: 8, prompt_tokens: 500, output_tokens: 200}
"""


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "swept.yaml"
    path.write_text(PROFILE)
    return str(path)


def test_tokens_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--alpha", "0.5,0.7,0.85,0.95", "--k", "4"]) == 0
    out = capsys.readouterr().out
    assert "4.524" in out
    assert "time/token" not in out


def test_k_defaults_to_one_to_ten(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--alpha", "0.9", "--c", "0.04"]) == 0
    first = capsys.readouterr().out
    assert run(["sweep", "--alpha", "0.9", "--c", "0.04", "--k", "1:10"]) == 0
    assert capsys.readouterr().out == first


def test_json_is_the_whole_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--alpha", "0.8", "--c", "0.05", "--k", "1:12", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["optima"][0]["num_speculative_tokens"] == 8
    assert len(document["points"]) == 12


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, drawing = tmp_path / "points.csv", tmp_path / "curve.SVG"
    line = ["sweep", "--alpha", "0.8", "--c", "0.05", "--csv", str(table), "--plot", str(drawing)]
    assert run(line) == 0
    assert table.read_text().startswith("alpha,c,")
    assert len(table.read_text().splitlines()) == 11
    assert b"<svg" in drawing.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.SVG", "points.csv"]
    assert "◂ best" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--alpha is needed"),
        (["--alpha", "1.5"], "alpha: 1.5 is not possible: a number from 0 to 1"),
        (["--alpha", "0.5", "--c", "-0.1"], "c: -0.1 is not possible"),
        (["--alpha", "0.5", "--k", "1.5"], "--k: 1.5 is not a whole number"),
        (["--alpha", "0.5", "--k", "-1:3"], "k: -1 is not possible"),
        (["--alpha", "nan"], "--alpha: 'nan' is not a finite number"),
        (["--alpha", ""], "--alpha: '' has an empty place"),
        (["--alpha", "0:1:0.0001", "--c", "0:1:0.0001", "--k", "1"], "the grid has 100,020,001"),
        (["--alpha", "0.5", "--over", "batch=1:8"], "--over needs a profile"),
        (["--alpha", "0.5", "--csv", "/"], "--csv: / is a directory"),
        (["--alpha", "0.5", "--csv", "missing/a.csv"], "the directory missing does not exist"),
        (["--alpha", "0.5", "--plot", "a.pdf"], "--plot: a.pdf must end in .png or .svg"),
        (["--alpha", "0.5", "--plot", "a"], "must end in .png or .svg"),
        (["p.yaml", "--alpha", "0.5"], "--alpha belongs to the formula"),
        (["p.yaml"], "--over is needed with a profile"),
        (["p.yaml", "--over", "load=1:8"], "must be one of batch, temperature, k"),
        (["p.yaml", "--over", "batch"], "must be one of batch, temperature, k"),
        (["p.yaml", "--over", "batch=0,1"], "--over batch: 0 is not possible: at least 1"),
        (["p.yaml", "--over", "temperature=0:3:0.5"], "is not possible: from 0 to 2"),
        (["p.yaml", "--over", "batch=1:2000:1"], "2,000 values; at most 512"),
    ],
)
def test_errors_say_what_to_do(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sweep", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_an_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--alpha", "2", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["code"] == 2
    assert "alpha: 2" in document["error"]["message"]


def test_a_place_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--alpha", "0.5", "--csv", "/proc/points.csv"]) == 2
    assert "--csv: " in capsys.readouterr().err


def test_a_profile_over_batch(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", profile, "--over", "batch=1:16", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    result = document["profiles"][0]
    assert [point["value"] for point in result["points"]] == [1, 2, 4, 8, 16]
    assert result["changes"][0]["from"] == 1
    assert result["changes"][-1]["to"] == 16
    for point in result["points"]:
        best = point["best"]
        assert best["batch"] == point["value"]
        plain, own = point["plain_tpot_ms"]["mean"], best["tpot_ms"]["mean"]
        assert best["speedup"]["mean"] == pytest.approx(plain / own, rel=1e-9)


def test_a_profile_over_temperature(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, drawing = tmp_path / "t.csv", tmp_path / "t.png"
    over = ["--over", "temperature=0:1.2:0.4", "--csv", str(table), "--plot", str(drawing)]
    assert run(["sweep", profile, *over]) == 0
    out = capsys.readouterr().out
    assert "T 0" in out
    rows = table.read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["temperature", "0.0", "0.4", "0.8", "1.2"]
    assert drawing.read_bytes().startswith(b"\x89PNG")


def test_a_profile_over_draft_length(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", profile, "--over", "k=1:4", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["profiles"][0]["points"]
    assert [point["best"]["num_speculative_tokens"] for point in points] == [1, 2, 3, 4]
    assert run(["sweep", profile, "--over", "k=1:4"]) == 0
    assert "Best at K " in capsys.readouterr().out


def test_a_stream_without_unicode_still_reads_well() -> None:
    line = [sys.executable, "-m", "tuner", "sweep", "--alpha", "0.8", "--c", "0.1", "--k", "1:4"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "70"}
    done = subprocess.run(line, capture_output=True, env=environment, check=True)
    text = done.stdout.decode("ascii")
    assert "  alpha 0.8 | c 0.1 | K 1, 2, 3, 4" in text
    assert "2.40x  < best" in text
    assert "?" not in text
    assert max(map(len, text.splitlines())) <= 70
