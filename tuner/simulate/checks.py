"""The checks that a proof consists of, each on one case and one way of speculating."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.cases import Case
from tuner.simulate.distances import acceptance_rates
from tuner.simulate.enumeration import Remembered, law_of_rule, target_law, total_variation
from tuner.simulate.models import FloatArray, IntArray, random_table
from tuner.simulate.schemes import Scheme, restarted
from tuner.simulate.statistics import Fit, chi_square, chi_square_power, g_test, kl_bias

#: largest deviation of a probability that counts as equal
EXACT_TOLERANCE = 1e-12
G_TEST_VOCABULARY = 32
_G_TEST_RUN = 100


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


def scheme_law(scheme: Scheme, case: Case, n: int, *, context: tuple[int, ...]) -> FloatArray:
    """Return the exact joint law of the first n + 1 tokens that the scheme emits."""
    target, drafter = Remembered(case.target), Remembered(case.drafter)
    return law_of_rule(
        scheme.single(target, drafter, n),
        vocab_size=target.vocab_size,
        window=max(target.order, drafter.order),
        length=n + 1,
        context=context,
    )


def enumerate_case(scheme: Scheme, case: Case, n: int) -> EnumerationCheck:
    """Compare the joint law of the first n + 1 tokens with the target's, from each context."""
    deviation = distance = 0.0
    for context in case.contexts:
        emitted = scheme_law(scheme, case, n, context=context)
        wanted = target_law(case.target, length=n + 1, context=context)
        deviation = max(deviation, float(np.abs(emitted - wanted).max()))
        distance = max(distance, total_variation(emitted, wanted))
    return EnumerationCheck(
        case=case.name,
        vocab_size=case.target.vocab_size,
        num_speculative_tokens=n,
        outcomes=case.target.vocab_size ** (n + 1),
        deviation=deviation,
        total_variation=distance,
    )


def sample_case(
    scheme: Scheme,
    case: Case,
    n: int,
    *,
    restarts: int,
    rng: np.random.Generator,
    level: float,
) -> SampleCheck:
    """Test the first n + 1 tokens of independent restarts, shared out over the case's contexts."""
    counts: list[IntArray] = []
    laws: list[FloatArray] = []
    steps = 0
    for part, context in enumerate(case.contexts):
        share = restarts // len(case.contexts) + (part < restarts % len(case.contexts))
        tokens, taken = restarted(
            scheme,
            case.target,
            case.drafter,
            prompts=np.array(context, dtype=np.int64),
            restarts=share,
            length=n + 1,
            n=n,
            rng=rng,
        )
        steps += taken
        counts.append(count_outcomes(tokens, case.target.vocab_size))
        laws.append(target_law(case.target, length=n + 1, context=context).ravel())
    return SampleCheck(
        case=case.name,
        num_speculative_tokens=n,
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
    scheme: Scheme, n: int, *, samples: int, rng: np.random.Generator, level: float
) -> DivergenceCheck:
    """Compare emitted tokens with an independent-token target of 32 tokens by their KL.

    Independent tokens make every emitted token one independent sample. A context that is kept
    wrongly cannot show here; the Markov cases are there for it.
    """
    target = random_table(rng, G_TEST_VOCABULARY, 0)
    drafter = random_table(rng, G_TEST_VOCABULARY, 0)
    tokens, _ = restarted(
        scheme,
        target,
        drafter,
        prompts=np.zeros(0, dtype=np.int64),
        restarts=max(samples // _G_TEST_RUN, 1),
        length=min(_G_TEST_RUN, samples),
        n=n,
        rng=rng,
    )
    fit = g_test(
        np.bincount(tokens.ravel(), minlength=G_TEST_VOCABULARY), target.rows[0], level=level
    )
    return DivergenceCheck(
        vocab_size=G_TEST_VOCABULARY,
        num_speculative_tokens=n,
        acceptance_rate=float(acceptance_rates(target.rows[0], drafter.rows[0])),
        kl=fit.statistic / (2.0 * fit.samples),
        expected_kl=kl_bias(G_TEST_VOCABULARY, fit.samples),
        fit=fit,
    )


def catch_fault(
    name: str,
    scheme: Scheme,
    case: Case,
    n: int,
    *,
    restarts: int,
    rng: np.random.Generator,
    level: float,
) -> FaultCheck:
    """Look whether a faulty scheme is noticed, and how likely that was; one context only."""
    (context,) = case.contexts
    law = target_law(case.target, length=n + 1, context=context)
    broken = scheme_law(scheme, case, n, context=context)
    return FaultCheck(
        fault=name,
        total_variation=total_variation(broken, law),
        power=chi_square_power(broken, law, samples=restarts, level=level),
        fit=sample_case(scheme, case, n, restarts=restarts, rng=rng, level=level).fit,
    )
