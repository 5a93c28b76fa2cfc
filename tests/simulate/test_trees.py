"""Draft trees: acceptance against the tree maths, the mask against reading each path alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.records.config import TreeSetting
from tuner.simulate.attention import (
    causal_mask,
    greedy_accepted,
    longest_accepted_path,
    path_logits,
    random_transformer,
    tree_logits,
    tree_mask,
    tree_positions,
)
from tuner.simulate.dynamic_trees import dynamic_step, propose
from tuner.simulate.models import random_table
from tuner.simulate.sampling import Reshaped, SamplingSetting
from tuner.simulate.schemes import tree_batch_step
from tuner.simulate.statistics import chi_square
from tuner.simulate.tree_step import Siblings, TreeBatch, widths_tree
from tuner.simulate.tree_trial import read_plan, standard_plans
from tuner.trees.shape import DraftTree
from tuner.trees.static import EAGLE_1, named_tree

LEVEL = 1e-4


@st.composite
def trees(draw: st.DrawFn) -> DraftTree:
    size = draw(st.integers(1, 14))
    parents, ranks = [-1], [0]
    for node in range(1, size + 1):
        parents.append(draw(st.integers(0, node - 1)))
        ranks.append(1 + parents[:-1].count(parents[-1]))
    return DraftTree(parents=tuple(parents), ranks=tuple(ranks))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(tree=trees(), prefix=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_one_pass_over_a_tree_equals_reading_every_path(
    tree: DraftTree, prefix: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    model = random_transformer(rng, vocab_size=11, size=16)
    text, tokens = rng.integers(11, size=prefix), rng.integers(11, size=tree.nodes)
    together = tree_logits(model, text, tree, tokens)
    assert np.abs(together - path_logits(model, text, tree, tokens)).max() < 1e-6


def test_mask_or_positions_done_wrong_are_not_the_same() -> None:
    rng = np.random.default_rng(0)
    model = random_transformer(rng)
    tree = widths_tree((2, 2, 2))
    text, tokens = rng.integers(32, size=6), rng.integers(32, size=14)
    whole = np.concatenate([text, tokens])
    right = path_logits(model, text, tree, tokens)
    causal = model.logits(whole, tree_positions(tree, 6), causal_mask(20))[5:]
    in_a_row = model.logits(whole, np.arange(20), tree_mask(tree, 6))[5:]
    assert np.abs(causal - right).max() > 0.1
    assert np.abs(in_a_row - right).max() > 0.1


def test_mask_and_positions_of_a_small_tree_by_hand() -> None:
    tree = widths_tree((2, 1))  # root; a, b; a's child, b's child
    assert tree_positions(tree, 3).tolist() == [0, 1, 2, 3, 3, 4, 4]
    assert tree_mask(tree, 3).astype(int).tolist() == [
        [1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 1, 0, 0],
        [1, 1, 1, 1, 0, 1, 0],
        [1, 1, 1, 0, 1, 0, 1],
    ]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tree=trees(), seed=st.integers(0, 10**6))
def test_longest_accepted_path_is_the_longest(tree: DraftTree, seed: int) -> None:
    accepted = np.random.default_rng(seed).random(tree.nodes + 1) < 0.6
    longest = 0
    for node in range(tree.nodes + 1):
        path = []
        while node:
            path.append(node)
            node = tree.parents[node]
        if all(accepted[path]):
            longest = max(longest, len(path))
    found = longest_accepted_path(tree, accepted)
    assert len(found) == longest
    assert all(accepted[found])
    assert [tree.parents[node] for node in found] == [0, *found[:-1]][: len(found)]


def test_greedy_acceptance_of_a_tree() -> None:
    tree = widths_tree((2, 2))
    tokens = np.array([5, 7, 1, 2, 3, 4])
    logits = np.zeros((7, 9))
    logits[0, 7] = logits[2, 3] = logits[1, 1] = 1.0  # root wants 7, node 2 wants 3, node 1 wants 1
    accepted = greedy_accepted(tree, tokens, logits)
    assert np.flatnonzero(accepted[1:] * 1).tolist() == [1, 2, 4]
    assert longest_accepted_path(tree, accepted) == [2, 5]


def rank_law(target: np.ndarray, draft: np.ndarray, ranks: int, siblings: Siblings) -> np.ndarray:
    """The chance that the child of each rank is the accepted one, over all ordered draws."""
    law = np.zeros(ranks)
    vocab = len(target)

    def walk(rank: int, weight: float, wanted: np.ndarray, given: np.ndarray) -> None:
        if rank == ranks or weight == 0.0 or not given.any():
            return
        for token in range(vocab):
            if siblings is Siblings.TOP:
                if token != int(given.argmax()):
                    continue
                chance, offered = 1.0, np.eye(vocab)[token]
            else:
                chance, offered = given[token], given
            if chance == 0.0:
                continue
            keep = min(1.0, wanted[token] / offered[token])
            law[rank] += weight * chance * keep
            rest = np.maximum(wanted - offered, 0.0)
            after = rest / rest.sum() if rest.sum() > 0 else wanted
            left = given.copy()
            if siblings is not Siblings.WITH_REPLACEMENT:
                left[token] = 0.0
                left = left / left.sum() if left.sum() > 0 else left
            walk(rank + 1, weight * chance * (1.0 - keep), after, left)

    walk(0, 1.0, target, draft)
    return law


def length_law(tree: DraftTree, by_rank: np.ndarray) -> np.ndarray:
    """Law of the number of accepted drafts when every node accepts by rank alike."""
    reached = np.zeros(tree.nodes + 1)
    reached[0] = 1.0
    law = np.zeros(tree.depth + 1)
    children = tree.children()
    for node in range(tree.nodes + 1):
        if node:
            reached[node] = reached[tree.parents[node]] * by_rank[tree.ranks[node] - 1]
        stays = 1.0 - by_rank[: len(children[node])].sum()
        law[tree.depths[node]] += reached[node] * stays
    return law


@pytest.mark.parametrize("siblings", list(Siblings))
@pytest.mark.parametrize("shape", ["2x2x2", "3x3", "chain", "eagle-1"])
def test_accepted_lengths_have_the_law_of_the_tree_maths(siblings: Siblings, shape: str) -> None:
    tree = {
        "2x2x2": widths_tree((2, 2, 2)),
        "3x3": widths_tree((3, 3)),
        "chain": widths_tree((1, 1, 1)),
        "eagle-1": named_tree(EAGLE_1),
    }[shape]
    rng = np.random.default_rng(31)
    target, drafter = random_table(rng, 5, 0), random_table(rng, 5, 0)
    law = length_law(tree, rank_law(target.rows[0], drafter.rows[0], 4, siblings))
    _, accepted = TreeBatch(tree, siblings).step(
        np.zeros((8_000, 0), dtype=np.int64), target, drafter, rng
    )
    counts = np.bincount(accepted, minlength=tree.depth + 1)
    assert chi_square([counts], [law], level=LEVEL).fits


def test_drawn_siblings_differ_and_independent_ones_may_not() -> None:
    rng = np.random.default_rng(0)
    drafter = random_table(rng, 4, 0, sharpness=2.0)
    windows = np.zeros((2_000, 0), dtype=np.int64)
    for siblings, may_repeat in ((Siblings.WITHOUT_REPLACEMENT, 0), (Siblings.WITH_REPLACEMENT, 1)):
        tokens, _, _ = TreeBatch(widths_tree((3,)), siblings).draft(windows, drafter, rng)
        repeats = sum(len(set(row)) < 3 for row in tokens[:, 1:].tolist())
        assert (repeats > 0) == may_repeat


def test_more_children_than_tokens_leaves_places_empty() -> None:
    rng = np.random.default_rng(0)
    model = random_table(rng, 2, 0)
    trees_of_three = TreeBatch(widths_tree((3, 1)), Siblings.WITHOUT_REPLACEMENT)
    tokens, _, _ = trees_of_three.draft(np.zeros((5, 0), dtype=np.int64), model, rng)
    assert (tokens[:, 3] == -1).all()
    emitted, accepted = trees_of_three.step(np.zeros((50, 0), dtype=np.int64), model, model, rng)
    assert accepted.min() >= 1  # two tokens, both drafted: one of them is always right
    assert (emitted[np.arange(50), accepted] >= 0).all()


def proposals_by_definition(
    drafter, context: tuple[int, ...], setting: TreeSetting
) -> set[tuple[int, ...]]:
    """Paths that are verified, grown by sorting lists."""
    frontier = [((), 1.0)]
    everything = []
    for _ in range(setting.num_steps):
        proposed = []
        for path, confidence in frontier:
            row = drafter.probs(np.array([(*context, *path)[-1]]))
            best = sorted(range(len(row)), key=lambda token: -row[token])[: setting.topk]
            proposed += [((*path, token), confidence * row[token]) for token in best]
        everything += proposed
        frontier = sorted(proposed, key=lambda item: -item[1])[: setting.topk]
    kept = sorted(everything, key=lambda item: -item[1])[: setting.draft_tokens - 1]
    return {path for path, _ in kept}


@pytest.mark.parametrize("numbers", [(3, 2, 6), (4, 3, 10), (2, 4, 20), (5, 1, 6)])
def test_dynamic_trees_are_eagle_2s(numbers: tuple[int, int, int]) -> None:
    setting = TreeSetting(num_steps=numbers[0], topk=numbers[1], draft_tokens=numbers[2])
    drafter = random_table(np.random.default_rng(2), 6, 1, sharpness=1.5)
    contexts = np.arange(6)[:, None]
    drafted = propose(contexts, drafter, setting)
    for sequence in range(6):
        paths: list[tuple[int, ...]] = []
        for token, parent in zip(
            drafted.tokens[sequence].tolist(), drafted.parents[sequence].tolist(), strict=True
        ):
            paths.append((*(paths[parent] if parent >= 0 else ()), token))
        kept = {paths[i] for i in np.flatnonzero(drafted.kept[sequence])}
        assert kept == proposals_by_definition(drafter, (sequence,), setting)
        assert all(path[:-1] in kept or len(path) == 1 for path in kept)


def test_dynamic_trees_accept_what_their_paths_allow() -> None:
    """The accepted length is the longest prefix of the target's own text that was drafted."""
    setting = TreeSetting(num_steps=3, topk=2, draft_tokens=6)
    rng = np.random.default_rng(4)
    target = random_table(rng, 4, 1, sharpness=1.5)
    drafter = random_table(rng, 4, 1, sharpness=1.5)
    paths = proposals_by_definition(drafter, (2,), setting)
    law = np.zeros(4)
    for text in itertools.product(range(4), repeat=3):
        weight, before = 1.0, 2
        for token in text:
            weight *= target.probs(np.array([before]))[token]
            before = token
        law[max(length for length in range(4) if length == 0 or text[:length] in paths)] += weight
    step = dynamic_step(np.full((20_000, 1), 2), target, drafter, setting, rng)
    assert chi_square([np.bincount(step.num_accepted, minlength=4)], [law], level=LEVEL).fits
    first = np.where(step.num_accepted > 0, step.drafts[:, 0], step.final)
    assert chi_square([np.bincount(first, minlength=4)], [target.rows[2]], level=LEVEL).fits


@pytest.mark.parametrize("plan", standard_plans(), ids=lambda plan: plan.name)
def test_greedy_trees_emit_greedy_text(plan) -> None:
    rng = np.random.default_rng(6)
    greedy = SamplingSetting(temperature=0.0)
    target = Reshaped(random_table(rng, 6, 1), greedy)
    drafter = random_table(rng, 6, 1)
    windows = np.arange(6)[:, None]
    step = plan.step(target, drafter, rng)(windows)
    for sequence in range(6):
        emitted = [token for token in step.emitted[sequence].tolist() if token >= 0]
        seen = sequence
        for token in emitted:
            assert token == int(target.probs(np.array([seen])).argmax())
            seen = token
        assert step.windows[sequence].tolist() == [seen]


def test_tree_step_moves_the_context_on() -> None:
    rng = np.random.default_rng(1)
    target, drafter = random_table(rng, 5, 2), random_table(rng, 5, 1)
    windows = rng.integers(5, size=(30, 2))
    batch = TreeBatch(widths_tree((2, 2)), Siblings.WITHOUT_REPLACEMENT)
    step = tree_batch_step(batch, windows, target, drafter, rng)
    for sequence in range(30):
        emitted = [token for token in step.emitted[sequence].tolist() if token >= 0]
        whole = [*windows[sequence].tolist(), *emitted]
        assert step.windows[sequence].tolist() == whole[-2:]


@pytest.mark.parametrize("text", ["", "2x", "0x2", "5/4", "5/4/1", "abc", "9x9x9x9", "3/4/500"])
def test_impossible_trees_are_errors(text: str) -> None:
    with pytest.raises(InputError):
        read_plan(text)


def test_trees_are_read() -> None:
    (plan,) = read_plan("2x2x2")
    assert (plan.verify_tokens, plan.draft_steps) == (15, 3)
    (plan,) = read_plan("5/4/26")
    assert (plan.verify_tokens, plan.draft_steps) == (26, 5)
    assert [plan.verify_tokens for plan in read_plan("EAGLE-1")] == [26, 26]
