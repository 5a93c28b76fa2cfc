"""Shapes, their expected tokens by simulation, static lists, ranks from chains, and costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.trees.costed import best_tree_for_cost
from tuner.trees.expected import depth_survival, expected_tokens
from tuner.trees.optimal import optimal_trees
from tuner.trees.ranks import SEQUOIA, rank_acceptance
from tuner.trees.shape import DraftTree, chain, tree_of_paths
from tuner.trees.static import EAGLE_1, MEDUSA, choices_of_tree, named_tree, tree_of_choices

#: FasterDecoding/Medusa, assets/medusa_acc.csv, Vicuna-7B: (top-1, top-5) accuracy of heads 1 … 5
MEDUSA_HEADS = [
    (0.5604, 0.7799),
    (0.3164, 0.5625),
    (0.2010, 0.4169),
    (0.1474, 0.3397),
    (0.1175, 0.2998),
]


#: EAGLE, arXiv:2401.15077v3, Table 2 (MT-bench, T = 0): conditional rates of chains, and τ with the
#: 25-node tree (for the 7B and 13B targets as EAGLE-2, arXiv:2406.16858, Table 1 repeats it)
EAGLE_PAPER = {
    "Vicuna-7B": ((0.79, 0.74, 0.72, 0.73, 0.67), 3.94),
    "Vicuna-13B": ((0.79, 0.74, 0.72, 0.74, 0.70), 3.98),
    "Vicuna-33B": ((0.74, 0.69, 0.67, 0.67, 0.66), 3.68),
    "LLaMA2-Chat-7B": ((0.76, 0.69, 0.67, 0.68, 0.68), 3.62),
    "LLaMA2-Chat-13B": ((0.77, 0.69, 0.69, 0.70, 0.71), 3.90),
}


def walk(tree: DraftTree, vector: np.ndarray, rng: np.random.Generator) -> int:
    """Accept tokens as a verifier would: at each node one rank, or none, is the accepted one."""
    children = tree.children()
    node, emitted = 0, 1
    while True:
        draw = rng.random()
        accepted = int(np.searchsorted(np.cumsum(vector), draw, side="right")) + 1
        match = [child for child in children[node] if tree.ranks[child] == accepted]
        if not match:
            return emitted
        node = match[0]
        emitted += 1


@pytest.mark.parametrize(
    "tree",
    [chain(5), named_tree(EAGLE_1), optimal_trees(SEQUOIA, nodes=20, depth=5).tree(20)],
    ids=["chain", "eagle-1", "optimal"],
)
def test_expected_tokens_agree_with_simulation(tree: DraftTree) -> None:
    rng = np.random.default_rng(7)
    lengths = np.array([walk(tree, SEQUOIA, rng) for _ in range(20_000)])
    error = 4.5 * lengths.std() / np.sqrt(len(lengths))
    assert expected_tokens(tree, SEQUOIA) == pytest.approx(lengths.mean(), abs=error)
    for depth, survival in enumerate(depth_survival(tree, SEQUOIA), start=1):
        assert survival == pytest.approx(np.mean(lengths > depth), abs=0.02)


def test_a_chain_is_the_geometric_sum() -> None:
    assert expected_tokens(chain(4), [0.8]) == pytest.approx(3.3616)
    assert expected_tokens(chain(5), [0.9]) == pytest.approx(4.68559)
    assert expected_tokens(chain(5), [0.6]) == pytest.approx(2.38336)
    assert expected_tokens(chain(0), [0.6]) == 1.0


def test_length_is_one_plus_survival() -> None:
    for tree in (chain(3), named_tree(MEDUSA), named_tree(EAGLE_1)):
        survival = depth_survival(tree, SEQUOIA)
        assert len(survival) == tree.depth
        assert (np.diff(survival) <= 0.0).all()
        assert 1.0 + survival.sum() == pytest.approx(expected_tokens(tree, SEQUOIA))


def test_ranks_that_were_never_measured_are_never_accepted() -> None:
    assert expected_tokens(tree_of_paths([(1,), (2,)]), [0.5]) == 1.5


def test_published_lists() -> None:
    eagle, medusa = named_tree(EAGLE_1), named_tree(MEDUSA)
    assert (eagle.nodes, eagle.depth, eagle.depth_histogram) == (25, 5, (4, 8, 8, 3, 2))
    assert (medusa.nodes, medusa.depth, medusa.depth_histogram) == (63, 4, (10, 28, 23, 2))
    assert not eagle.has_gaps
    assert not medusa.has_gaps
    for tree in (eagle, medusa):
        best = optimal_trees(SEQUOIA, nodes=tree.nodes, depth=tree.depth).lengths[-1]
        assert expected_tokens(tree, SEQUOIA) <= best


@pytest.mark.parametrize("target", EAGLE_PAPER)
def test_published_length_of_a_static_tree(target: str) -> None:
    """Nothing here was fitted to EAGLE: its tree follows from its chains within 4 %."""
    conditional, length = EAGLE_PAPER[target]
    table = rank_acceptance(conditional, 4)
    assert expected_tokens(named_tree(EAGLE_1), table) == pytest.approx(length, rel=0.04)


def test_choices_round_trip() -> None:
    for tree in (named_tree(EAGLE_1), chain(4), optimal_trees(SEQUOIA, nodes=30, depth=6).tree(30)):
        assert tree_of_choices(choices_of_tree(tree)) == tree
    assert choices_of_tree(tree_of_choices([(0,), (1,), (0, 0)])) == [[0], [1], [0, 0]]


def test_the_mask_shows_ancestors() -> None:
    tree = tree_of_paths([(1,), (2,), (1, 1)])
    assert tree.parents == (-1, 0, 0, 1)
    assert tree.mask().astype(int).tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 0, 1, 0],
        [1, 1, 0, 1],
    ]
    medusa = named_tree(MEDUSA)
    assert medusa.mask().sum() == (medusa.depths + 1).sum()


@pytest.mark.parametrize(
    ("parents", "ranks"),
    [
        ((), ()),
        ((0,), (0,)),
        ((-1,), (1,)),
        ((-1, 1), (0, 1)),
        ((-1, 0), (0, 0)),
        ((-1, 0, 0), (0, 1, 1)),
        ((-1, 0), (0,)),
    ],
)
def test_what_is_no_tree(parents: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"tree|node|children|root"):
        DraftTree(parents=parents, ranks=ranks)


def test_a_path_needs_its_parent() -> None:
    with pytest.raises(ValueError, match="parent"):
        tree_of_paths([(1, 1)])


def test_gaps_are_seen() -> None:
    assert tree_of_paths([(2,)]).has_gaps
    assert tree_of_paths([(1,), (1, 2)]).has_gaps
    assert not chain(3).has_gaps
    assert not chain(0).has_gaps


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10), st.integers(1, 40))
def test_rank_acceptance_is_a_table_of_chances(conditional: list[float], ranks: int) -> None:
    table = rank_acceptance(conditional, ranks)
    assert table.shape == (len(conditional), ranks)
    assert table[:, 0].tolist() == conditional
    assert (table >= 0.0).all()
    assert (table.sum(axis=1) <= 1.0 + 1e-12).all()


@pytest.mark.parametrize(("top_1", "top_5"), MEDUSA_HEADS)
def test_medusa_top_five_from_top_one(top_1: float, top_5: float) -> None:
    assert rank_acceptance([top_1], 5).sum() == pytest.approx(top_5, abs=0.02)


def test_the_published_vector_from_its_first_entry() -> None:
    table = rank_acceptance([SEQUOIA[0]], len(SEQUOIA))
    assert table[0] == pytest.approx(SEQUOIA, abs=0.005)


@pytest.mark.parametrize(("conditional", "ranks"), [([1.2], 3), ([float("nan")], 3), ([0.5], 0)])
def test_what_is_no_acceptance(conditional: list[float], ranks: int) -> None:
    with pytest.raises(InputError):
        rank_acceptance(conditional, ranks)


def test_dear_width_makes_the_chain_win() -> None:
    table = rank_acceptance([0.85] * 7, 8)
    tree, line = best_tree_for_cost(table, 1.0 + 0.05 * np.arange(17), 0.03 * np.arange(8))
    assert tree == line
    assert tree.is_chain
    assert 1 <= line.tree.nodes <= 7


def test_dear_depth_makes_the_tree_win() -> None:
    table = rank_acceptance([0.5] * 7, 8)
    tree, line = best_tree_for_cost(table, 1.0 + 0.001 * np.arange(17), 0.3 * np.arange(8))
    assert not tree.is_chain
    assert tree.time_per_token < line.time_per_token
    assert tree.tree.depth <= 3


def test_nothing_is_drafted_where_it_does_not_pay() -> None:
    tree, line = best_tree_for_cost([0.1, 0.05], 1.0 + 0.5 * np.arange(9), 0.5 * np.arange(4))
    assert tree == line
    assert tree.tree.nodes == 0
    assert tree.time_per_token == 1.0


def test_the_fastest_tree_is_the_fastest_of_all_budgets_and_depths() -> None:
    table = rank_acceptance([0.6, 0.55, 0.5, 0.45], 6)
    verify = 1.0 + np.array([0, 0.01, 0.02, 0.04, 0.07, 0.11, 0.2, 0.22, 0.24, 0.5, 0.51])
    draft = 0.08 * np.arange(5)
    tree, _ = best_tree_for_cost(table, verify, draft)
    times = [
        (verify[nodes] + draft[depth]) / optimal_trees(table, nodes=10, depth=depth).lengths[nodes]
        for nodes in range(11)
        for depth in range(1, 5)
    ]
    assert tree.time_per_token == pytest.approx(min(1.0, *times), abs=1e-12)
    assert expected_tokens(tree.tree, table) == pytest.approx(tree.expected_tokens)
