"""Broken command lines: the sentence and the exit code that each must give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tuner.cli.app import run
from tuner.profile import shipped_profiles


class Case(NamedTuple):
    """A command line; the first line of stderr; the exit code."""

    line: str
    says: str
    code: int = 2


NO_FILE = "there is no such file."
CASES = [
    Case("recomend p.yaml", "there is no command 'recomend'. Did you mean recommend?"),
    Case("--bogus", "no such option: --bogus"),
    Case("recommend", "PROFILE... is missing; see --help."),
    Case("recommend --bogus p.yaml", "no such option: --bogus"),
    Case("recommend none.yaml", f"none.yaml: {NO_FILE}"),
    Case("recommend ./no/such", f"./no/such: {NO_FILE}"),
    Case("recommend .", ".: is a directory; name a file."),
    Case(
        "recommend chat-lama-3.3-70b",
        "'chat-lama-3.3-70b' is neither a file nor a shipped profile; did you mean "
        "chat-llama-3.3-70b?",
    ),
    Case(
        "recommend {long}",
        f"'{'x' * 57}…' is neither a file nor a shipped profile; shipped are "
        f"{', '.join(shipped_profiles())}.",
    ),
    Case("recommend p.yaml none.yaml", f"none.yaml: {NO_FILE}"),
    Case("recommend --top many p.yaml", "--top: 'many' is not a whole number."),
    Case("recommend --top nan p.yaml", "--top: 'nan' is not a whole number."),
    Case("recommend --top 0 p.yaml", "--top: 0 is not possible: at least 1."),
    Case("recommend --top -3 p.yaml", "--top: -3 is not possible: at least 1."),
    Case("recommend p.yaml --top", "option '--top' requires an argument."),
    Case(
        "recommend --engine vlm p.yaml",
        "--engine: 'vlm' is not one of vllm, sglang, trtllm, llamacpp. Did you mean vllm?",
    ),
    Case(
        "recommend --set workload.batch p.yaml",
        "--set: 'workload.batch' is not possible: KEY=VALUE, such as workload.batch=8.",
    ),
    Case(
        "recommend --set =3 p.yaml",
        "--set: '=3' is not possible: KEY=VALUE, such as workload.batch=8.",
    ),
    Case(
        "recommend --set workload.batch=x p.yaml",
        "--set: workload.batch: 'x' is not possible: a whole number from 1 to 65,536, or shares "
        "like {1: 0.5, 32: 0.5}.",
    ),
    Case(
        "recommend --set worklaod.batch=3 p.yaml",
        "--set: worklaod: unknown key. Did you mean workload?",
    ),
    Case(
        "recommend --set workload.batch={1: p.yaml",
        "--set: workload.batch: '{1:' is not a value: not YAML: a value is missing, or a bracket "
        "is not closed.",
    ),
    Case(
        "recommend --set target.x=3 p.yaml",
        "--set: target: 'meta-llama/Llama-3.1-8B-Instruct' has no keys inside; set it as a whole.",
    ),
    Case(
        "recommend --set observed.3.batch=8 p.yaml",
        "--set: observed.3: there is no entry '3': the list has 1.",
    ),
    Case(
        "recommend --set workload.concurrency=8 p.yaml",
        "--set: workload.concurrency: contradicts workload.batch: exactly one of batch, "
        "concurrency, request_rate; set the others to null.",
    ),
    Case("schema profil", "there is no schema 'profil'; did you mean profile?"),
    Case(
        "schema zzz",
        "there is no schema 'zzz'; there are profile, recommend, predict, why, sweep, tree, "
        "simulate, verify, lesson, catalog, skill, init, error.",
    ),
    Case("schema profile extra", "got unexpected extra argument"),
    Case("init", "--target is needed where no questions can be asked."),
    Case(
        "init --target a/b --batch x",
        "workload.batch: 'x' is not possible: a whole number from 1 to 65,536, or shares like "
        "{1: 0.5, 32: 0.5}.",
    ),
    Case(
        "init --target a/b --batch 4 --concurrency 4",
        "workload.concurrency: contradicts workload.batch: exactly one of batch, concurrency, "
        "request_rate; set the others to null.",
    ),
    Case(
        "init --target a/b --task chta",
        "workload.task: 'chta' is not possible: one of chat, code, math, summarization, rag, "
        "translation, qa, structured, creative, reasoning, agent, or shares like "
        "{chat: 0.7, code: 0.3}. Did you mean chat?",
    ),
    Case("init --target a/b --output p.yaml", "--output: p.yaml exists; --force overwrites it."),
    Case("init --target a/b --output no/such.yaml", "--output: the directory no does not exist."),
    Case("init --target a/b --output .", "--output: . is a directory; name a file in it."),
    Case(
        "init --target a/b --engine vlm",
        "--engine: 'vlm' is not one of vllm, sglang, trtllm, llamacpp. Did you mean vllm?",
    ),
]
LONG = "1" * 5001
CUT = f"'{LONG[:37]}…'"
CASES += [
    Case("verify --k {digits}", f"--k: {CUT} is too long for a whole number."),
    Case("simulate --c {digits}", f"--c: {CUT} is too long for a number."),
    Case("simulate --k {digits}", f"--k: {CUT} is too long for a number or a range."),
    Case("simulate --tree {digits}x2", f"{CUT} is not a tree: 2x2x2"),
    Case("simulate --k 0", "--k: 0 is not possible: 1 to 64 draft tokens a step."),
    Case("simulate --k 4,70", "--k: 70 is not possible: 1 to 64 draft tokens a step."),
    Case("simulate --model ngram --text /dev/null", "--text: /dev/null is empty."),
    Case("tree --acceptance 0.5 --nodes {digits}", f"--nodes: {CUT} is too long for a whole"),
    Case("predict p.yaml --k {digits}", f"--k {CUT} is not a whole number or a range like 1:8."),
    Case(
        "predict p.yaml --method eagle3 --tree 5/4/{digits}",
        f"--tree '5/4/{LONG[:33]}…' is not STEPS/TOPK/DRAFT_TOKENS, such as 5/4/8.",
    ),
    Case(
        "recommend p.yaml --set observed.{digits}.tpot_ms=3",
        f"--set: observed.{LONG}: there is no entry '{LONG[:60]}': the list has 1.",
    ),
    Case(
        "recommend p.yaml --set workload.batch={digits}",
        f"--set: workload.batch: {LONG[:57]}… is not possible: a whole number",
    ),
    Case(
        "verify --break rollback --k 1",
        "--break rollback needs --k 2 or more: one draft leaves nothing to undo.",
    ),
]
PROFILE = """\
target: meta-llama/Llama-3.1-8B-Instruct
hardware: {gpu: H100-SXM}
workload: {batch: 1}
observed: [{method: none, tpot_ms: 9}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PROFILE)
    return tmp_path


def words(case: Case) -> list[str]:
    return [
        word.replace("{long}", "x" * 5000).replace("{digits}", LONG) for word in case.line.split()
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.line for case in CASES])
def test_on_screen(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(words(case))
    out, err = capsys.readouterr()
    assert (code, out) == (case.code, "")
    assert err.startswith(case.says)
    assert [file.name for file in here.iterdir()] == ["p.yaml"]
    assert (here / "p.yaml").read_text() == PROFILE


@pytest.mark.parametrize("case", CASES, ids=[case.line for case in CASES])
def test_as_json(case: Case, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["--json", *words(case)])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (code, err) == (case.code, "")
    assert document["error"]["code"] == case.code
    where = document["error"]["where"] or {}
    parts = [str(part) for part in (where.get("file"), where.get("key")) if part]
    assert ": ".join([*parts, document["error"]["message"]]).startswith(case.says)


def test_no_command_prints_the_help_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: specdec-tune ")
    assert err.endswith("no command was given.\n")
