"""The proof of exactness: by enumeration, by chi-square, by a G-test, and that it can fail.

Each check runs the code that samples. The cases are small models whose law is known to the last
digit; with a fault planted in the sampler the same checks must say so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tuner.simulate.batched import first_tokens
from tuner.simulate.cases import Case, fault_case, standard_cases
from tuner.simulate.distances import acceptance_rates
from tuner.simulate.enumeration import output_law, target_law, total_variation
from tuner.simulate.models import FloatArray, IntArray, random_table
from tuner.simulate.rules import EXACT, FAULTS, Recipe
from tuner.simulate.statistics import Fit, chi_square, chi_square_power, g_test, kl_bias

#: largest deviation of a probability that counts as equal
EXACT_TOLERANCE = 1e-12
#: chance of a false alarm of each statistical check
LEVEL = 1e-4
CHI_SQUARE_RESTARTS = 50_000
G_TEST_SAMPLES = 100_000
G_TEST_VOCABULARY = 32
_G_TEST_RUN = 100
#: draft tokens with which planted faults are looked at: the fewest at which all four show
FAULT_TOKENS = 2

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumerationCheck:
    """Joint law of the first N + 1 tokens, every outcome visited."""

    case: str
    vocab_size: int
    num_speculative_tokens: int
    #: number of different outcomes
    outcomes: int
    #: largest |emitted - target| over all outcomes and contexts
    deviation: float
    total_variation: float

    @property
    def fits(self) -> bool:
        """Whether the laws agree to ``EXACT_TOLERANCE``."""
        return self.deviation <= EXACT_TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCheck:
    """Pearson's test of the first N + 1 tokens of independent restarts."""

    case: str
    num_speculative_tokens: int
    restarts: int
    steps: int
    fit: Fit

    @property
    def fits(self) -> bool:
        """Whether the test finds no deviation."""
        return self.fit.fits


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceCheck:
    """KL of sampled tokens from the target, as a G-test."""

    vocab_size: int
    num_speculative_tokens: int
    acceptance_rate: float
    kl: float
    #: (V - 1) / 2n, what the exact sampler gives on average
    expected_kl: float
    fit: Fit

    @property
    def fits(self) -> bool:
        """Whether the test finds no deviation."""
        return self.fit.fits


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCheck:
    """A planted fault: how large it is, how likely the sample shows it, whether it did."""

    fault: str
    #: of the first N + 1 tokens, by enumeration
    total_variation: float
    #: chance that chi-square notices, by the noncentral chi-square
    power: float
    fit: Fit

    @property
    def caught(self) -> bool:
        """Whether enumeration and chi-square both notice."""
        return self.total_variation > EXACT_TOLERANCE and not self.fit.fits


Check = EnumerationCheck | SampleCheck | DivergenceCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Everything that ``verify`` found."""

    seed: int
    level: float
    fault: str | None
    enumeration: tuple[EnumerationCheck, ...]
    samples: tuple[SampleCheck, ...]
    divergence: DivergenceCheck
    #: empty when the sampler under test is itself the faulty one
    faults: tuple[FaultCheck, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every check of the sampler passed and every planted fault was caught."""
        checks: list[Check] = [*self.enumeration, *self.samples, self.divergence]
        return all(check.fits for check in checks) and all(fault.caught for fault in self.faults)


def prove(
    *,
    vocab_size: int,
    max_speculative_tokens: int,
    restarts: int = CHI_SQUARE_RESTARTS,
    samples: int = G_TEST_SAMPLES,
    seed: int = 0,
    level: float = LEVEL,
    fault: str | None = None,
    report: Report = lambda what: None,
) -> Proof:
    """Run all checks.

    Parameters
    ----------
    vocab_size : tokens of the small models, 3 or 4 keep the enumeration short
    max_speculative_tokens : enumeration covers N = 1 … this; chi-square uses this N
    restarts : independent restarts of each chi-square test
    samples : tokens of the G-test
    seed : of models and samples
    level : chance of a false alarm of each statistical check
    fault : name in ``FAULTS`` of what is planted in the sampler under test; None = nothing
    report : called with the name of each check before it runs
    """
    recipe = FAULTS[fault] if fault else EXACT
    cases = standard_cases(vocab_size, np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 2])
    enumeration = tuple(_enumerate(cases, max_speculative_tokens, recipe, report))
    sampled = tuple(
        sample_case(case, max_speculative_tokens, restarts, rng, level, recipe, report)
        for case in cases
    )
    report("G-test")
    divergence = diverge(max_speculative_tokens, samples, rng, level, recipe)
    caught = () if fault else tuple(_catch(restarts, rng, level, report))
    return Proof(
        seed=seed,
        level=level,
        fault=fault,
        enumeration=enumeration,
        samples=sampled,
        divergence=divergence,
        faults=caught,
    )


def num_checks(max_speculative_tokens: int, *, with_faults: bool) -> int:
    """Return how often :func:`prove` reports, for a progress bar."""
    cases = len(standard_cases(2, np.random.default_rng(0)))
    return cases * (max_speculative_tokens + 1) + 1 + (len(FAULTS) if with_faults else 0)


def _enumerate(
    cases: tuple[Case, ...], max_tokens: int, recipe: Recipe, report: Report
) -> Iterator[EnumerationCheck]:
    for case, n in itertools.product(cases, range(1, max_tokens + 1)):
        report(f"enumeration, N {n}, {case.name}")
        yield enumerate_case(case, n, recipe)


def enumerate_case(case: Case, num_speculative_tokens: int, recipe: Recipe) -> EnumerationCheck:
    """Compare the joint law of the first N + 1 tokens with the target's, from each context."""
    length = num_speculative_tokens + 1
    deviation = distance = 0.0
    for context in case.contexts:
        emitted = output_law(
            case.target,
            case.drafter,
            num_speculative_tokens=num_speculative_tokens,
            length=length,
            context=context,
            recipe=recipe,
        )
        wanted = target_law(case.target, length=length, context=context)
        deviation = max(deviation, float(np.abs(emitted - wanted).max()))
        distance = max(distance, total_variation(emitted, wanted))
    return EnumerationCheck(
        case=case.name,
        vocab_size=case.target.vocab_size,
        num_speculative_tokens=num_speculative_tokens,
        outcomes=case.target.vocab_size**length,
        deviation=deviation,
        total_variation=distance,
    )


def sample_case(
    case: Case,
    num_speculative_tokens: int,
    restarts: int,
    rng: np.random.Generator,
    level: float,
    recipe: Recipe = EXACT,
    report: Report = lambda what: None,
) -> SampleCheck:
    """Test the first N + 1 tokens of independent restarts, shared out over the case's contexts."""
    report(f"chi-square, {case.name}")
    length = num_speculative_tokens + 1
    counts: list[IntArray] = []
    laws: list[FloatArray] = []
    steps = 0
    for part, context in enumerate(case.contexts):
        share = restarts // len(case.contexts) + (part < restarts % len(case.contexts))
        tokens, taken = first_tokens(
            case.target,
            case.drafter,
            prompt=np.array(context, dtype=np.int64),
            restarts=share,
            length=length,
            num_speculative_tokens=num_speculative_tokens,
            rng=rng,
            recipe=recipe,
        )
        steps += taken
        counts.append(count_outcomes(tokens, case.target.vocab_size))
        laws.append(target_law(case.target, length=length, context=context).ravel())
    return SampleCheck(
        case=case.name,
        num_speculative_tokens=num_speculative_tokens,
        restarts=restarts,
        steps=steps,
        fit=chi_square(counts, laws, level=level),
    )


def count_outcomes(tokens: IntArray, vocab_size: int) -> IntArray:
    """Return how often each of the V ** length outcomes occurred, shape (V ** length,)."""
    length = tokens.shape[1]
    place = vocab_size ** np.arange(length - 1, -1, -1, dtype=np.int64)
    return np.bincount(tokens @ place, minlength=vocab_size**length)


def diverge(
    num_speculative_tokens: int,
    samples: int,
    rng: np.random.Generator,
    level: float,
    recipe: Recipe = EXACT,
) -> DivergenceCheck:
    """Compare emitted tokens with an independent-token target of 32 tokens by their KL.

    Independent tokens make every emitted token one independent sample. A context that is kept
    wrongly cannot show here; the Markov cases are there for it.
    """
    target = random_table(rng, G_TEST_VOCABULARY, 0)
    drafter = random_table(rng, G_TEST_VOCABULARY, 0)
    tokens, _ = first_tokens(
        target,
        drafter,
        prompt=np.zeros(0, dtype=np.int64),
        restarts=max(samples // _G_TEST_RUN, 1),
        length=min(_G_TEST_RUN, samples),
        num_speculative_tokens=num_speculative_tokens,
        rng=rng,
        recipe=recipe,
    )
    fit = g_test(
        np.bincount(tokens.ravel(), minlength=G_TEST_VOCABULARY), target.rows[0], level=level
    )
    return DivergenceCheck(
        vocab_size=G_TEST_VOCABULARY,
        num_speculative_tokens=num_speculative_tokens,
        acceptance_rate=float(acceptance_rates(target.rows[0], drafter.rows[0])),
        kl=fit.statistic / (2.0 * fit.samples),
        expected_kl=kl_bias(G_TEST_VOCABULARY, fit.samples),
        fit=fit,
    )


def _catch(
    restarts: int, rng: np.random.Generator, level: float, report: Report
) -> Iterator[FaultCheck]:
    """Plant each fault in a case where all four show, and look whether it is noticed."""
    case = fault_case()
    n = FAULT_TOKENS
    for fault, recipe in FAULTS.items():
        report(f"planted fault: {fault}")
        sampled = sample_case(case, n, restarts, rng, level, recipe)
        context = case.contexts[0]
        broken = output_law(
            case.target,
            case.drafter,
            num_speculative_tokens=n,
            length=n + 1,
            context=context,
            recipe=recipe,
        )
        law = target_law(case.target, length=n + 1, context=context)
        yield FaultCheck(
            fault=fault,
            total_variation=total_variation(broken, law),
            power=chi_square_power(broken, law, samples=restarts, level=level),
            fit=sampled.fit,
        )
