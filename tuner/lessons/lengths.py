"""Lessons about how many tokens a step gives: α, N, temperature, trees."""

from __future__ import annotations

import numpy as np

from tuner.lessons.outcome import LessonTable, Outcome, curve, numbers
from tuner.lessons.texts import shipped_tokens
from tuner.simulate.models import TableModel, random_table
from tuner.simulate.ngram import NGramModel
from tuner.simulate.pairs import drafter_with_acceptance, perturbed
from tuner.simulate.sampling import Reshaped, SamplingSetting
from tuner.simulate.tree_trial import (
    TreePlan,
    chain_plan,
    compare_trees,
    measure,
    read_plan,
    standard_plans,
)
from tuner.simulate.trial import mean_distances, run_pair
from tuner.speedup import (
    best_num_speculative_tokens,
    expected_tokens,
    formula_time_per_token,
)

_BATCH = 256


def _simulated_length(target: TableModel, drafter: TableModel, n: int, seed: int) -> float:
    run = run_pair(
        target,
        drafter,
        batch=_BATCH,
        steps=60,
        num_speculative_tokens=n,
        rng=np.random.default_rng([seed, n]),
    )
    return run.acceptance_length


def sensitivity() -> Outcome:
    """Give tokens a verify pass at K = 4 for four α, by formula and by simulation."""
    rates = (0.5, 0.7, 0.85, 0.95)
    target = random_table(np.random.default_rng(0), 32, 0)
    rows = []
    for rate in rates:
        drafter = drafter_with_acceptance(target, rate)
        expected = float(expected_tokens(rate, 4))
        measured = _simulated_length(target, drafter, 4, 1)
        rows.append((f"{rate:g}", f"{expected:.3f}", f"{measured:.3f}", f"{expected / 5.0:.0%}"))
    tokens = {rate: float(expected_tokens(rate, 4)) for rate in rates}
    up, down = tokens[0.85] / tokens[0.7], tokens[0.95] / tokens[0.85]
    fine = np.linspace(0.3, 1.0, 71)
    return Outcome(
        findings=(
            f"From α .7 to .85 a step gains {tokens[0.85] - tokens[0.7]:.2f} tokens, {up - 1:.0%}; "
            f"from .85 to .95 it gains {tokens[0.95] - tokens[0.85]:.2f} tokens, {down - 1:.0%}.",
            "The first move halves the rejections (.30 to .15), the second must remove two of "
            "three (.15 to .05) and meets the ceiling of K + 1 = 5 tokens, of which "
            f"{tokens[0.85] / 5:.0%} are there already.",
        ),
        tables=(
            LessonTable(
                title="K = 4",
                columns=("α", "tokens/verify", "simulated", "of the 5 possible"),
                rows=tuple(rows),
            ),
        ),
        curves=tuple(curve(f"K {k}", fine, expected_tokens(fine, k)) for k in (2, 4, 10)),
        x_label="α",
        y_label="tokens a verify pass",
    )


def expected_lesson() -> Outcome:
    """Perturb a target at several magnitudes and measure tokens a verify pass over N."""
    target = random_table(np.random.default_rng(0), 32, 1, sharpness=1.5)
    lengths = (1, 2, 4, 6, 8)
    rows, curves = [], []
    for noise in (0.05, 0.15, 0.3, 0.6, 1.0, 2.0):
        drafter = perturbed(target, noise, np.random.default_rng(1))
        distances = mean_distances(target, drafter, np.random.default_rng(2))
        taus = [_simulated_length(target, drafter, n, 3) for n in lengths]
        rows.append(
            (
                f"{noise:g}",
                f"{distances.kl:.4f}",
                f"{distances.total_variation:.3f}",
                f"{distances.acceptance_rate:.3f}",
                *numbers(taus, 2),
            )
        )
        if noise in (0.05, 0.3, 1.0, 2.0):
            curves.append(curve(f"α {distances.acceptance_rate:.2f}", lengths, taus))
    near = min(rows, key=lambda row: abs(float(row[3]) - 0.9))
    return Outcome(
        findings=(
            f"With α {near[3]} (noise {near[0]}) a verify pass gives {near[6]} tokens at N = 4 and "
            f"{near[7]} at N = 6: an α near .9 means 4 to 5 tokens.",
            "α is 1 − total variation; KL goes with its square, so halving the noise quarters KL "
            "and only halves the share of rejected tokens.",
        ),
        tables=(
            LessonTable(
                title="drafter = target + noise on its logits; tokens a verify pass, simulated",
                columns=("noise", "KL", "TV", "α", *(f"N {n}" for n in lengths)),
                rows=tuple(rows),
            ),
        ),
        curves=tuple(curves),
        x_label="N",
        y_label="tokens a verify pass",
    )


def draft_length() -> Outcome:
    """Give wall time a token for N = 1 … 10 at α = .9, c = .04, and where the minimum is."""
    rate, cost = 0.9, 0.04
    counts = np.arange(1, 11)
    more = np.arange(1, 26)
    tokens = expected_tokens(rate, counts)
    times = formula_time_per_token(rate, cost, counts)
    best = int(best_num_speculative_tokens(rate, cost))
    best_time = float(formula_time_per_token(rate, cost, best))
    rows = tuple(
        (str(n), f"{e:.3f}", f"{n * cost + 1:.2f}", f"{t:.3f}", f"{1 / t:.2f}×")
        for n, e, t in zip(counts, tokens, times, strict=True)
    )
    flat = int(np.flatnonzero(formula_time_per_token(rate, cost, more) <= 1.03 * best_time)[0]) + 1
    return Outcome(
        findings=(
            f"Over N = 1 … 10 time a token still falls at the end; the minimum is at N = {best}, "
            f"{1 / best_time:.2f}× plain decoding, outside the range that is usually tried.",
            f"The curve is flat: N = {flat} is within 3 % of it, and N = 10 within "
            f"{float(times[-1]) / best_time - 1:.1%}. Take the smaller one where verify tokens are "
            "not free.",
        ),
        tables=(
            LessonTable(
                title="α = .9, c = .04",
                columns=("N", "tokens/verify", "step", "time/token", "speedup"),
                rows=rows,
            ),
        ),
        curves=(curve("time a token", more, formula_time_per_token(rate, cost, more)),),
        x_label="N",
        y_label="plain steps a token",
    )


def tree_against_chain() -> Outcome:
    """Compare the [2, 2, 2] tree with chains of equal verify tokens and equal draft time."""
    tokens, alphabet = shipped_tokens()
    target = NGramModel(tokens, len(alphabet), 4)
    drafter = NGramModel(tokens, len(alphabet), 2)
    plans: tuple[TreePlan, ...] = (standard_plans()[0], *read_plan("3x3"), *read_plan("5/4/26"))
    found = compare_trees(target, drafter, plans=plans, batch=_BATCH, steps=40, seed=1)
    rows = tuple(
        (
            row.plan.name,
            str(row.plan.verify_tokens),
            str(row.plan.draft_steps),
            f"{row.tree.mean:.2f}",
            f"N {row.plan.verify_tokens - 1}: {row.equal_verify.mean:.2f}",
            f"N {row.plan.draft_steps}: {row.equal_draft.mean:.2f}",
        )
        for row in found
    )
    lengths = (1, 2, 3, 4, 6, 8, 10, 12, 14)
    chain = [
        measure(
            chain_plan(n),
            target,
            drafter,
            batch=_BATCH,
            steps=40,
            rng=np.random.default_rng([2, n]),
        ).mean
        for n in lengths
    ]
    first = found[0]
    return Outcome(
        findings=(
            f"With 15 verify tokens the tree gives {first.tree.mean:.2f} tokens a pass, the chain "
            f"{first.equal_verify.mean:.2f}; the tree needs 3 draft passes, the chain 14.",
            f"With 3 draft passes the chain gives {first.equal_draft.mean:.2f} and verifies 4 "
            "tokens, the tree 15: whether that is a bargain is the cost model's question.",
        ),
        tables=(
            LessonTable(
                title="5-gram target, 3-gram drafter, Shakespeare's Coriolanus",
                columns=("tree", "verify", "passes", "tokens/verify", "same verify", "same passes"),
                rows=rows,
            ),
        ),
        curves=(
            curve("chain by N", lengths, chain),
            curve("[2, 2, 2]", lengths, np.full(len(lengths), first.tree.mean)),
        ),
        x_label="N",
        y_label="tokens a verify pass",
    )


def temperature() -> Outcome:
    """Measure α over temperature for the rules that engines use."""
    tokens, alphabet = shipped_tokens()
    target = NGramModel(tokens, len(alphabet), 4)
    drafter = NGramModel(tokens, len(alphabet), 3)
    temperatures = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
    names = ("ratio", "block", "exact_match", "typical")
    found: dict[str, list[float]] = {name: [] for name in names}
    for value in temperatures:
        setting = SamplingSetting(temperature=value)
        pair = Reshaped(target, setting), Reshaped(drafter, setting)
        for name in names:
            rng = np.random.default_rng(4)
            length = measure(chain_plan(4, name), *pair, batch=_BATCH, steps=20, rng=rng)
            found[name].append(length.mean)
    rows = tuple(
        (f"{value:g}", *numbers([found[name][place] for name in names], 2))
        for place, value in enumerate(temperatures)
    )
    return Outcome(
        findings=(
            "Drafts that are sampled and judged by the ratio keep most of their acceptance at any "
            "temperature; greedy drafts matched against the target's sample lose it as the "
            f"target spreads out: {found['exact_match'][0]:.2f} tokens at T 0, "
            f"{found['exact_match'][4]:.2f} at T 1.",
            "Block verification accepts at least as much as the ratio rule on average. Typical "
            "acceptance keeps the most at low temperature and pays with another distribution "
            "(specdec-tune verify --rule typical).",
        ),
        tables=(
            LessonTable(
                title="tokens a verify pass, N = 4, 5-gram target, 4-gram drafter",
                columns=("T", *names),
                rows=rows,
            ),
        ),
        curves=tuple(curve(name, temperatures, found[name]) for name in names),
        x_label="temperature",
        y_label="tokens a verify pass",
    )
