"""The exact search, against published optima, all small trees, and bounds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.trees import OPTIMA, OPTIMA_WITH_GAPS
from tuner.errors import InputError
from tuner.trees.expected import expected_tokens, rank_table
from tuner.trees.greedy import grow
from tuner.trees.optimal import MAX_NODES, optimal_trees
from tuner.trees.ranks import SEQUOIA

FloatArray = NDArray[np.float64]
Path_ = tuple[int, ...]

VECTOR_FILE = Path(__file__).parents[2] / "data" / "sibling_rank_acceptance.csv"


def published_vector() -> FloatArray:
    with VECTOR_FILE.open(encoding="utf-8") as file:
        return np.array([float(row["acceptance"]) for row in csv.DictReader(file)])


def test_the_vector_of_the_package_is_the_published_one() -> None:
    assert SEQUOIA.tolist() == published_vector().tolist()


@pytest.mark.parametrize("levels", OPTIMA)
def test_published_optima(levels: int) -> None:
    found = optimal_trees(published_vector(), nodes=1023, depth=levels - 1)
    for budget, optimum in OPTIMA[levels].items():
        assert found.lengths[budget - 1] == pytest.approx(optimum, abs=1e-5)


def test_published_optima_with_gaps() -> None:
    found = optimal_trees(published_vector(), nodes=127, depth=9, allow_gaps=True)
    for budget, optimum in OPTIMA_WITH_GAPS.items():
        assert found.lengths[budget - 1] == pytest.approx(optimum, abs=1e-5)


@pytest.mark.parametrize("allow_gaps", [False, True])
def test_the_trees_are_worth_what_is_said(allow_gaps: bool) -> None:
    found = optimal_trees(SEQUOIA, nodes=300, depth=7, allow_gaps=allow_gaps)
    for nodes in (1, 2, 3, 10, 64, 127, 300):
        tree = found.tree(nodes)
        assert tree.nodes <= nodes
        assert tree.depth <= 7
        assert allow_gaps or not tree.has_gaps
        assert expected_tokens(tree, SEQUOIA) == pytest.approx(found.lengths[nodes], abs=1e-12)


@cache
def child_sets(nodes: int, depth: int, ranks: int, gaps: bool) -> tuple[frozenset[Path_], ...]:
    """All trees of exactly that many draft nodes, as sets of paths."""
    if nodes == 0:
        return (frozenset(),)
    if depth == 0:
        return ()
    return tuple(_forests(nodes, 1, depth, ranks, gaps))


def _forests(
    nodes: int, rank: int, depth: int, ranks: int, gaps: bool
) -> Iterator[frozenset[Path_]]:
    if nodes == 0:
        yield frozenset()
        return
    if rank > ranks:
        return
    if gaps:
        yield from _forests(nodes, rank + 1, depth, ranks, gaps)
    for size in range(1, nodes + 1):
        for below in child_sets(size - 1, depth - 1, ranks, gaps):
            own = frozenset({(rank,)} | {(rank, *path) for path in below})
            for rest in _forests(nodes - size, rank + 1, depth, ranks, gaps):
                yield own | rest


def worth(paths: frozenset[Path_], table: FloatArray) -> float:
    return 1.0 + sum(
        float(np.prod([table[depth, rank - 1] for depth, rank in enumerate(path)]))
        for path in paths
    )


def best_by_hand(nodes: int, table: FloatArray, gaps: bool) -> float:
    depth, ranks = table.shape
    return max(
        worth(paths, table)
        for size in range(nodes + 1)
        for paths in child_sets(size, depth, ranks, gaps)
    )


def test_the_enumeration_counts_like_catalan_numbers() -> None:
    assert [len(child_sets(n, n, n, False)) for n in range(9)] == [
        *(1, 1, 2, 5, 14, 42, 132, 429, 1430)
    ]
    assert len(child_sets(8, 8, 2, True)) == 4862


UNSORTED = np.array([0.1, 0.05, 0.4, 0.0, 0.2, 0.02, 0.15, 0.03])


@pytest.mark.parametrize("nodes", range(1, 9))
def test_all_trees_of_up_to_eight_nodes(nodes: int) -> None:
    table = rank_table(UNSORTED, 8)
    found = optimal_trees(UNSORTED, nodes=8, depth=8)
    assert found.lengths[nodes] == pytest.approx(best_by_hand(nodes, table, False), abs=1e-12)


@pytest.mark.parametrize("nodes", range(1, 9))
def test_all_trees_with_gaps_of_up_to_eight_nodes(nodes: int) -> None:
    vector = np.array([0.2, 0.55])
    found = optimal_trees(vector, nodes=8, depth=8, allow_gaps=True)
    by_hand = best_by_hand(nodes, rank_table(vector, 8), True)
    assert found.lengths[nodes] == pytest.approx(by_hand, abs=1e-12)


@st.composite
def tables(draw: st.DrawFn, max_depth: int = 5, max_ranks: int = 5) -> FloatArray:
    """Acceptance by depth and rank: any order, zeros among them, rows that sum to 1 at most."""
    shape = (draw(st.integers(1, max_depth)), draw(st.integers(1, max_ranks)))
    weights = np.array(
        [
            draw(st.lists(st.integers(0, 20), min_size=shape[1], max_size=shape[1]))
            for _ in range(shape[0])
        ],
        dtype=float,
    )
    total = np.array([draw(st.floats(0.05, 1.0)) for _ in range(shape[0])])
    return np.asarray(
        weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0) * total[:, None]
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tables(max_depth=4, max_ranks=3), st.integers(1, 6), st.booleans())
def test_small_trees_of_any_table(table: FloatArray, nodes: int, gaps: bool) -> None:
    found = optimal_trees(table, nodes=nodes, depth=len(table), allow_gaps=gaps)
    assert found.lengths[nodes] == pytest.approx(best_by_hand(nodes, table, gaps), abs=1e-12)
    tree = found.tree(nodes)
    assert expected_tokens(tree, table) == pytest.approx(found.lengths[nodes], abs=1e-12)
    assert gaps or not tree.has_gaps


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tables(), st.integers(1, 60))
def test_order_of_the_bounds(table: FloatArray, nodes: int) -> None:
    """Chain and greedy ≤ optimum ≤ optimum with gaps; τ grows with the budget, up to depth + 1."""
    depth = len(table)
    found = optimal_trees(table, nodes=nodes, depth=depth).lengths
    gapped = optimal_trees(table, nodes=nodes, depth=depth, allow_gaps=True).lengths
    greedy = grow(table, nodes)[1]
    assert (greedy <= found + 1e-12).all()
    assert (found <= gapped + 1e-12).all()
    assert found[0] == 1.0
    assert (np.diff(found) >= 0.0).all()
    assert found[-1] <= depth + 1 + 1e-12
    chain = 1.0 + np.cumsum(np.cumprod(table[: min(depth, nodes), 0]))
    assert (chain <= found[1 : len(chain) + 1] + 1e-12).all()


@settings(deadline=None, derandomize=True, max_examples=40)
@given(tables(max_depth=4), st.integers(1, 40))
def test_more_depth_or_acceptance_never_hurts(table: FloatArray, nodes: int) -> None:
    lengths = [
        optimal_trees(table, nodes=nodes, depth=depth).lengths for depth in range(1, len(table) + 1)
    ]
    for shallow, deep in pairwise(lengths):
        assert (shallow <= deep + 1e-12).all()
    weaker = optimal_trees(table * 0.9, nodes=nodes, depth=len(table)).lengths
    assert (weaker <= lengths[-1] + 1e-12).all()


@settings(deadline=None, derandomize=True, max_examples=30)
@given(tables(), st.integers(1, 60))
def test_greedy_is_exact_where_ranks_decrease(table: FloatArray, nodes: int) -> None:
    """The dynamic programme itself, not its short cut, must agree on sorted rows."""
    ordered = -np.sort(-table, axis=1)
    tilted = ordered.copy()
    if ordered.shape[1] > 1:
        # a rise that cannot matter forces the dynamic programme
        tilted = np.column_stack([ordered, np.zeros(len(ordered)), np.full(len(ordered), 1e-300)])
    exact = optimal_trees(tilted, nodes=nodes, depth=len(table)).lengths
    assert grow(ordered, nodes)[1] == pytest.approx(exact, abs=1e-12)


def test_greedy_falls_short_on_the_published_vector() -> None:
    table = rank_table(SEQUOIA, 9)
    exact = optimal_trees(SEQUOIA, nodes=1023, depth=9).lengths
    shortfall = 1.0 - grow(table, 1023)[1] / exact
    assert 0.005 < shortfall.max() < 0.02


def test_nodes_of_no_chance_are_left_out() -> None:
    assert optimal_trees([0.5, 0.0], nodes=10, depth=3).tree(10).nodes == 3
    assert optimal_trees([0.0, 0.0, 0.5], nodes=10, depth=1).tree(10).nodes == 3
    assert optimal_trees([0.0, 0.5], nodes=10, depth=1, allow_gaps=True).tree(10).ranks == (0, 2)
    assert optimal_trees([0.0], nodes=10, depth=3).tree(10).nodes == 0


@pytest.mark.parametrize(
    ("acceptance", "nodes", "depth"),
    [
        ([0.5], 0, 1),
        ([0.5], -3, 1),
        ([0.5], MAX_NODES + 1, 1),
        ([0.5], 4, 0),
        ([0.7, 0.4], 4, 2),
        ([-0.1], 4, 2),
        ([float("nan")], 4, 2),
        ([float("inf")], 4, 2),
        ([], 4, 2),
        ([[0.5, 0.2]], 4, 2),
        ([[[0.5]]], 4, 1),
    ],
)
def test_what_cannot_be_solved(acceptance: list[float], nodes: int, depth: int) -> None:
    with pytest.raises(InputError):
        optimal_trees(acceptance, nodes=nodes, depth=depth)
