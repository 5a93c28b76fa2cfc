"""``verify`` and ``simulate`` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.cli.app import run


def document(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_verify_says_exact_and_catches_every_planted_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "--k", "3", "--json"]) == 0
    proof = document(capsys)
    assert proof["exact"]
    assert max(row["max_deviation"] for row in proof["enumeration"]) <= 1e-12
    assert {row["num_speculative_tokens"] for row in proof["enumeration"]} == {1, 2, 3}
    assert min(row["steps"] for row in proof["chi_square"]) >= 50_000
    assert proof["g_test"]["samples"] == 100_000
    assert proof["g_test"]["expected_kl"] == pytest.approx(31 / 200_000)
    faults = {row["fault"]: row for row in proof["planted_faults"]}
    assert set(faults) == {"residual", "bonus", "ratio", "rollback"}
    assert all(row["caught"] and row["total_variation"] >= 0.2 for row in faults.values())


@pytest.mark.parametrize("fault", ["residual", "bonus", "ratio", "rollback"])
def test_verify_of_a_broken_sampler_fails(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--break", fault, "--k", "2", "--restarts", "5000", "--samples", "5000"]
    assert run(["verify", *arguments]) == 1
    shown = capsys.readouterr()
    assert "NOT EXACT" in shown.out
    assert shown.err.startswith("not exact: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vocab", "1"],
        ["--vocab", "6", "--k", "4"],
        ["--k", "0"],
        ["--restarts", "10"],
        ["--samples", "-5"],
        ["--level", "0"],
        ["--level", "nan"],
        ["--seed", "-1"],
        ["--break", "everything"],
    ],
)
def test_verify_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_simulate_agrees_with_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--alpha", "0.8", "--k", "4", "--json"]) == 0
    (trial,) = document(capsys)["trials"]
    length = trial["acceptance_length"]
    assert length["formula"] == pytest.approx(3.3616)
    assert abs(length["measured"] - 3.3616) < 4.5 * length["standard_error"]
    rate = trial["acceptance_rate"]
    assert rate["given"] == 0.8
    assert rate["one_minus_total_variation"] == pytest.approx(0.8)
    assert abs(rate["measured"] - 0.8) < 4.5 * rate["standard_error"]
    assert sum(trial["accepted_histogram"]) == 256 * 400
    cache = trial["kv_cache"]
    assert cache["computed"] == cache["committed"] + cache["discarded"]
    assert cache["recomputed"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model", "markov", "--noise", "0.1,1", "--vocab", "8"],
        ["--model", "mlp", "--noise", "0.2", "--k", "1:3"],
        ["--model", "ngram", "--draft-order", "0:2", "--k", "2,4"],
        ["--alpha", "0.5,0.9", "--k", "1:14", "--temperature", "0.8", "--top-k", "10"],
        ["--top-p", "0.9"],
    ],
)
@pytest.mark.parametrize("width", [80, 120])
def test_simulate_screens_fit(
    arguments: list[str],
    width: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["simulate", *arguments, "--batch", "16", "--steps", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert any("measured" in line for line in lines)


def test_simulate_reads_a_text_and_draws(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the rat sat on the cat " * 20, encoding="utf-8")
    for name in ("curve.svg", "curve.png"):
        plot = tmp_path / name
        arguments = ["--model", "ngram", "--text", str(text), "--draft-order", "0,1", "--k", "1:3"]
        run_arguments = [*arguments, "--batch", "8", "--steps", "20", "--plot", str(plot)]
        assert run(["simulate", *run_arguments]) == 0
        assert plot.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--alpha", "0.5", "--noise", "1"], "give one"),
        (["--model", "ngram", "--alpha", "0.5"], "--draft-order"),
        (["--model", "mlp", "--alpha", "0.5"], "--noise"),
        (["--draft-order", "2"], "--model ngram"),
        (["--model", "ngram", "--draft-order", "9"], "0 to 8"),
        (["--alpha", "1.5"], "between 0 and 1"),
        (["--alpha", "x"], "not a number"),
        (["--noise", "-1"], "0 to 100"),
        (["--k", "0"], "1 to 64"),
        (["--c", "-1"], "0 or more"),
        (["--vocab", "1"], "2 to 1,024"),
        (["--order", "0"], "1 to 8"),
        (["--batch", "1"], "at least 2"),
        (["--steps", "100000000"], "draft tokens"),
        (["--temperature", "-1"], "temperature"),
        (["--model", "markov", "--vocab", "1024", "--order", "3"], "rows"),
        (["--text", "x.txt"], "--model ngram"),
        (["--model", "ngram", "--text", "no-such-file.txt"], "no-such-file.txt"),
        (["--plot", "curve.pdf"], ".png or .svg"),
        (["--seed", "-1"], "0 or more"),
    ],
)
def test_simulate_refuses(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *arguments]) == 2
    assert word in capsys.readouterr().err


def test_simulate_refuses_odd_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, word in ((b"\xff\xfe\x00", "UTF-8"), (b"", "empty"), (b"aaaa", "different")):
        path = tmp_path / "odd.txt"
        path.write_bytes(content)
        assert run(["simulate", "--model", "ngram", "--text", str(path)]) == 2
        assert word in capsys.readouterr().err
