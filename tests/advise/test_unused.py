"""Observed rows that cannot be used are named with the reason; the others are not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tuner.advise.recommend import recommend
from tuner.profile import parse_profile

EAGLE = {"method": "eagle3", "num_speculative_tokens": 3}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
COUNTS = {"num_drafts": 1000, "num_draft_tokens": 3000, "num_accepted_tokens": 1000}


def said(row: dict[str, Any]) -> list[str]:
    text = {
        "target": "meta-llama/Llama-3.3-70B-Instruct",
        "hardware": {"gpu": "H100-SXM", "count": 4},
        "engine": {"name": "vllm"},
        "workload": {"task": "chat", "temperature": 0, "batch": 8},
        "candidates": {"methods": ["eagle3", "ngram"]},
        "observed": [row],
    }
    profile = parse_profile(yaml.safe_dump(text), file="case.yaml", name="case")
    return [w.message for w in recommend(profile).warnings if w.code == "observed-row"]


@pytest.mark.parametrize(
    "row",
    [
        {**EAGLE, "acceptance_length": 2.5},
        {**EAGLE, "counts": COUNTS},
        {**EAGLE, "tpot_ms": 9.0},
        {"method": "eagle3", "acceptance_per_position": [0.8, 0.6, 0.4]},
        {"method": "none", "tpot_ms": 15.0},
    ],
)
def test_rows_that_are_used_are_not_named(row: dict[str, Any]) -> None:
    assert said(row) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"method": "eagle3", "acceptance_length": 2.5}, "no num_speculative_tokens"),
        ({**EAGLE, "acceptance_length": 2.5, "drafter": "foo/bar"}, "the drafter foo/bar"),
        ({**EAGLE, "counts": dict.fromkeys(COUNTS, 0)}, "neither acceptance nor a time"),
        ({**EAGLE, "tpot_ms": 9.0, "gpu": "A100-SXM-80GB"}, "neither acceptance nor a time"),
        ({**NGRAM, "counts": COUNTS}, "nothing is taken"),
        (
            {**NGRAM, "counts": {**COUNTS, "accepted_per_position": [500, 300, 200]}},
            "positions after the first are taken",
        ),
        ({**NGRAM, "acceptance_length": 2.0}, "over all decode steps"),
    ],
)
def test_rows_that_say_less_are_named(row: dict[str, Any], reason: str) -> None:
    (message,) = said(row)
    assert "observed[0]" in message
    assert reason in message
