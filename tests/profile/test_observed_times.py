"""Times of one observed row that no single run can have are refused; those of real runs are not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tuner.errors import ProfileError
from tuner.profile import parse_profile
from tuner.records.workload import Profile

EAGLE = {"method": "eagle3", "num_speculative_tokens": 3}
TREE = {"method": "eagle3", "tree": "5/4/8"}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
PLAIN = {"method": "none"}
#: τ 2 if every step had a draft
COUNTS = {"num_drafts": 1000, "num_draft_tokens": 3000, "num_accepted_tokens": 1000}


def parse(row: dict[str, Any], **workload: Any) -> Profile:
    text = {
        "target": "meta-llama/Llama-3.3-70B-Instruct",
        "engine": {"name": "sglang"},
        "workload": {"batch": 8, **workload},
        "observed": [row],
    }
    return parse_profile(yaml.safe_dump(text), file="p.yaml", name="p")


@pytest.mark.parametrize(
    ("row", "key", "said"),
    [
        # 8 sequences at 200 tokens a second: 40 ms a token each
        ({**PLAIN, "tpot_ms": 19.5, "output_tok_s": 200}, "output_tok_s", "40 ms"),
        ({**PLAIN, "tpot_ms": 19.5, "output_tok_s": 900}, "output_tok_s", "8.89 ms"),
        ({**PLAIN, "batch": 1, "tpot_ms": 20, "output_tok_s": 400}, "output_tok_s", "1 sequence "),
        ({**EAGLE, "tpot_ms": 10, "output_tok_s": 300}, "output_tok_s", "tpot_ms 10"),
        ({**PLAIN, "tpot_ms": 19.5, "step_ms": 40}, "step_ms", "tpot_ms 19.5"),
        ({**PLAIN, "output_tok_s": 200, "step_ms": 20}, "step_ms", "output_tok_s 200"),
        ({**EAGLE, "tpot_ms": 10, "step_ms": 8}, "step_ms", "1 to 4 tokens"),
        ({**EAGLE, "tpot_ms": 10, "step_ms": 45}, "step_ms", "1 to 4 tokens"),
        ({**TREE, "tpot_ms": 10, "step_ms": 70}, "step_ms", "1 to 6 tokens"),
        (
            {**EAGLE, "acceptance_length": 2, "tpot_ms": 10, "step_ms": 30},
            "step_ms",
            "2 tokens a step",
        ),
        (
            {**EAGLE, "acceptance_per_position": [0.5, 0.3, 0.2], "tpot_ms": 10, "step_ms": 30},
            "step_ms",
            "2 tokens a step",
        ),
        ({**EAGLE, "counts": COUNTS, "tpot_ms": 10, "step_ms": 30}, "step_ms", "2 tokens a step"),
        ({**EAGLE, "speedup": 9}, "speedup", "at most 4"),
        ({**EAGLE, "num_speculative_tokens": 1, "speedup": 2.1}, "speedup", "1 draft token in"),
        ({**NGRAM, "speedup": 4.5}, "speedup", "at most 4"),
        ({**TREE, "speedup": 6.5}, "speedup", "at most 6"),
        ({**EAGLE, "acceptance_length": 2, "speedup": 3.5}, "speedup", "0.57 of a plain"),
        ({**EAGLE, "counts": COUNTS, "speedup": 2.5}, "speedup", "0.8 of a plain"),
        ({**NGRAM, "counts": COUNTS, "speedup": 2.5}, "speedup", "0.8 of a plain"),
        ({**TREE, "acceptance_length": 2, "speedup": 3}, "speedup", "0.67 of a plain"),
    ],
)
def test_impossible_times_are_refused_by_name(row: dict[str, Any], key: str, said: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse(row)
    (problem,) = caught.value.problems
    assert problem.where.key == f"observed[0].{key}"
    assert problem.where.line
    assert said in problem.message
    assert "leave it out" in problem.message


@pytest.mark.parametrize(
    "row",
    [
        # throughput with prefill in it, as a benchmark client reports it
        {**PLAIN, "tpot_ms": 19.5, "output_tok_s": 340},
        {**PLAIN, "tpot_ms": 19.5, "output_tok_s": 430},
        {**PLAIN, "tpot_ms": 19.5, "step_ms": 20.4},
        {**EAGLE, "tpot_ms": 10, "step_ms": 35},
        {**EAGLE, "acceptance_length": 2, "tpot_ms": 10, "step_ms": 21},
        {**EAGLE, "acceptance_length": 2, "output_tok_s": 560, "step_ms": 21},
        {**EAGLE, "acceptance_length": 2.6, "speedup": 0.7},
        {**EAGLE, "acceptance_length": 2, "speedup": 2.1},
        {**EAGLE, "speedup": 3.9},
        {**TREE, "speedup": 5},
        # a lookup drafts at some steps only, and counts tell nothing of the others
        {**NGRAM, "counts": COUNTS, "tpot_ms": 10, "step_ms": 12},
        {"method": "ngram", "tpot_ms": 10, "step_ms": 60},
    ],
)
def test_times_that_a_run_can_have_are_accepted(row: dict[str, Any]) -> None:
    assert len(parse(row).observed) == 1


@pytest.mark.parametrize(
    "workload", [{"batch": {1: 0.5, 32: 0.5}}, {"batch": None, "concurrency": 8}]
)
def test_a_rate_of_an_open_batch_is_not_judged(workload: dict[str, Any]) -> None:
    row = {**PLAIN, "tpot_ms": 19.5, "output_tok_s": 200}
    assert len(parse(row, **workload).observed) == 1
    with pytest.raises(ProfileError, match="40 ms a token"):
        parse({**row, "batch": 8}, **workload)


def test_values_that_are_wrong_already_are_not_compared() -> None:
    for row in (
        {**PLAIN, "tpot_ms": "fast", "output_tok_s": 200},
        {**EAGLE, "counts": {**COUNTS, "num_drafts": -1}, "speedup": 3},
        {"num_speculative_tokens": 3, "tpot_ms": 10, "step_ms": 100},
    ):
        with pytest.raises(ProfileError) as caught:
            parse(row)
        assert len(caught.value.problems) == 1
