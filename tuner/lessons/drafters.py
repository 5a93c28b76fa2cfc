"""Lessons about drafters: training them, exposure bias, and the road of methods."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tuner.lessons.outcome import LessonTable, Outcome, curve, numbers
from tuner.lessons.texts import shipped_tokens
from tuner.simulate.exposure import (
    ExposureSetting,
    acceptance_by_position,
    new_drafter,
    train_drafter,
)
from tuner.simulate.mlp import MLPModel
from tuner.simulate.models import random_table
from tuner.simulate.pairs import drafter_with_acceptance
from tuner.simulate.training import TrainingSetting, distilled, new_network, trained_on_tokens
from tuner.simulate.tree_trial import chain_plan, measure, read_plan
from tuner.simulate.trial import mean_distances, own_text
from tuner.speedup import expected_tokens, formula_time_per_token

#: the target is trained on the first part of the text, drafters on the rest
_TARGET_TOKENS = 40_000


@lru_cache(maxsize=1)
def text_target() -> MLPModel:
    """Return a network of 4 tokens of context trained on the first part of the text."""
    tokens, alphabet = shipped_tokens()
    rng = np.random.default_rng(0)
    fresh = new_network(rng, vocab_size=len(alphabet), order=4, hidden_size=48)
    setting = TrainingSetting(steps=1_000)
    return trained_on_tokens(fresh, tokens[:_TARGET_TOKENS], setting, rng)


def distillation() -> Outcome:
    """Train one drafter on tokens and one on the target's distributions, on growing texts."""
    tokens, alphabet = shipped_tokens()
    target = text_target()
    rest = tokens[_TARGET_TOKENS:]
    fresh = new_network(np.random.default_rng(5), vocab_size=len(alphabet), order=3, hidden_size=24)
    setting = TrainingSetting(steps=300)

    def acceptance(drafter: MLPModel) -> float:
        return mean_distances(target, drafter, np.random.default_rng(2)).acceptance_rate

    untrained = acceptance(fresh)
    sizes = (500, 2_000, 19_000)
    on_tokens, on_target = [], []
    for size in sizes:
        text, rng = rest[:size], np.random.default_rng
        on_tokens.append(acceptance(trained_on_tokens(fresh, text, setting, rng(1))))
        on_target.append(acceptance(distilled(fresh, target, text, setting, rng(1))))
    rows = tuple(
        (f"{size:,}", f"{untrained:.3f}", *numbers(rates), f"{tau[0]:.2f} → {tau[1]:.2f}")
        for size, rates, tau in zip(
            sizes,
            zip(on_tokens, on_target, strict=True),
            [
                [float(expected_tokens(rate, 4)) for rate in (a, b)]
                for a, b in zip(on_tokens, on_target, strict=True)
            ],
            strict=True,
        )
    )
    times = [float(formula_time_per_token(rate, 0.05, 4)) for rate in (untrained, on_target[-1])]
    return Outcome(
        findings=(
            f"Trained on {sizes[1]:,} characters by KL to the target, the drafter reaches α "
            f"{on_target[1]:.3f}; trained on which character came next it has "
            f"{on_tokens[-1]:.3f} after {sizes[-1]:,}.",
            f"At c = .05 and N = 4 the untrained drafter runs at {1 / times[0]:.2f}×, the "
            f"distilled one at {1 / times[1]:.2f}×.",
        ),
        tables=(
            LessonTable(
                title="α of a 24-unit drafter for a 48-unit target (α on the target's own text)",
                columns=("characters", "untrained", "on tokens", "on target", "tokens at N 4"),
                rows=rows,
            ),
        ),
        curves=(
            curve("trained on tokens", np.log10(sizes), on_tokens),
            curve("trained on the target's distribution", np.log10(sizes), on_target),
        ),
        x_label="log10 of characters",
        y_label="acceptance rate α",
    )


def exposure_bias() -> Outcome:
    """Train a drafter that feeds on its own state in three ways; measure α by position."""
    target = text_target()
    rng = np.random.default_rng(0)
    text = own_text(target, length=60, batch=400, rng=rng)
    contexts = own_text(target, length=20, batch=4_000, rng=rng)
    fresh = new_drafter(np.random.default_rng(3), vocab_size=target.vocab_size, size=48)
    ways = {
        "target's states only": ExposureSetting(),
        "and made like them (EAGLE)": ExposureSetting(state_weight=0.1),
        "unrolled on its own (EAGLE-3)": ExposureSetting(unrolled=4),
    }
    found = {}
    for name, setting in ways.items():
        trained = train_drafter(fresh, target, text, setting, np.random.default_rng(1))
        found[name] = acceptance_by_position(trained, target, contexts, 7, np.random.default_rng(2))
    rows = tuple(
        (name, *numbers(rates, 2), f"{1.0 + np.cumprod(rates).sum():.2f}")
        for name, rates in found.items()
    )
    first, last = found["target's states only"], found["unrolled on its own (EAGLE-3)"]
    return Outcome(
        findings=(
            f"Trained on the target's states alone, α falls from {first[0]:.2f} to {first[-1]:.2f} "
            "by the seventh draft: from the second one on the drafter reads states it never saw.",
            f"Trained on its own states, α stays at {last[1]:.2f} to {last[-1]:.2f}, although the "
            f"first draft is a little worse ({last[0]:.2f}).",
        ),
        tables=(
            LessonTable(
                title="conditional acceptance by draft position",
                columns=("trained on", *(str(i) for i in range(1, 8)), "tokens/verify"),
                rows=rows,
            ),
        ),
        curves=tuple(curve(name, np.arange(1, 8), rates) for name, rates in found.items()),
        x_label="draft position",
        y_label="conditional acceptance α",
    )


def road() -> Outcome:
    """Put the ideas of the road side by side on one pair of toy models."""
    target = random_table(np.random.default_rng(0), 16, 1, sharpness=2.0)
    chain_drafter = drafter_with_acceptance(target, 0.75)
    better = drafter_with_acceptance(target, 0.88)
    steps = (
        ("chain, N 4, drafter α .75", chain_drafter, chain_plan(4), 0.10, 4),
        ("better drafter, α .88", better, chain_plan(4), 0.10, 4),
        ("cheap head, c .03", better, chain_plan(4), 0.03, 4),
        ("tree of 25 nodes, 5 passes", better, read_plan("eagle-1")[0], 0.03, 5),
        ("longer chain, N 8", better, chain_plan(8), 0.03, 8),
        ("one parallel pass, N 8", better, chain_plan(8), 0.03, 1),
    )
    rows, speeds = [], []
    for name, drafter, plan, cost, passes in steps:
        rng = np.random.default_rng(6)
        tau = measure(plan, target, drafter, batch=128, steps=40, rng=rng).mean
        speeds.append(tau / (1.0 + passes * cost))
        rows.append((name, f"{tau:.2f}", f"{1.0 + passes * cost:.2f}", f"{speeds[-1]:.2f}×"))
    return Outcome(
        findings=(
            "Each idea removes the limit that the one before it left: the quality of the draft, "
            "its cost, its single path, its serial passes.",
            "Toy numbers with free verification; real batches pay for verify tokens, and then the "
            "tree and the long chain are the first to go.",
        ),
        tables=(
            LessonTable(
                title="one target, the same rule, one limit removed at a time",
                columns=("what changes", "tokens/verify", "step", "speedup"),
                rows=tuple(rows),
            ),
        ),
        curves=(curve("speedup", np.arange(1, len(steps) + 1), speeds),),
        x_label="row of the table",
        y_label="speedup",
    )
