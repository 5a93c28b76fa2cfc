"""The proof of exactness: by enumeration, by chi-square, by a G-test, and that it can fail.

Each check runs the code that samples. The cases are small models whose law is known to the last
digit; with a fault planted in the sampler the same checks must say so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tuner.simulate.cases import fault_case, standard_cases
from tuner.simulate.checks import (
    DivergenceCheck,
    EnumerationCheck,
    FaultCheck,
    SampleCheck,
    catch_fault,
    diverge,
    enumerate_case,
    sample_case,
)
from tuner.simulate.rules import FAULTS
from tuner.simulate.schemes import SCHEMES, RecipeScheme, Scheme

#: chance of a false alarm of each statistical check
LEVEL = 1e-4
CHI_SQUARE_RESTARTS = 50_000
G_TEST_SAMPLES = 100_000
#: draft tokens with which planted faults are looked at: the fewest at which all four show
FAULT_TOKENS = 2

Report = Callable[[str], None]
Check = EnumerationCheck | SampleCheck | DivergenceCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Everything that ``verify`` found."""

    seed: int
    level: float
    #: name in ``SCHEMES``
    rule: str
    is_lossy: bool
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
    rule: str = "ratio",
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
    rule : name in ``SCHEMES`` of what is proved
    fault : name in ``FAULTS`` of what is planted in the ratio rule; None = nothing
    report : called with the name of each check before it runs
    """
    scheme: Scheme = RecipeScheme(FAULTS[fault]) if fault else SCHEMES[rule]
    cases = standard_cases(vocab_size, np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 2])
    enumeration, sampled, caught = [], [], []
    for case, n in itertools.product(cases, range(1, max_speculative_tokens + 1)):
        report(f"enumeration, N {n}, {case.name}")
        enumeration.append(enumerate_case(scheme, case, n))
    for case in cases:
        report(f"chi-square, {case.name}")
        sampled.append(
            sample_case(
                scheme, case, max_speculative_tokens, restarts=restarts, rng=rng, level=level
            )
        )
    report("G-test")
    divergence = diverge(scheme, max_speculative_tokens, samples=samples, rng=rng, level=level)
    for name in planted(rule, fault):
        report(f"planted fault: {name}")
        faulty = RecipeScheme(FAULTS[name])
        caught.append(
            catch_fault(
                name,
                faulty,
                fault_case(),
                FAULT_TOKENS,
                restarts=restarts,
                rng=rng,
                level=level,
            )
        )
    return Proof(
        seed=seed,
        level=level,
        rule=rule,
        is_lossy=scheme.is_lossy,
        fault=fault,
        enumeration=tuple(enumeration),
        samples=tuple(sampled),
        divergence=divergence,
        faults=tuple(caught),
    )


def planted(rule: str, fault: str | None) -> list[str]:
    """Return the faults that a proof plants for comparison: all, for the sound reference loop."""
    return list(FAULTS) if rule == "ratio" and fault is None else []


def num_checks(max_speculative_tokens: int, *, rule: str, fault: str | None) -> int:
    """Return how often :func:`prove` reports, for a progress bar."""
    cases = len(standard_cases(2, np.random.default_rng(0)))
    return cases * (max_speculative_tokens + 1) + 1 + len(planted(rule, fault))
