"""Observed rows that cannot be used are named with the reason; the others are not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.decision import Recommendation

EAGLE = {"method": "eagle3", "num_speculative_tokens": 3}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
TIMED_ELSEWHERE = {"tpot_ms": 15.0, "gpu": "A100-SXM-80GB"}
COUNTS = {"num_drafts": 1000, "num_draft_tokens": 3000, "num_accepted_tokens": 1000}


def advised(row: dict[str, Any], **stated: Any) -> Recommendation:
    text = {
        "target": "meta-llama/Llama-3.3-70B-Instruct",
        "hardware": {"gpu": "H100-SXM", "count": 4},
        "engine": {"name": "vllm"},
        "workload": {"task": "chat", "temperature": 0, "batch": 8},
        "candidates": {"methods": ["eagle3", "ngram"]},
        "observed": [row],
        **stated,
    }
    return recommend(parse_profile(yaml.safe_dump(text), file="case.yaml", name="case"))


def said(row: dict[str, Any], **stated: Any) -> list[str]:
    found = advised(row, **stated).warnings
    return [item.message for item in found if item.code == "observed-row"]


def rests_on(row: dict[str, Any], **stated: Any) -> bool:
    return any(item.what == "observed" for item in advised(row, **stated).assumptions)


@pytest.mark.parametrize(
    "row",
    [
        {**EAGLE, "acceptance_length": 2.5},
        {**EAGLE, "counts": COUNTS},
        {**EAGLE, "tpot_ms": 9.0},
        {"method": "eagle3", "acceptance_per_position": [0.8, 0.6, 0.4]},
        {"method": "none", "tpot_ms": 15.0},
        # the profile's own device, by its name or another, and its own dtype
        {"method": "none", "tpot_ms": 15.0, "gpu": "H100-SXM", "gpu_count": 4},
        {"method": "none", "tpot_ms": 15.0, "gpu": "h100 sxm", "dtype": "bfloat16"},
        {**EAGLE, "acceptance_length": 2.5, "gpu": "A100-SXM-80GB"},
    ],
)
def test_rows_that_are_used_are_not_named(row: dict[str, Any]) -> None:
    assert said(row) == []
    assert rests_on(row)


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
        ({"method": "none"} | TIMED_ELSEWHERE, "not used: other hardware (gpu A100-80GB-SXM"),
        (
            {"method": "none", "tpot_ms": 15.0, "gpu_count": 2},
            "other hardware (gpu_count 2, here 4",
        ),
        (
            {"method": "none", "tpot_ms": 15.0, "engine": "sglang"},
            "other engine (sglang, here vllm",
        ),
        ({"method": "none", "tpot_ms": 15.0, "dtype": "fp8"}, "other dtype (fp8, here bfloat16"),
        ({"method": "none", "acceptance_length": 1}, "states no time"),
        ({**EAGLE, "acceptance_length": 2.5} | TIMED_ELSEWHERE, "only its acceptance is used"),
    ],
)
def test_rows_that_say_less_are_named(row: dict[str, Any], reason: str) -> None:
    (message,) = said(row)
    assert "observed[0]" in message
    assert reason in message


@pytest.mark.parametrize(
    ("row", "is_used"),
    [
        ({"method": "none"} | TIMED_ELSEWHERE, False),
        ({**EAGLE} | TIMED_ELSEWHERE, False),
        ({**EAGLE, "acceptance_length": 2.5} | TIMED_ELSEWHERE, True),
        ({"method": "eagle3", "acceptance_length": 2.5, "tpot_ms": 15.0}, False),
        ({**EAGLE, "acceptance_length": 2.5, "drafter": "foo/bar"}, False),
        ({**EAGLE, "acceptance_length": 2.5, "tpot_ms": 9, "drafter": "foo/bar"}, True),
        ({**NGRAM, "counts": COUNTS}, False),
        ({**NGRAM, "counts": COUNTS, "tpot_ms": 12}, True),
        # not compared: its time tells of the target, its acceptance of nothing here
        ({"method": "mtp", "num_speculative_tokens": 2, "acceptance_length": 2}, False),
    ],
)
def test_what_the_advice_rests_on_is_what_changes_it(row: dict[str, Any], is_used: bool) -> None:
    assert rests_on(row) == is_used
    changed = advised(row).configs != advised({"method": "none", "acceptance_length": 1}).configs
    assert changed == is_used


TREE = {"method": "eagle3", "tree": "5/2/16"}
ON_SGLANG = {"engine": {"name": "sglang"}, "candidates": {"methods": ["eagle3"]}}


def test_survival_by_depth_of_a_tree_is_its_length() -> None:
    listed = advised({**TREE, "acceptance_per_position": [0.8, 0.5, 0.2, 0.1, 0.1]}, **ON_SGLANG)
    stated = advised({**TREE, "acceptance_length": 2.7}, **ON_SGLANG)
    silent = advised({"method": "none", "acceptance_length": 1}, **ON_SGLANG)
    assert listed.configs == stated.configs
    assert listed.configs != silent.configs


def test_some_depths_of_a_tree_leave_its_length_open() -> None:
    row = {**TREE, "acceptance_per_position": [0.8, 0.5]}
    (message,) = said(row, **ON_SGLANG)
    assert "2 of 5 depths" in message
    assert "not used" in message
    assert not rests_on(row, **ON_SGLANG)
    (message,) = said({**row, "tpot_ms": 12}, **ON_SGLANG)
    assert "only its time is used" in message
    assert rests_on({**row, "tpot_ms": 12}, **ON_SGLANG)
