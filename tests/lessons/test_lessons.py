"""Every lesson runs, says what its page says, and its page in docs/ is the one that is written."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tuner.cli.app import run
from tuner.lessons.catalogue import LESSONS, lesson_text
from tuner.lessons.outcome import Outcome
from tuner.report.lesson_figure import lesson_figure
from tuner.report.lessons import contents_page, lesson_page, plain_text

PAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "lessons"
#: what the curriculum covers; a lesson may be added, none may vanish
WANTED = {
    "theorem",
    "greedy",
    "residual",
    "chi-square",
    "expected-tokens",
    "sensitivity",
    "draft-length",
    "tree-mask",
    "tree-or-chain",
    "kv-rollback",
    "distillation",
    "exposure-bias",
    "road",
}
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]\d+)?")
BARS = re.compile(r"[▁▂▃▄▅▆▇█▏▎▍▌▋▊▉●▲■◆]+")


@cache
def outcome(name: str) -> Outcome:
    return LESSONS[name].run()


def cells(name: str, table: int = 0) -> list[tuple[str, ...]]:
    return list(outcome(name).tables[table].rows)


def skeleton(page: str) -> list[str]:
    """The page without numbers, bars and the spaces that align them, and without the plot."""
    text = "\n".join(line for line in page.splitlines() if "┤" not in line and "└" not in line)
    return NUMBER.sub("#", BARS.sub("", text)).split()


def values(page: str) -> list[float]:
    lines = [line for line in page.splitlines() if "┤" not in line and "└" not in line]
    return [float(text.replace(",", "")) for text in NUMBER.findall("\n".join(lines))]


def test_the_curriculum_is_complete() -> None:
    assert set(LESSONS) >= WANTED


@pytest.mark.parametrize("name", LESSONS)
def test_page_in_docs_is_what_the_lesson_gives_today(name: str) -> None:
    """Words exactly; numbers to 3 %, since sums on another machine may round otherwise."""
    stored = (PAGES / f"{name}.md").read_text("utf-8")
    fresh = lesson_page(LESSONS[name], lesson_text(name), outcome(name))
    assert skeleton(stored) == skeleton(fresh)
    np.testing.assert_allclose(values(stored), values(fresh), rtol=0.03, atol=0.02)
    assert (PAGES / f"{name}.svg").stat().st_size > 1_000


def test_contents_page_lists_all() -> None:
    assert (PAGES / "README.md").read_text("utf-8") == contents_page(list(LESSONS.values()))


@pytest.mark.parametrize("name", LESSONS)
def test_pages_explain_with_references(name: str) -> None:
    text = lesson_text(name)
    assert 150 <= len(text.split()) <= 600
    assert "References:" in text
    assert "**" not in plain_text(text)
    assert "`" not in plain_text(text)


@pytest.mark.parametrize("command", sorted({c for x in LESSONS.values() for c in x.related}))
def test_commands_that_go_with_a_lesson_run(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(shlex.split(command))
    assert code == (1 if "--break" in command else 0)
    assert len(capsys.readouterr().out.splitlines()) > 5


@pytest.mark.parametrize("name", ["residual", "draft-length"])
def test_figures_are_drawn(name: str) -> None:
    for image_format, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert lesson_figure(outcome(name), image_format).startswith(start)


def test_theorem_adds_up_and_enumerates() -> None:
    for _, target, *_, total in cells("theorem"):
        assert float(total) == float(target)
    assert all(float(row[-1]) <= 1e-12 for row in cells("theorem", 1))


def test_greedy_text_is_the_same_and_passes_differ() -> None:
    rows = cells("greedy")
    assert {row[-1] for row in rows} == {"yes"}
    assert int(rows[0][1]) == 20  # 100 tokens, 5 a pass
    assert int(rows[-1][1]) > 30


def test_only_the_residual_has_distance_zero() -> None:
    distances = {row[0]: row[-1] for row in cells("residual")}
    assert float(distances["refill from the residual"]) == 0.0
    assert float(distances["refill from the target"]) > 0.1


def test_chi_square_accepts_the_sound_sampler_only() -> None:
    for name, *_, verdict in cells("chi-square"):
        assert (verdict == "fits") == (name == "exact")


def test_an_alpha_near_nine_tenths_gives_four_to_five_tokens() -> None:
    near = min(cells("expected-tokens"), key=lambda row: abs(float(row[3]) - 0.9))
    assert abs(float(near[3]) - 0.9) < 0.02
    assert 3.8 <= float(near[6]) <= 5.5  # N 4
    assert 4.0 <= float(near[7]) <= 5.5  # N 6
    alphas = [float(row[3]) for row in cells("expected-tokens")]
    assert alphas == sorted(alphas, reverse=True)


def test_sensitivity_at_k_4() -> None:
    """(1 − α^5) ÷ (1 − α) by hand: 1.9375, 2.7731, 3.7086, 4.5244."""
    rows = {row[0]: (float(row[1]), float(row[2])) for row in cells("sensitivity")}
    for alpha, expected in (("0.5", 1.938), ("0.7", 2.773), ("0.85", 3.709), ("0.95", 4.524)):
        assert rows[alpha][0] == expected
        assert rows[alpha][1] == pytest.approx(expected, rel=0.02)


def test_wall_time_still_falls_at_ten() -> None:
    times = [float(row[3]) for row in cells("draft-length")]
    assert times == sorted(times, reverse=True)
    assert times[-1] == 0.204
    assert "N = 15" in outcome("draft-length").findings[0]


def test_rules_agree_at_temperature_0_and_part_above() -> None:
    first, *_, last = cells("temperature")
    assert len(set(first[1:])) == 1
    ratio, block, exact_match, _ = map(float, last[1:])
    assert block >= ratio - 0.05
    assert exact_match < ratio - 0.5


def test_mask_done_right_is_exact_and_done_wrong_is_far() -> None:
    right, causal, in_a_row = (float(row[1]) for row in cells("tree-mask", 1))
    assert right < 1e-6
    assert min(causal, in_a_row) > 0.1


def test_the_tree_beats_both_chains_where_verification_is_free() -> None:
    name, verify, passes, length, same_verify, same_passes = cells("tree-or-chain")[0]
    assert (name, verify, passes) == ("[2, 2, 2]", "15", "3")
    assert float(length) > float(same_verify.split()[-1]) > float(same_passes.split()[-1])


def test_kv_cache_computes_nothing_twice() -> None:
    for row in cells("kv-rollback", 1):
        computed, committed, discarded, _, twice = map(int, row[1:])
        assert computed == committed + discarded
        assert twice == 0


def test_training_on_the_target_beats_training_on_tokens() -> None:
    for _, untrained, on_tokens, on_target, _ in cells("distillation"):
        assert float(untrained) < float(on_tokens) < float(on_target)


def test_training_on_own_states_cures_exposure_bias() -> None:
    plain, _, unrolled = ([float(cell) for cell in row[1:8]] for row in cells("exposure-bias"))
    assert plain[-1] < 0.5 * plain[0]
    assert min(unrolled[1:]) > 0.9 * max(unrolled)


def test_each_stop_of_the_road_is_faster() -> None:
    speeds = [float(row[-1].rstrip("×")) for row in cells("road")]
    assert speeds == sorted(speeds)


def test_list_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lesson", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["lessons"]
    assert [row["name"] for row in listed] == list(LESSONS)
    assert run(["lesson", "residual", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tables"][0]["rows"]
    assert document["curves"][0]["y"]


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("width", [80, 120])
def test_screens_fit(
    name: str,
    width: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = outcome(name)
    monkeypatch.setattr(
        "tuner.lessons.catalogue.LESSONS",
        {name: _finished(name, done)},
    )
    assert run(["lesson", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert any("┤" in line for line in lines)


def _finished(name: str, done: Outcome):
    from dataclasses import replace

    return replace(LESSONS[name], run=lambda: done)


def test_writing_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lesson", "draft-length", "--write", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"draft-length.md", "draft-length.svg"}
    assert run(["lesson", "residual", "--plot", str(tmp_path / "figure.png")]) == 0
    assert (tmp_path / "figure.png").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["theorems"], "Did you mean theorem?"),
        (["zzz"], "Known: theorem"),
        (["--plot", "figure.png"], "name it"),
        (["--write", "no-such-folder"], "not a directory"),
        (["theorem", "--plot", "figure.txt"], ".png or .svg"),
    ],
)
def test_lesson_refuses(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lesson", *arguments]) == 2
    assert word in capsys.readouterr().err
