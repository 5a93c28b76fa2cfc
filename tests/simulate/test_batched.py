"""Many sequences at once: same law as the reference loop, each with its own length."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tuner.errors import InputError
from tuner.simulate.batched import batch_step, draw, emitted_tokens, run_batch
from tuner.simulate.cases import fault_case, standard_cases
from tuner.simulate.checks import count_outcomes, sample_case
from tuner.simulate.enumeration import output_law
from tuner.simulate.independent import AliasTable, run_independent
from tuner.simulate.mlp import perturbed_mlp, random_mlp
from tuner.simulate.models import random_table
from tuner.simulate.pairs import drafter_with_acceptance
from tuner.simulate.proof import LEVEL
from tuner.simulate.rules import FAULTS
from tuner.simulate.sampling import Reshaped, SamplingSetting
from tuner.simulate.schemes import SCHEMES, RecipeScheme, restarted
from tuner.simulate.statistics import chi_square

NOTHING = np.zeros(0, dtype=np.int64)


def seed_of(name: str, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {number}".encode()).digest()[:8])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6), vocab=st.integers(1, 90), single=st.booleans())
def test_draw_inverts_the_cumulative_distribution(seed: int, vocab: int, single: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(vocab, 0.3), size=7).astype(np.float32 if single else np.float64)
    rows[:, rng.random(vocab) < 0.3] = 0.0
    rows[:, 0] += rows.sum(axis=1) == 0.0
    uniforms = np.concatenate([rng.random(5), [0.0, np.nextafter(1.0, 0.0)]])
    tokens = draw(rows, uniforms)
    for row, uniform, token in zip(rows, uniforms, tokens, strict=True):
        assert row[token] > 0.0
        exact = row.astype(np.float64)
        before, after = exact[:token].sum(), exact[: token + 1].sum()
        assert before - 1e-6 <= uniform * exact.sum() <= after + 1e-6


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6), vocab=st.integers(1, 60))
def test_alias_table_holds_its_distribution(seed: int, vocab: int) -> None:
    row = np.random.default_rng(seed).dirichlet(np.full(vocab, 0.2))
    table = AliasTable(row)
    law = np.zeros(vocab)
    for column in range(vocab):
        law[column] += table._cut[column] / vocab
        law[table._other[column]] += (1.0 - table._cut[column]) / vocab
    np.testing.assert_allclose(law, row, atol=1e-12)


def test_emitted_tokens_by_hand() -> None:
    drafts = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    emitted = emitted_tokens(drafts, np.array([0, 2, 3]), np.array([0, 0, 0]))
    assert emitted.tolist() == [[0, -1, -1, -1], [4, 5, 0, -1], [7, 8, 9, 0]]


def test_each_sequence_keeps_its_own_length_and_context() -> None:
    rng = np.random.default_rng(2)
    target = random_table(rng, 5, 2)
    drafter = random_table(rng, 5, 1)
    windows = rng.integers(5, size=(40, 2))
    step = batch_step(windows, target, drafter, 3, rng)
    assert set(step.num_accepted.tolist()) >= {0, 1, 3}
    for sequence in range(40):
        emitted = [token for token in step.emitted[sequence].tolist() if token >= 0]
        assert len(emitted) == step.num_accepted[sequence] + 1
        whole = [*windows[sequence].tolist(), *emitted]
        assert step.windows[sequence].tolist() == whole[-2:]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_batched_law_is_the_enumerated_law_also_of_a_faulty_sampler(n: int) -> None:
    """The fault makes it a test of the batched loop against the reference, not of exactness."""
    case = fault_case()
    for name, recipe in FAULTS.items():
        if n == 0 and name != "residual":
            continue
        law = output_law(
            case.target,
            case.drafter,
            num_speculative_tokens=n,
            length=3,
            context=(0,),
            recipe=recipe,
        )
        tokens, _ = restarted(
            RecipeScheme(recipe),
            case.target,
            case.drafter,
            prompts=np.array([0]),
            restarts=20_000,
            length=3,
            n=n,
            rng=np.random.default_rng(seed_of(name, n)),
        )
        fit = chi_square([count_outcomes(tokens, 3)], [law.ravel() / law.sum()], level=LEVEL)
        assert fit.fits, name


def test_greedy_batch_is_greedy_decoding() -> None:
    rng = np.random.default_rng(8)
    network = random_mlp(rng, vocab_size=20, order=3, hidden_size=16, sharpness=2.0)
    greedy = SamplingSetting(temperature=0.0)
    prompts = rng.integers(20, size=(30, 3))
    tokens, _ = restarted(
        SCHEMES["ratio"],
        Reshaped(network, greedy),
        Reshaped(perturbed_mlp(network, 0.3, rng), greedy),
        prompts=prompts,
        restarts=30,
        length=25,
        n=4,
        rng=rng,
    )
    plain = prompts.copy()
    for _ in range(25):
        following = network.logits(plain[:, -3:]).argmax(axis=-1)
        plain = np.concatenate([plain, following[:, None]], axis=1)
    assert (tokens == plain[:, 3:]).all()


def test_chi_square_p_values_are_uniform_over_200_seeds() -> None:
    cases = standard_cases(3, np.random.default_rng(7))[:4]
    p_values = []
    for number in range(200):
        rng = np.random.default_rng(seed_of("chi-square p-values", number))
        check = sample_case(
            SCHEMES["ratio"], cases[number % 4], 2, restarts=2_000, rng=rng, level=LEVEL
        )
        p_values.append(check.fit.p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught_within_50_000_steps(fault: str) -> None:
    rng = np.random.default_rng(seed_of(fault, 50_000))
    check = sample_case(
        RecipeScheme(FAULTS[fault]), fault_case(), 2, restarts=20_000, rng=rng, level=LEVEL
    )
    assert check.steps <= 50_000
    assert not check.fits


def test_independent_steps_have_the_formula_length_and_the_target_law() -> None:
    rng = np.random.default_rng(4)
    target = random_table(rng, 6, 0)
    drafter = drafter_with_acceptance(target, 0.7)
    run = run_independent(target, drafter, steps=500, batch=100, num_speculative_tokens=3, rng=rng)
    law = 0.7 ** np.arange(4)
    law[:3] *= 0.3
    assert chi_square([run.histogram], [law], level=LEVEL).fits
    emitted = emitted_tokens(run.drafts, run.num_accepted, run.final).ravel()
    counts = np.bincount(emitted[emitted >= 0], minlength=6)
    assert chi_square([counts], [target.rows[0]], level=LEVEL).fits


def test_same_seed_gives_the_same_run() -> None:
    def run():
        rng = np.random.default_rng(1)
        target = random_table(rng, 4, 1)
        drafter = random_table(rng, 4, 1)
        return run_batch(
            target,
            drafter,
            prompts=NOTHING,
            batch=8,
            steps=20,
            num_speculative_tokens=3,
            rng=rng,
        )

    first, second = run(), run()
    assert (first.drafts == second.drafts).all()
    assert (first.final == second.final).all()


def test_prompt_outside_the_vocabulary_is_an_error() -> None:
    rng = np.random.default_rng(1)
    model = random_table(rng, 4, 1)
    with pytest.raises(InputError, match="outside the vocabulary of 4"):
        run_batch(
            model,
            model,
            prompts=np.array([4]),
            batch=1,
            steps=1,
            num_speculative_tokens=1,
            rng=rng,
        )
