"""Lessons about exactness: the theorem, greedy decoding, the residual, the chi-square test."""

from __future__ import annotations

import numpy as np

from tuner.lessons.outcome import LessonTable, Outcome, curve, numbers
from tuner.simulate.cases import fault_case
from tuner.simulate.checks import count_outcomes, enumerate_case, scheme_law
from tuner.simulate.enumeration import target_law, total_variation
from tuner.simulate.mlp import perturbed_mlp, random_mlp
from tuner.simulate.models import TableModel
from tuner.simulate.proof import FAULT_TOKENS, LEVEL
from tuner.simulate.reference import RandomChance, generate
from tuner.simulate.rules import FAULTS, acceptance_probability, residual
from tuner.simulate.sampling import Reshaped, SamplingSetting
from tuner.simulate.schemes import SCHEMES, RecipeScheme, restarted
from tuner.simulate.statistics import chi_square

_TARGET = np.array([0.55, 0.25, 0.15, 0.05])
_DRAFT = np.array([0.25, 0.25, 0.10, 0.40])


def theorem() -> Outcome:
    """Enumerate a four-token example by hand, and models with context across step borders."""
    keep = acceptance_probability(_TARGET, _DRAFT)
    accepted = _DRAFT * keep
    rejected = 1.0 - accepted.sum()
    refilled = rejected * residual(_TARGET, _DRAFT)
    by_token = LessonTable(
        title="one draft token, all ways to emit each token",
        columns=("token", "target", "drafter", "kept with", "drafted and kept", "refilled", "sum"),
        rows=tuple(
            (f"{token}", *numbers(values))
            for token, values in enumerate(
                zip(_TARGET, _DRAFT, keep, accepted, refilled, accepted + refilled, strict=True)
            )
        ),
    )
    case = fault_case()
    lengths = [1, 2, 3, 4]
    checks = [enumerate_case(SCHEMES["ratio"], case, n) for n in lengths]
    across = LessonTable(
        title="target and drafter with context: law of the first N + 1 tokens",
        columns=("N", "outcomes", "largest difference"),
        rows=tuple(
            (str(c.num_speculative_tokens), str(c.outcomes), f"{c.deviation:.0e}") for c in checks
        ),
    )
    worst = max(check.deviation for check in checks)
    tokens = np.arange(len(_TARGET))
    return Outcome(
        findings=(
            f"Kept and refilled parts add up to the target for every token; the share kept, "
            f"{accepted.sum():.2f}, is 1 − total variation.",
            f"Across step borders the emitted law equals the target's to {worst:.0e}.",
        ),
        tables=(by_token, across),
        curves=(
            curve("drafter", tokens, _DRAFT),
            curve("emitted", tokens, accepted + refilled),
        ),
        x_label="token",
        y_label="probability",
    )


def greedy() -> Outcome:
    """Decode greedily with networks as target and drafter, with and without speculation."""
    rng = np.random.default_rng(8)
    network = random_mlp(rng, vocab_size=40, order=4, hidden_size=32, sharpness=2.0)
    setting = SamplingSetting(temperature=0.0)
    target = Reshaped(network, setting)
    noises = (0.0, 0.2, 0.4, 0.6, 0.8, 1.2)
    plain = [1, 2, 3, 4]
    while len(plain) < 104:
        plain.append(int(network.logits(np.array(plain[-4:])).argmax()))
    rows, lengths, same = [], [], []
    for noise in noises:
        drafter = Reshaped(perturbed_mlp(network, noise, np.random.default_rng(5)), setting)
        steps = generate(
            (1, 2, 3, 4),
            target,
            drafter,
            num_tokens=100,
            num_speculative_tokens=4,
            chance=RandomChance(rng),
        )
        emitted = [token for step in steps for token in step.emitted][:100]
        same.append(emitted == plain[4:])
        lengths.append(100 / len(steps))
        rows.append(
            (f"{noise:g}", str(len(steps)), f"{lengths[-1]:.2f}", "yes" if same[-1] else "NO")
        )
    return Outcome(
        findings=(
            f"All {len(noises)} drafters give the same 100 tokens as plain greedy decoding: "
            f"{'yes' if all(same) else 'NO'}.",
            f"They differ in how many verify passes it takes: {rows[0][1]} with the target itself "
            f"as drafter, {rows[-1][1]} with the worst.",
        ),
        tables=(
            LessonTable(
                title="100 tokens at T = 0, N = 4",
                columns=("noise on the drafter", "verify passes", "tokens/verify", "same text"),
                rows=tuple(rows),
            ),
        ),
        curves=(curve("N = 4", noises, lengths),),
        x_label="noise",
        y_label="tokens a verify pass",
    )


def residual_lesson() -> Outcome:
    """Refill rejected tokens from the residual, from the target, and from the drafter."""
    target, drafter = TableModel(_TARGET), TableModel(_DRAFT)
    keep = acceptance_probability(_TARGET, _DRAFT)
    accepted = _DRAFT * keep
    rejected = 1.0 - float(accepted.sum())
    refills = {
        "residual": np.asarray(residual(target.rows[0], drafter.rows[0])),
        "target": _TARGET,
        "drafter": _DRAFT,
    }
    emitted = {name: accepted + rejected * row for name, row in refills.items()}
    rows = [("target's law", *numbers(_TARGET), "")]
    for name, law in emitted.items():
        distance = total_variation(law, _TARGET)
        rows.append((f"refill from the {name}", *numbers(law), f"{distance:.3f}"))
    tokens = np.arange(len(_TARGET))
    wrong = total_variation(emitted["target"], _TARGET)
    return Outcome(
        findings=(
            "Only the residual puts back what acceptance took away.",
            f"Refilling from the target, the usual mistake, is off by {wrong:.3f} although every "
            "single token looks plausible: tokens that the drafter favours come out too often.",
        ),
        tables=(
            LessonTable(
                title="emitted law of one step, N = 1, first token",
                columns=("", "token 0", "token 1", "token 2", "token 3", "distance"),
                rows=tuple(rows),
            ),
        ),
        curves=tuple(curve(f"from the {name}", tokens, law) for name, law in emitted.items()),
        x_label="token",
        y_label="emitted probability",
    )


def chi_square_lesson() -> Outcome:
    """Test samples of the sound sampler and of a broken one at growing sample sizes."""
    case = fault_case()
    law = target_law(case.target, length=FAULT_TOKENS + 1, context=(0,))
    schemes = {
        "exact": SCHEMES["ratio"],
        "residual broken": RecipeScheme(FAULTS["residual"]),
        "rollback broken": RecipeScheme(FAULTS["rollback"]),
    }
    sizes = (50, 100, 200, 500, 2_000, 10_000, 50_000)
    rows, curves = [], []
    for name, scheme in schemes.items():
        rng = np.random.default_rng(3)
        distance = total_variation(scheme_law(scheme, case, FAULT_TOKENS, context=(0,)), law)
        ratios = []
        for size in sizes:
            tokens, _ = restarted(
                scheme,
                case.target,
                case.drafter,
                prompts=np.array([0]),
                restarts=size,
                length=FAULT_TOKENS + 1,
                n=FAULT_TOKENS,
                rng=rng,
            )
            fit = chi_square([count_outcomes(tokens, 3)], [law.ravel()], level=LEVEL)
            ratios.append(fit.statistic / fit.critical)
            if size in (200, 50_000):
                rows.append(
                    (
                        name,
                        f"{distance:.2f}",
                        f"{size:,}",
                        f"{fit.statistic:,.1f}",
                        str(fit.degrees_of_freedom),
                        f"{fit.critical:.1f}",
                        "fits" if fit.fits else "does not fit",
                    )
                )
        curves.append(curve(name, np.log10(sizes), np.minimum(ratios, 5.0)))
    return Outcome(
        findings=(
            "The exact sampler's statistic stays near its degrees of freedom at every size; a "
            "broken one's grows in proportion to the sample.",
            f"Samples are independent restarts from one context, the first {FAULT_TOKENS + 1} "
            f"tokens of each; a false alarm has a chance of {LEVEL:g}.",
        ),
        tables=(
            LessonTable(
                title="Pearson's statistic against its critical value",
                columns=("sampler", "distance", "restarts", "χ²", "degrees", "critical", ""),
                rows=tuple(rows),
            ),
        ),
        curves=tuple(curves),
        x_label="log10 of restarts",
        y_label="χ² ÷ critical value, cut at 5",
    )
