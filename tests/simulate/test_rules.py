"""Other acceptance rules: exact or lossy as they claim, with the acceptance they should have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.records.methods import VerifyRule
from tuner.simulate.cases import Case, standard_cases
from tuner.simulate.chain_rules import CHAIN_RULES, Decision, block, ratio
from tuner.simulate.checks import enumerate_case, sample_case
from tuner.simulate.models import random_table
from tuner.simulate.ngram import NGramModel
from tuner.simulate.proof import LEVEL
from tuner.simulate.sampling import Reshaped, SamplingSetting, reshape_rows
from tuner.simulate.schemes import SCHEMES, TreeScheme, restarted

EXACT_SCHEMES = [name for name, scheme in SCHEMES.items() if not scheme.is_lossy]


@pytest.mark.parametrize("name", EXACT_SCHEMES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_exact_schemes_keep_the_law(name: str, n: int) -> None:
    few = n == 3 or isinstance(SCHEMES[name], TreeScheme)
    for case in standard_cases(3, np.random.default_rng(21))[: 2 if few else 4]:
        assert enumerate_case(SCHEMES[name], case, n).fits, case.name


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    order=st.integers(0, 1),
    n=st.integers(1, 3),
    sharpness=st.floats(0.1, 8.0),
    name=st.sampled_from(["block", "one_hot", "exact_match", "multi_candidate", "tree"]),
)
def test_exact_schemes_keep_the_law_for_any_pair(
    seed: int, order: int, n: int, sharpness: float, name: str
) -> None:
    rng = np.random.default_rng(seed)
    case = Case(
        name="any",
        target=random_table(rng, 2, order, sharpness=sharpness),
        drafter=random_table(rng, 2, 1 - order, sharpness=sharpness),
        contexts=((1,),),
    )
    assert enumerate_case(SCHEMES[name], case, n).fits


@pytest.mark.parametrize("name", EXACT_SCHEMES)
def test_batched_schemes_have_the_law(name: str) -> None:
    case = standard_cases(3, np.random.default_rng(5))[1]
    rng = np.random.default_rng(77)
    check = sample_case(SCHEMES[name], case, 2, restarts=10_000, rng=rng, level=LEVEL)
    assert check.fits


@pytest.mark.parametrize("name", ["typical", "relaxed"])
def test_lossy_rules_change_the_law_and_say_so(name: str) -> None:
    assert SCHEMES[name].is_lossy
    assert VerifyRule(name).is_lossy
    case = standard_cases(3, np.random.default_rng(5))[0]
    check = enumerate_case(SCHEMES[name], case, 2)
    assert check.total_variation > 0.05


def test_rules_carry_the_names_of_the_records() -> None:
    assert {rule.value for rule in VerifyRule} - {"greedy"} == set(CHAIN_RULES)
    for name, rule in CHAIN_RULES.items():
        assert rule.is_lossy == VerifyRule(name).is_lossy


def test_one_hot_and_exact_match_are_one_law() -> None:
    rng = np.random.default_rng(0)
    target_rows, draft_rows = rng.dirichlet(np.ones(5), (7, 4)), rng.dirichlet(np.ones(5), (7, 3))
    drafts = rng.integers(5, size=(7, 3))
    first = CHAIN_RULES["one_hot"].decide(target_rows, draft_rows, drafts)
    second = CHAIN_RULES["exact_match"].decide(target_rows, draft_rows, drafts)
    np.testing.assert_allclose(first.accept_law, second.accept_law)
    np.testing.assert_allclose(first.final_rows, second.final_rows)


def expected_length(decision: Decision) -> np.ndarray:
    return (decision.accept_law * np.arange(decision.accept_law.shape[-1])).sum(axis=-1)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_block_verification_accepts_at_least_as_much(seed: int, n: int) -> None:
    """Sun et al. 2024, theorem 2: on average over drafts; exactly, over all V ** n of them."""
    rng = np.random.default_rng(seed)
    target, drafter = random_table(rng, 2, 1), random_table(rng, 2, 1)
    totals = {"ratio": 0.0, "block": 0.0}
    for drafts in itertools.product(range(2), repeat=n):
        windows = np.array([0, *drafts])[:, None]
        draft_rows = drafter.probs(windows[:-1])
        weight = math.prod(draft_rows[i, token] for i, token in enumerate(drafts))
        for name, rule in (("ratio", ratio), ("block", block)):
            decision = rule(target.probs(windows), draft_rows, np.array(drafts))
            assert decision.accept_law.sum() == pytest.approx(1.0)
            totals[name] += weight * float(expected_length(decision))
    assert totals["block"] >= totals["ratio"] - 1e-12
    if n == 1:
        assert totals["block"] == pytest.approx(totals["ratio"])


def test_block_example_of_the_paper() -> None:
    """Target (1/3, 2/3), drafter (2/3, 1/3), N 2: 11/9 tokens block-wise, 10/9 one by one.

    The introduction of arXiv:2403.10444 works this pair out.
    """
    target = np.tile([1 / 3, 2 / 3], (3, 1))
    drafter = np.tile([2 / 3, 1 / 3], (2, 1))
    totals = {}
    for name, rule in (("ratio", ratio), ("block", block)):
        totals[name] = sum(
            drafter[0, a] * drafter[1, b] * expected_length(rule(target, drafter, np.array([a, b])))
            for a in range(2)
            for b in range(2)
        )
    assert totals["ratio"] == pytest.approx(10 / 9)
    assert totals["block"] == pytest.approx(11 / 9)


def test_typical_acceptance_by_hand() -> None:
    """Uniform over 4: entropy ln 4, so the limit is min(.09, .3 / 4) = .075 < .25: all kept."""
    uniform = np.full((2, 4), 0.25)
    decision = CHAIN_RULES["typical"].decide(uniform, uniform[:1], np.array([2]))
    assert decision.accept_law.tolist() == [0.0, 1.0]
    peaked = np.array([[0.95, 0.05, 0.0, 0.0]] * 2)  # entropy .199, limit .09
    for token, kept in ((0, 1.0), (1, 0.0), (2, 0.0)):
        decision = CHAIN_RULES["typical"].decide(peaked, uniform[:1], np.array([token]))
        assert decision.accept_law[1] == kept


def test_relaxed_acceptance_by_hand() -> None:
    rows = np.array([[0.7, 0.2, 0.06, 0.04]] * 2)  # δ .6: chances of at least .1
    for token, kept in ((0, 1.0), (1, 1.0), (2, 0.0), (3, 0.0)):
        decision = CHAIN_RULES["relaxed"].decide(rows, rows[:1], np.array([token]))
        assert decision.accept_law[1] == kept


@pytest.mark.parametrize("temperature", [0.0, 0.3, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("name", ["ratio", "one_hot", "exact_match"])
def test_simulated_first_acceptance_follows_the_analytic_rule(
    name: str, temperature: float
) -> None:
    """α of the first draft from fixed contexts, by rule and temperature.

    ratio: Σ min(target, draft). one_hot and exact_match, greedy drafts: target(argmax draft).
    """
    text = np.random.default_rng(3).integers(6, size=800) // 2 + np.arange(800) % 3
    setting = SamplingSetting(temperature=temperature)
    target, drafter = NGramModel(text, 6, 2), NGramModel(text, 6, 1)
    context = np.array([1, 3])
    target_row = reshape_rows(target.probs(context), setting)
    draft_row = reshape_rows(drafter.probs(context[1:]), setting)
    if name == "ratio":
        alpha = float(np.minimum(target_row, draft_row).sum())
    else:
        alpha = float(target_row[draft_row.argmax()])
    restarts = 20_000
    step = SCHEMES[name].batched(
        Reshaped(target, setting), Reshaped(drafter, setting), 1, np.random.default_rng(9)
    )(np.tile(context, (restarts, 1)))
    error = math.sqrt(alpha * (1.0 - alpha) / restarts)
    assert abs(step.num_accepted.mean() - alpha) <= 4.5 * error + 1e-12


def test_greedy_drafts_lose_acceptance_with_temperature_and_sampled_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    target = random_table(rng, 16, 1, sharpness=2.0)
    drafter = random_table(np.random.default_rng(0), 16, 1, sharpness=2.0)  # the same model
    rates = {}
    for name, temperature in itertools.product(("ratio", "exact_match"), (0.2, 1.0)):
        setting = SamplingSetting(temperature=temperature)
        tokens, steps = restarted(
            SCHEMES[name],
            Reshaped(target, setting),
            Reshaped(drafter, setting),
            prompts=np.array([0]),
            restarts=400,
            length=60,
            n=3,
            rng=rng,
        )
        rates[name, temperature] = tokens.size / steps
    assert rates["ratio", 1.0] == pytest.approx(rates["ratio", 0.2]) == 4.0
    assert rates["exact_match", 0.2] > rates["exact_match", 1.0] + 0.5
