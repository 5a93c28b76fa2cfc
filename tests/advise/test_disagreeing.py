"""Timed rows that contradict each other widen the belief and are named; repeats are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import yaml

from tuner.advise.disagreeing import TimedRow, widen_disagreeing
from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.cost import CostObservation
from tuner.records.decision import Recommendation
from tuner.records.methods import Method

PLAIN = {"method": "none", "batch": 8}
EAGLE = {"method": "eagle3", "num_speculative_tokens": 3, "batch": 8, "acceptance_length": 2.4}


def advised(*rows: dict[str, Any]) -> Recommendation:
    text = {
        "target": "Qwen/Qwen3-32B",
        "hardware": {"gpu": "H100-SXM", "count": 2},
        "engine": {"name": "vllm"},
        "workload": {"task": "code", "temperature": 0.2, "batch": 8, "prompt_tokens": 3000},
        "candidates": {"methods": ["eagle3"]},
        "observed": list(rows),
    }
    return recommend(parse_profile(yaml.safe_dump(text), file="case.yaml", name="case"))


def said(found: Recommendation) -> list[str]:
    return [item.message for item in found.warnings if item.code == "observed-contradiction"]


def plain_width(found: Recommendation) -> float:
    assert found.baseline.tpot_s is not None
    return math.log(found.baseline.tpot_s.p90 / found.baseline.tpot_s.p10)


def plain(place: int, step_s: float, batch: float = 8.0) -> TimedRow:
    return TimedRow(
        place=place, seen=CostObservation(method=Method.NONE, batch=batch, step_s=step_s)
    )


def test_two_rows_get_the_moment_estimate() -> None:
    # two values of equal variance v, d apart: Q = d²/2v, between = d²/2 − v
    rows, (found,) = widen_disagreeing([plain(3, 0.02), plain(5, 0.04)], 0.02)
    between = np.log(2.0) ** 2 / 2.0 - 0.02**2
    assert [row.log_sd**2 for row in rows] == pytest.approx([between, between])
    assert found.places == (3, 5)
    assert "observed[3] and observed[5]" in str(found)
    assert "20 and 40 ms" in str(found)


def test_repeats_and_other_settings_are_left_as_they_are() -> None:
    alike = [plain(0, 0.02), plain(1, 0.0203), plain(2, 0.04, batch=16.0)]
    rows, found = widen_disagreeing(alike, 0.02)
    assert rows == tuple(row.seen for row in alike)
    assert not found


def test_a_time_with_a_speedup_is_held_to_the_plain_run() -> None:
    # 10 ms a token at 3 times plain speed: a plain step of 30 ms, measured 20
    eagle = CostObservation(
        method=Method.EAGLE3,
        batch=8.0,
        num_speculative_tokens=3,
        draft_steps=3,
        verify_tokens=4,
        tpot_s=0.01,
        acceptance_length=3.5,
        speedup=3.0,
    )
    rows, (found,) = widen_disagreeing([plain(0, 0.02), TimedRow(place=1, seen=eagle)], 0.02)
    assert found.values == pytest.approx((0.02, 0.03))
    assert min(row.log_sd for row in rows) > 0.2


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "tpot_ms": 40}], "19.5 and 40 ms"),
        # 8 sequences at 200 tokens a second: 40 ms
        ([{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "output_tok_s": 200}], "19.5 and 40 ms"),
        ([{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "step_ms": 40}], "19.5 and 40 ms"),
        ([{**EAGLE, "step_ms": 20}, {**EAGLE, "tpot_ms": 20}], "EAGLE-3 at batch 8 takes 20 and"),
        ([{**EAGLE, "speedup": 2}, {**EAGLE, "speedup": 0.8}], "1.2 and 3 plain steps"),
        ([{**PLAIN, "tpot_ms": 20}, {**EAGLE, "tpot_ms": 9, "speedup": 0.6}], "20 and 5.4 ms"),
    ],
)
def test_contradicting_rows_are_named(rows: list[dict[str, Any]], named: str) -> None:
    messages = said(advised(*rows))
    assert any(
        "observed[0] and observed[1]" in message and named in message for message in messages
    )


@pytest.mark.parametrize(
    "rows",
    [
        [{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "tpot_ms": 20.1}],
        [{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "batch": 64, "tpot_ms": 40}],
        [{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "tpot_ms": 40, "context_tokens": 60_000}],
        [{**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "tpot_ms": 40, "gpu": "A100-SXM-80GB"}],
        [{**EAGLE, "step_ms": 20}, {**EAGLE, "num_speculative_tokens": 8, "step_ms": 30}],
        [{**PLAIN, "tpot_ms": 20}, {**EAGLE, "tpot_ms": 10, "speedup": 2}],
    ],
)
def test_rows_about_different_things_are_not(rows: list[dict[str, Any]]) -> None:
    assert said(advised(*rows)) == []


def test_a_contradiction_widens_the_belief() -> None:
    one = advised({**PLAIN, "tpot_ms": 20})
    two = advised({**PLAIN, "tpot_ms": 20}, {**PLAIN, "tpot_ms": 20.2})
    torn = advised({**PLAIN, "tpot_ms": 19.5}, {**PLAIN, "tpot_ms": 40})
    assert plain_width(two) < plain_width(one)
    assert plain_width(torn) > 5.0 * plain_width(one)
