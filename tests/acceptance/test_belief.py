"""The prior belief: bounds, order and plain sense."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.acceptance.belief import believe, believe_all, expected_survival
from tuner.catalog.priors import (
    acceptance_prior_document,
    acceptance_prior_from,
    load_acceptance_prior,
)
from tuner.records.acceptance import AcceptanceObservation, AcceptanceQuery, TargetClass
from tuner.records.methods import Method, Task, VerifyRule

DRAFTING = [method for method in Method if method is not Method.NONE]


@st.composite
def questions(draw):
    total = draw(st.floats(5e8, 1.2e12))
    share = draw(st.sampled_from([1.0, 0.3, 0.05]))
    temperature = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    return AcceptanceQuery(
        method=draw(st.sampled_from(DRAFTING)),
        target=TargetClass(
            target_id=None, total_params=total, active_params=total * share, is_moe=share < 1.0
        ),
        task=draw(st.sampled_from(list(Task))),
        temperature=temperature,
        rule=VerifyRule.RATIO if temperature else VerifyRule.GREEDY,
        context_tokens=draw(st.sampled_from([500.0, 4000.0, 60000.0])),
    )


@settings(deadline=None, derandomize=True, max_examples=80)
@given(questions(), st.integers(1, 24))
def test_every_belief_keeps_the_identities(query, max_k):
    belief = believe(load_acceptance_prior(), query, max_k=max_k)
    assert belief.length == pytest.approx(
        np.concatenate(([1.0], 1.0 + np.cumsum(belief.survival))), abs=1e-12
    )
    assert (belief.survival >= 0.0).all()
    assert (belief.survival <= 1.0).all()
    assert (np.diff(belief.survival) <= 1e-12).all()
    assert (belief.length <= np.arange(max_k + 1) + 1.0 + 1e-12).all()
    assert np.isfinite(belief.length_log_sd).all()
    assert belief.length_log_sd[0] == 0.0
    assert 0.0 <= belief.coverage <= 1.0


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.tuples(questions(), st.integers(1, 24)), min_size=1, max_size=6))
def test_company_changes_no_belief(asked):
    prior = load_acceptance_prior()
    for together, (query, max_k) in zip(believe_all(prior, asked), asked, strict=True):
        alone = believe(prior, query, max_k=max_k)
        assert together.query == query
        assert together.length == pytest.approx(alone.length, rel=1e-12)
        assert together.length_log_sd == pytest.approx(alone.length_log_sd, rel=1e-9)
        heats = ((0.0, VerifyRule.GREEDY), (query.temperature, query.rule))
        survival = expected_survival(prior, [(query, heats)], max_k)
        assert survival[1, 0] == pytest.approx(alone.survival, rel=1e-12)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(1, 8), st.floats(0.02, 0.97))
def test_any_observed_length_is_followed(k, place):
    query = AcceptanceQuery(
        method=Method.MTP,
        target=TargetClass(target_id=None, total_params=4e11, active_params=3e10, is_moe=True),
        task=Task.CODE,
    )
    seen = 1.0 + place * k
    row = AcceptanceObservation(method=Method.MTP, num_speculative_tokens=k, acceptance_length=seen)
    belief = believe(load_acceptance_prior(), query, [row], max_k=8)
    assert belief.length[k] == pytest.approx(seen, rel=0.03)


def test_context_beyond_training_lowers_acceptance_and_is_told():
    def belief(**how):
        return believe(
            load_acceptance_prior(),
            AcceptanceQuery(
                method=Method.EAGLE3,
                target=TargetClass(target_id=None, total_params=8e9, active_params=8e9),
                task=Task.CHAT,
                **how,
            ),
        )

    short, long = belief(), belief(context_tokens=16000.0)
    trained = belief(context_tokens=16000.0, max_context=32768)
    assert long.length[3] < short.length[3]
    assert any("beyond" in note for note in long.notes)
    assert trained.length[3] == pytest.approx(short.length[3])


def test_the_table_survives_a_round_trip():
    prior = load_acceptance_prior()
    again = acceptance_prior_from(acceptance_prior_document(prior))
    query = AcceptanceQuery(
        method=Method.DFLASH,
        target=TargetClass(target_id="Qwen/Qwen3-8B", total_params=8e9, active_params=8e9),
        task=Task.MATH,
    )
    assert believe(again, query).length == pytest.approx(believe(prior, query).length, rel=1e-3)


def test_suffix_borrows_from_ngram_and_is_less_certain():
    def belief(method):
        target = TargetClass(target_id=None, total_params=8e9, active_params=8e9)
        query = AcceptanceQuery(method=method, target=target, task=Task.CHAT)
        return believe(load_acceptance_prior(), query, max_k=4)

    ngram, suffix = belief(Method.NGRAM), belief(Method.SUFFIX)
    assert suffix.length[3] == pytest.approx(ngram.length[3], rel=0.05)
    assert suffix.length_log_sd[3] > ngram.length_log_sd[3]
    assert any("no published measurement" in note for note in suffix.notes)
