"""Engines' definitions of acceptance rate and length against counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.acceptance.convert import (
    acceptance_length_of,
    conditional_of_counts,
    counts_from_survival,
    coverage_of,
    draft_acceptance_rate_of,
    length_from_accepted,
    length_from_draft_rate,
    length_from_sglang_rate,
    length_over_all_steps,
    sglang_rate_from_length,
    survival_of_counts,
)
from tuner.errors import InputError
from tuner.records.acceptance import AcceptanceCounts


def test_vllm_line_of_700_accepted_of_1500():
    # vLLM's log format: Accepted 700, Drafted 1500, K = 3, per position 0.700, 0.450, 0.250
    counts = counts_from_survival((0.7, 0.45, 0.25), 500)
    assert counts.num_accepted_tokens == 700
    assert acceptance_length_of(counts) == pytest.approx(2.40)
    assert draft_acceptance_rate_of(counts) == pytest.approx(0.467, abs=5e-4)
    assert conditional_of_counts(counts) == pytest.approx([0.7, 0.45 / 0.7, 0.25 / 0.45])


@pytest.mark.parametrize(
    ("version", "rate"), [("0.5.9", 0.65), ("0.5.10", 0.65), ("0.5.11", 0.53), ("0.5.23", 0.53)]
)
def test_sglang_prints_another_rate_for_the_same_run(version, rate):
    # length 2.60 with 4 draft tokens: 0.65 up to 0.5.10, 0.53 from 0.5.11
    printed = sglang_rate_from_length(2.60, version, num_steps=3, num_draft_tokens=4)
    assert printed == pytest.approx(rate, abs=5e-3)
    back = length_from_sglang_rate(printed, version, num_steps=3, num_draft_tokens=4)
    assert back == pytest.approx(2.60)


def test_early_sglang_divides_by_steps_plus_one():
    assert sglang_rate_from_length(3.0, "0.5.5", num_steps=5, num_draft_tokens=8) == 0.5


def test_llamacpp_line():
    # draft acceptance = 0.57576 (171 accepted / 297 generated), mean len = 2.73, K = 3: 99 drafts
    counts = AcceptanceCounts(num_drafts=99, num_draft_tokens=297, num_accepted_tokens=171)
    assert draft_acceptance_rate_of(counts) == pytest.approx(0.57576, abs=5e-6)
    assert acceptance_length_of(counts) == pytest.approx(2.73, abs=5e-3)
    assert length_from_draft_rate(171 / 297, 3) == pytest.approx(acceptance_length_of(counts))


def test_steps_without_a_draft_are_kept_apart():
    counts = AcceptanceCounts(
        num_drafts=129,
        num_draft_tokens=387,
        num_accepted_tokens=150,
        accepted_per_position=(70, 46, 34),
        num_steps=2580,
    )
    assert acceptance_length_of(counts) == pytest.approx(2.163, abs=5e-4)
    assert length_over_all_steps(counts) == pytest.approx(1.058, abs=5e-4)
    assert coverage_of(counts) == pytest.approx(0.05)


def test_mean_accepted_leaves_the_bonus_out():
    assert length_from_accepted(1.4) == 2.4


def test_no_drafts_is_an_input_error():
    with pytest.raises(InputError, match="num_drafts"):
        acceptance_length_of(
            AcceptanceCounts(num_drafts=0, num_draft_tokens=0, num_accepted_tokens=0)
        )


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(st.integers(0, 900), min_size=1, max_size=8), st.integers(900, 5000))
def test_counts_to_rates_to_counts(drops, drafts):
    accepted = sorted(drops, reverse=True)
    counts = AcceptanceCounts(
        num_drafts=drafts,
        num_draft_tokens=drafts * len(accepted),
        num_accepted_tokens=sum(accepted),
        accepted_per_position=tuple(accepted),
    )
    assert counts_from_survival(tuple(survival_of_counts(counts)), drafts) == counts
