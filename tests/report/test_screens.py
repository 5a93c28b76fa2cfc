"""The screens of predict, why and of a profile sweep."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from tuner.advise.predict import Answer
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation, State
from tuner.records.sweep import ProfileSweep, SweepAxis, SweepPoint
from tuner.records.why import Flip, Why
from tuner.report.prediction import render_predictions
from tuner.report.profile_sweep import render_profile_sweep, sweep_sentence
from tuner.report.profile_sweep_export import profile_sweep_csv, profile_sweep_document
from tuner.report.why import render_why

WIDTHS = [60, 80, 100, 120]


def lines_of(parts: list[RenderableType], width: int) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    for part in parts:
        console.print(part, markup=False, crop=False)
    return stream.getvalue().splitlines()


def answer_of(item: Recommendation, configs: tuple[Prediction, ...]) -> Answer:
    return Answer(
        profile=item.profile,
        title=item.title,
        context_line=item.context_line,
        baseline=item.baseline,
        configs=configs,
        beside_plain=configs,
        warnings=item.warnings,
        assumptions=item.assumptions,
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_predict_keeps_the_order_asked_and_the_width(
    switched_on: Recommendation, width: int
) -> None:
    answer = answer_of(switched_on, switched_on.configs[::-1])
    lines = lines_of(render_predictions(answer, width=width), width)
    assert max(map(cell_len, lines)) <= width
    start = next(place for place, line in enumerate(lines) if line.split()[:1] == ["method"])
    methods = [line.split()[0] for line in lines[start + 1 : start + 7]]
    assert methods == ["plain", "ngram", "draft", "eagle3", "eagle3", "eagle3"]
    assert not any("▸" in line for line in lines)


def test_predict_shows_loads_where_they_differ(switched_on: Recommendation) -> None:
    best = switched_on.configs[0]
    configs = (best, replace(best, batch=64.0, temperature=1.0))
    text = "\n".join(lines_of(render_predictions(answer_of(switched_on, configs), width=120), 120))
    for table in text.split("method")[1:]:
        assert {"batch", "T"} <= set(table.splitlines()[0].split())


def test_predict_explains_its_symbols_and_can_be_quiet(switched_on: Recommendation) -> None:
    answer = answer_of(switched_on, switched_on.configs)
    loud, quiet = (
        lines_of(render_predictions(answer, width=100, quiet=flag), 100) for flag in (False, True)
    )
    assert any(line.startswith("  K drafts a step") for line in quiet)
    assert any(line.startswith("  !  ") for line in loud)
    assert not any(line.startswith("  !  ") for line in quiet)


def test_predict_says_what_clients_see(switched_on: Recommendation) -> None:
    lines = lines_of(
        render_predictions(answer_of(switched_on, switched_on.configs), width=120), 120
    )
    start = lines.index("  what clients see")
    row = " ".join(lines[start + 2].split())
    # step 1.32 × 25.1 ms = 33.1 ms between chunks; 16 ÷ 10.08 ms = 1,587 tokens a second
    assert row == (
        "eagle3 K 5 33.1 ms (29.1–37.7) 4.22 s (3.55–5.02) 1,588 (1,310–1,924) 12.0 ms (9.9–14.5)"
        " + 2.0 ms"
    )
    assert "prefill as computed, no queueing" in "\n".join(lines)


@pytest.fixture
def explained(switched_on: Recommendation) -> Why:
    return Why(
        profile="p",
        title="t",
        decision=switched_on.decision,
        best=switched_on.configs[0],
        flips=(
            Flip(
                what="acceptance length τ", now="3.29", flips_at=None, becomes=None,
                note="this setting breaks even at 1.32", breaks_even_at=1.32,
            ),
            Flip(what="batch", now="16", flips_at="from 192", becomes=State.MEASURE, note=""),
            Flip(what="device", now="H100", flips_at=None, becomes=None, note="the same on all"),
        ),
        next_measurement=switched_on.next_measurement,
    )  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_why_names_each_input_once(explained: Why, width: int) -> None:
    lines = lines_of(render_why(explained, width=width), width)
    assert max(cell_len(line) for line in lines if "--bench-command" not in line) <= width
    text = " ".join(" ".join(lines).split())
    assert "acceptance length τ 3.29 this setting breaks even at 1.32" in text
    assert "batch 16 MEASURE from 192" in text
    assert "device H100 the same on all" in text


def test_why_without_anything_that_drafts(explained: Why) -> None:
    decision = replace(explained.decision, state=State.OFF, reason="nothing can draft here.")
    bare = replace(explained, decision=decision, best=None, flips=(), next_measurement=None)
    assert lines_of(render_why(bare, width=80), 80)[-1].split(maxsplit=1) == [
        "OFF", "Nothing can draft here.",
    ]  # fmt: skip


def test_why_off_though_faster_names_the_reason(explained: Why) -> None:
    decision = replace(explained.decision, state=State.OFF, reason="prefill takes the request.")
    text = "\n".join(lines_of(render_why(replace(explained, decision=decision), width=80), 80))
    assert "OFF      Prefill takes the request.\n" in text


@pytest.fixture
def swept(switched_on: Recommendation) -> ProfileSweep:
    best, shorter = switched_on.configs[:2]

    def point(value: float, item: Prediction, state: State) -> SweepPoint:
        return SweepPoint(
            value=value,
            best=replace(item, batch=value),
            plain_tpot_s=switched_on.baseline.tpot_s,
            state=state,
        )

    return ProfileSweep(
        profile="p",
        title="t",
        axis=SweepAxis.BATCH,
        points=(
            point(1, best, State.ON),
            point(8, best, State.ON),
            point(64, shorter, State.ON),
            point(128, shorter, State.MEASURE),
            point(256, shorter, State.OFF),
            point(512, best, State.OFF),
        ),
    )


def test_a_profile_sweep_in_one_sentence(swept: ProfileSweep) -> None:
    assert sweep_sentence(swept) == (
        "batch 1 to 8: EAGLE-3 at K 5; batch 64: EAGLE-3 at K 4; batch 128: measure EAGLE-3 at "
        "K 4; batch 256 to 512: off."
    )


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_profile_sweep_marks_where_advice_changes(
    swept: ProfileSweep, width: int, blocks: bool
) -> None:
    lines = lines_of(render_profile_sweep(swept, width=width, blocks=blocks), width)
    assert max(map(cell_len, lines)) <= width
    marked = [line.split()[0] for line in lines if line.endswith("◂")]
    assert marked == ["64", "128", "256"]


def test_a_profile_sweep_as_json_and_csv(swept: ProfileSweep) -> None:
    document = json.loads(json.dumps(profile_sweep_document(swept), allow_nan=False))
    result = document["profiles"][0]
    assert [(row["from"], row["to"], row["state"]) for row in result["changes"]] == [
        (1, 8, "on"), (64, 64, "on"), (128, 128, "measure"), (256, 512, "off"),
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(profile_sweep_csv(swept))))
    assert [float(row["speedup"]) for row in rows] == [
        point["speedup"]["mean"] for point in result["points"]
    ]
    assert [row["state"] for row in rows] == ["on", "on", "on", "measure", "off", "off"]


def test_figures_of_recommendations_and_sweeps(
    switched_on: Recommendation, swept: ProfileSweep
) -> None:
    from tuner.report.recommendation_figure import (
        Panel,
        profile_sweep_figure,
        recommendation_figure,
    )

    panels = [
        Panel(profile="a", over_k=switched_on.configs[1::-1], over_batch=swept),
        Panel(profile="b", over_k=(), over_batch=swept),
    ]
    drawing = recommendation_figure(panels, "svg").decode()
    assert "<svg" in drawing
    assert profile_sweep_figure(swept, "png").startswith(b"\x89PNG\r\n")
