"""How often planted faults of the sampler are caught, against the noncentral chi-square."""

from __future__ import annotations

import math

import numpy as np

from tuner.simulate.cases import fault_case
from tuner.simulate.checks import count_outcomes, scheme_law
from tuner.simulate.enumeration import target_law, total_variation
from tuner.simulate.proof import FAULT_TOKENS, LEVEL
from tuner.simulate.rules import FAULTS
from tuner.simulate.schemes import SCHEMES, RecipeScheme, Scheme, restarted
from tuner.simulate.statistics import chi_square, chi_square_power

POWER_SEEDS = 3_000


def outcomes(scheme: Scheme, restarts: int, rng: np.random.Generator) -> np.ndarray:
    """Return counts of the first tokens of restarts in the case where faults show."""
    case = fault_case()
    tokens, _ = restarted(
        scheme,
        case.target,
        case.drafter,
        prompts=np.array(case.contexts[0]),
        restarts=restarts,
        length=FAULT_TOKENS + 1,
        n=FAULT_TOKENS,
        rng=rng,
    )
    return count_outcomes(tokens, case.target.vocab_size)


def power_rows() -> list[dict[str, object]]:
    """Compare how often faults are caught over seeds with what the noncentral chi-square says.

    Undiluted faults are caught every time long before 50,000 steps. To see the power itself, the
    fault is diluted: each restart is faulty with such a small share that it is caught now and then.
    """
    case = fault_case()
    (context,) = case.contexts
    law = target_law(case.target, length=FAULT_TOKENS + 1, context=context).ravel()
    rows = []
    for fault, recipe in FAULTS.items():
        scheme = RecipeScheme(recipe)
        broken = scheme_law(scheme, case, FAULT_TOKENS, context=context).ravel()
        per_restart = float(((broken - law) ** 2 / law).sum())
        for restarts, wanted in ((200, None), (2_000, 60.0), (10_000, 60.0)):
            share = 1.0 if wanted is None else math.sqrt(wanted / (restarts * per_restart))
            mixed = share * broken + (1.0 - share) * law
            caught = 0
            for seed in range(POWER_SEEDS):
                rng = np.random.default_rng([seed, restarts])
                faulty = int(rng.binomial(restarts, share))
                counts = outcomes(scheme, faulty, rng)
                counts = counts + outcomes(SCHEMES["ratio"], restarts - faulty, rng)
                caught += not chi_square([counts], [law], level=LEVEL).fits
            rows.append(
                {
                    "fault": fault,
                    "share": share,
                    "total_variation": total_variation(mixed, law),
                    "restarts": restarts,
                    "seeds": POWER_SEEDS,
                    "power": chi_square_power(mixed, law, samples=restarts, level=LEVEL),
                    "caught": caught / POWER_SEEDS,
                }
            )
    return rows
