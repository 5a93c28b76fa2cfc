"""The emitted law is the target's: every outcome of the loop is visited."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.simulate.cases import fault_case, standard_cases
from tuner.simulate.enumeration import output_law, target_law, total_variation
from tuner.simulate.mlp import perturbed_mlp, random_mlp
from tuner.simulate.models import TableModel, random_table
from tuner.simulate.proof import FAULT_TOKENS
from tuner.simulate.reference import RandomChance, generate
from tuner.simulate.rules import EXACT, FAULTS, acceptance_probability, residual
from tuner.simulate.sampling import Reshaped, SamplingSetting

TOLERANCE = 1e-12


def markov_product(target: TableModel, length: int, context: tuple[int, ...]) -> np.ndarray:
    """The target's joint law by a plain product over all outcomes."""
    law = np.zeros((target.vocab_size,) * length)
    for outcome in np.ndindex(law.shape):
        weight, seen = 1.0, [0] * target.order + list(context)
        for token in outcome:
            window = seen[len(seen) - target.order :]
            table = target.rows.reshape((target.vocab_size,) * (target.order + 1))
            weight *= table[(*window, token)]
            seen.append(token)
        law[outcome] = weight
    return law


@pytest.mark.parametrize("order", [0, 1, 2])
def test_target_law_is_the_product_of_its_rows(order: int) -> None:
    target = random_table(np.random.default_rng(5), 3, order)
    for context in ((), (2,), (1, 2)):
        expected = markov_product(target, 3, context)
        np.testing.assert_allclose(target_law(target, length=3, context=context), expected)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    vocab=st.integers(2, 3),
    target_order=st.integers(0, 2),
    draft_order=st.integers(0, 2),
    n=st.integers(0, 3),
    sharpness=st.floats(0.1, 6.0),
)
def test_law_is_kept_for_any_pair_across_step_borders(
    seed: int, vocab: int, target_order: int, draft_order: int, n: int, sharpness: float
) -> None:
    rng = np.random.default_rng(seed)
    target = random_table(rng, vocab, target_order, sharpness=sharpness)
    drafter = random_table(rng, vocab, draft_order, sharpness=sharpness)
    context = tuple(rng.integers(vocab, size=2).tolist())
    law = output_law(target, drafter, num_speculative_tokens=n, length=n + 1, context=context)
    expected = markov_product(target, n + 1, context)
    assert np.abs(law - expected).max() <= TOLERANCE


@pytest.mark.parametrize("case", standard_cases(3, np.random.default_rng(11)), ids=lambda c: c.name)
def test_law_is_kept_with_four_drafts(case) -> None:
    context = case.contexts[-1]
    law = output_law(case.target, case.drafter, num_speculative_tokens=4, length=5, context=context)
    wanted = target_law(case.target, length=5, context=context)
    assert np.abs(law - wanted).max() <= TOLERANCE
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("target", "drafter"),
    [
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]),  # zero draft probability, impossible drafts
        ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),  # disjoint: everything is rejected
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),  # identical: nothing is rejected, no residual
        ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),  # one possible token
        ([1 / 3, 1 / 3, 1 / 3], [1e-300, 0.5, 0.5]),
        ([0.1 + 1e-17, 0.9, 0.0], [0.1, 0.9, 0.0]),  # a difference lost in rounding
    ],
)
def test_edge_cases_keep_the_law(target: list[float], drafter: list[float]) -> None:
    pair = TableModel(np.array(target)), TableModel(np.array(drafter))
    law = output_law(*pair, num_speculative_tokens=2, length=3)
    assert np.abs(law - target_law(pair[0], length=3)).max() <= TOLERANCE


def test_acceptance_and_residual_at_zero() -> None:
    keep = acceptance_probability(np.array([0.0, 0.3, 0.0, 0.4]), np.array([0.0, 0.0, 0.2, 0.2]))
    assert keep.tolist() == [0.0, 1.0, 0.0, 1.0]
    same = np.array([[0.25, 0.75]])
    assert residual(same, same).tolist() == same.tolist()
    assert residual(np.array([0.6, 0.4]), np.array([0.1, 0.9])).tolist() == [1.0, 0.0]


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6), vocab=st.integers(2, 40))
def test_accepted_and_residual_mass_rebuild_the_target(seed: int, vocab: int) -> None:
    rng = np.random.default_rng(seed)
    target, draft = rng.dirichlet(np.full(vocab, 0.5), size=2)
    keep = acceptance_probability(target, draft)
    rejected = float((draft * (1.0 - keep)).sum())
    rebuilt = draft * keep + rejected * residual(target, draft)
    np.testing.assert_allclose(rebuilt, target, atol=1e-14)
    distance = 0.5 * np.abs(target - draft).sum()
    assert rejected == pytest.approx(distance, abs=1e-12)  # α = 1 - TV


def test_planted_faults_move_the_law_far() -> None:
    case = fault_case()
    wanted = target_law(case.target, length=FAULT_TOKENS + 1, context=(0,))
    found = {}
    for name, recipe in {"exact": EXACT, **FAULTS}.items():
        law = output_law(
            case.target,
            case.drafter,
            num_speculative_tokens=FAULT_TOKENS,
            length=FAULT_TOKENS + 1,
            context=(0,),
            recipe=recipe,
        )
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        found[name] = total_variation(law, wanted)
    assert found.pop("exact") <= TOLERANCE
    assert min(found.values()) >= 0.2
    # the values that the docstring of fault_case states
    assert {k: round(v, 2) for k, v in found.items()} == {
        "residual": 0.29,
        "bonus": 0.30,
        "ratio": 0.57,
        "rollback": 0.32,
    }


def test_rollback_fault_needs_context_to_show() -> None:
    rng = np.random.default_rng(3)
    target, drafter = random_table(rng, 3, 0), random_table(rng, 3, 0)
    law = output_law(target, drafter, num_speculative_tokens=3, length=4, recipe=FAULTS["rollback"])
    assert np.abs(law - target_law(target, length=4)).max() <= TOLERANCE


def test_greedy_speculation_is_greedy_decoding_of_the_target() -> None:
    rng = np.random.default_rng(8)
    network = random_mlp(rng, vocab_size=20, order=3, hidden_size=16, sharpness=2.0)
    greedy = SamplingSetting(temperature=0.0)
    target = Reshaped(network, greedy)
    drafter = Reshaped(perturbed_mlp(network, 0.6, rng), greedy)
    steps = generate(
        (1, 2, 3),
        target,
        drafter,
        num_tokens=200,
        num_speculative_tokens=4,
        chance=RandomChance(rng),
    )
    emitted = [token for step in steps for token in step.emitted]
    plain = [1, 2, 3]
    while len(plain) < len(emitted) + 3:
        plain.append(int(network.logits(np.array(plain[-3:])).argmax()))
    assert emitted == plain[3:]
    assert 0 < sum(step.num_accepted for step in steps) < 4 * len(steps)


def test_different_vocabularies_are_an_error() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="target has 3 tokens and the drafter 4"):
        generate(
            (),
            random_table(rng, 3, 0),
            random_table(rng, 4, 0),
            num_tokens=1,
            num_speculative_tokens=1,
            chance=RandomChance(rng),
        )


def test_rows_that_are_no_distribution_are_an_error() -> None:
    for rows in ([0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0], np.ones((2, 3))):
        with pytest.raises(InputError):
            TableModel(np.array(rows))
