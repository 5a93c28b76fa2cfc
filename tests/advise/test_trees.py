"""Curves of draft trees against every outcome written out, and what measured trees teach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tuner.advise.observed_trees import observed_factors
from tuner.advise.trees import SETTINGS, tree_curves, tree_log_sd
from tuner.records.acceptance import (
    AcceptanceBelief,
    AcceptanceObservation,
    AcceptanceQuery,
    TargetClass,
)
from tuner.records.config import TreeSetting
from tuner.records.methods import Method, Task
from tuner.trees.dynamic import SERVED_DEPTH_DISCOUNT
from tuner.trees.ranks import rank_acceptance

FloatArray = NDArray[np.float64]
Path = tuple[int, ...]

CHAIN = np.array([0.78, 0.72, 0.68, 0.66, 0.65, 0.64, 0.63, 0.62])
SMALL = (
    TreeSetting(num_steps=2, topk=2, draft_tokens=4),
    TreeSetting(num_steps=3, topk=2, draft_tokens=4),
    TreeSetting(num_steps=3, topk=4, draft_tokens=8),
    TreeSetting(num_steps=4, topk=3, draft_tokens=12),
    TreeSetting(num_steps=5, topk=1, draft_tokens=6),
)


def verified_paths(tree: TreeSetting, table: FloatArray) -> list[Path]:
    """Expand as EAGLE-2 does, with paths of ranks in place of arrays; return the verified ones."""

    def trust(path: Path) -> float:
        # a drafter's own order: no rank is trusted more than the one before it
        value = 1.0
        for depth, rank in enumerate(path):
            value *= min(table[depth, : rank + 1]) * SERVED_DEPTH_DISCOUNT
        return value

    frontier: list[Path] = [()]
    proposed: list[Path] = []
    for _ in range(tree.num_steps):
        children = [(*path, rank) for path in frontier for rank in range(tree.topk)]
        proposed += children
        frontier = sorted(children, key=lambda path: -trust(path))[: tree.topk]
    return sorted(proposed, key=lambda path: -trust(path))[: tree.draft_tokens - 1]


def enumerated_length(tree: TreeSetting, table: FloatArray, deepest: int) -> float:
    """Mean tokens of a step over every outcome: at each depth one rank is right, or none."""
    paths = set(verified_paths(tree, table))
    ranks = range(tree.topk + 1)  # the last: no proposed child is right
    total, chance_of_all = 0.0, 0.0
    for outcome in itertools.product(ranks, repeat=tree.num_steps):
        chance, tokens, alive = 1.0, 1, True
        for depth, rank in enumerate(outcome):
            odds = table[depth, : tree.topk]
            chance *= 1.0 - odds.sum() if rank == tree.topk else odds[rank]
            alive = alive and depth < deepest and outcome[: depth + 1] in paths
            tokens += alive
        total += chance * tokens
        chance_of_all += chance
    assert chance_of_all == pytest.approx(1.0)
    return total


@pytest.mark.parametrize("tree", SMALL, ids=str)
def test_each_depth_of_a_curve_is_enumerated(tree: TreeSetting) -> None:
    table = rank_acceptance(CHAIN[: tree.num_steps], tree.topk)
    (found,) = tree_curves((tree,), CHAIN)
    expected = [enumerated_length(tree, table, depth) for depth in range(tree.num_steps + 1)]
    assert found == pytest.approx(expected)


@given(st.lists(st.floats(0.05, 0.95), min_size=3, max_size=3))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_any_acceptance_is_enumerated(rates: list[float]) -> None:
    tree = SMALL[2]
    chain = np.array(rates)
    found = tree_curves((tree,), chain)[0, -1]
    assert found == pytest.approx(enumerated_length(tree, rank_acceptance(chain, tree.topk), 3))


def test_trees_that_are_offered_are_simulated() -> None:
    """Walks of 60,000 steps: which rank is right is drawn at every depth."""
    rng = np.random.default_rng(2)
    for tree in SETTINGS:
        table = rank_acceptance(CHAIN[: tree.num_steps], tree.topk)
        paths = set(verified_paths(tree, table))
        counts: dict[Path, int] = dict.fromkeys(((), *paths), 0)
        at = {(): 60_000}
        for depth in range(tree.num_steps):
            odds = np.append(table[depth, : tree.topk], 0.0)
            odds[-1] = 1.0 - odds[:-1].sum()
            following: dict[Path, int] = {}
            for path, walkers in at.items():
                for rank, count in enumerate(rng.multinomial(walkers, odds)[:-1]):
                    child = (*path, rank)
                    if child in paths:
                        following[child] = int(count)
                        counts[child] = int(count)
            at = following
        simulated = 1.0 + sum(counts.values()) / 60_000
        found = tree_curves((tree,), CHAIN)[0, -1]
        assert found == pytest.approx(simulated, rel=0.01), tree


def test_curves_of_several_trees_end_at_their_own_depth() -> None:
    curves = tree_curves(SMALL, CHAIN)
    assert curves.shape == (len(SMALL), 6)
    for curve, tree in zip(curves, SMALL, strict=True):
        assert (np.diff(curve[: tree.num_steps + 1]) >= 0.0).all()
        assert (curve[tree.num_steps :] == curve[tree.num_steps]).all()


QUERY = AcceptanceQuery(
    method=Method.EAGLE3,
    target=TargetClass(target_id="t", total_params=8e9, active_params=8e9),
    task=Task.CHAT,
)
TREE, OTHER = SMALL[2], SMALL[3]
RUN_SD = 0.1


def chain_belief(query: AcceptanceQuery) -> AcceptanceBelief:
    length = np.concatenate(([1.0], 1.0 + np.cumsum(np.cumprod(CHAIN))))
    return AcceptanceBelief(
        query=query,
        survival=np.cumprod(CHAIN),
        length=length,
        length_log_sd=np.zeros(len(length)),
    )


def measured(length: float, **changes: object) -> AcceptanceObservation:
    return AcceptanceObservation(
        method=Method.EAGLE3,
        num_speculative_tokens=7,
        tree=(TREE.num_steps, TREE.topk, TREE.draft_tokens),
        acceptance_length=length,
        **changes,
    )


@pytest.mark.parametrize("ratios", [(1.2,), (0.8, 0.9), (1.3, 1.1, 1.2)])
def test_a_measured_tree_is_weighed_as_a_numerical_posterior_weighs_it(
    ratios: tuple[float, ...],
) -> None:
    central = float(tree_curves((TREE,), CHAIN)[0, -1])
    rows = [measured(central * ratio) for ratio in ratios]
    factors, spreads, runs = observed_factors((TREE, OTHER), QUERY, rows, chain_belief, RUN_SD)
    # ln(tree ÷ chain) on a fine grid: normal prior, one normal likelihood a run
    grid = np.linspace(-1.5, 1.5, 30_001)
    log_weight = -0.5 * (grid / tree_log_sd()) ** 2
    for ratio in ratios:
        log_weight -= 0.5 * ((np.log(ratio) - grid) / RUN_SD) ** 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = float((grid * weight).sum())
    spread = float(np.sqrt(((grid - mean) ** 2 * weight).sum()))
    assert np.log(factors[0]) == pytest.approx(mean, abs=1e-6)
    assert spreads[0] == pytest.approx(spread, rel=1e-4)
    assert factors[1] == 1.0
    assert spreads[1] == tree_log_sd()
    assert runs.tolist() == [RUN_SD, np.inf]


def test_rows_of_other_trees_tasks_or_without_a_length_teach_less() -> None:
    central = float(tree_curves((TREE,), CHAIN)[0, -1])
    other_task = measured(central * 1.3, task=Task.CODE)
    factors, _spreads, runs = observed_factors((TREE,), QUERY, [other_task], chain_belief, RUN_SD)
    assert factors[0] > 1.1
    assert runs[0] == np.inf
    silent = [
        AcceptanceObservation(method=Method.EAGLE3, num_speculative_tokens=3),
        AcceptanceObservation(
            method=Method.EAGLE3, num_speculative_tokens=9, tree=(9, 1, 10), acceptance_length=3.0
        ),
    ]
    factors, spreads, runs = observed_factors((TREE,), QUERY, silent, chain_belief, RUN_SD)
    assert (factors[0], spreads[0], runs[0]) == (1.0, tree_log_sd(), np.inf)
