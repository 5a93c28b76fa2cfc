"""Trees grown by taking the best next node, and where that is the exact optimum."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from tuner.trees.shape import DraftTree, tree_of_paths

FloatArray = NDArray[np.float64]


def grow(table: FloatArray, nodes: int) -> tuple[DraftTree, FloatArray]:
    """Grow a tree of at most ``nodes`` draft tokens, always by the frontier's most likely node.

    Parameters
    ----------
    table
        Acceptance by depth and rank, shape (depth, ranks).
    nodes
        Budget without the root. Nodes of no chance are not taken.

    Returns
    -------
    tree, lengths
        ``lengths[n]`` = τ of the first n nodes, shape (nodes + 1,).

    Notes
    -----
    Children come without gaps, rank 1 first. Where every row of ``table`` is non-increasing the
    result is optimal for every budget: a node is never likelier than its parent, nor than its left
    sibling, so the n likeliest nodes of the whole tree form a valid tree, and they are what is
    taken. Elsewhere it is a lower bound.
    """
    depth, n_ranks = table.shape
    lengths = np.empty(nodes + 1)
    lengths[0] = 1.0
    taken: list[tuple[int, ...]] = []
    # chance first; then the shallower, then the better rank, so that ties are decided alike
    heap: list[tuple[float, int, tuple[int, ...], float]] = []

    def offer(path: tuple[int, ...], before: float) -> None:
        chance = before * float(table[len(path) - 1, path[-1] - 1])
        heapq.heappush(heap, (-chance, len(path), path, before))

    if depth and n_ranks:
        offer((1,), 1.0)
    for count in range(1, nodes + 1):
        if not heap or (heap[0][0] == 0.0 and not _hides_more(heap, table)):
            lengths[count:] = lengths[count - 1]
            break
        negative, _, path, before = heapq.heappop(heap)
        taken.append(path)
        lengths[count] = lengths[count - 1] - negative
        if path[-1] < n_ranks:
            offer((*path[:-1], path[-1] + 1), before)
        if len(path) < depth:
            offer((*path, 1), -negative)
    return tree_of_paths(taken), lengths


def _hides_more(heap: list[tuple[float, int, tuple[int, ...], float]], table: FloatArray) -> bool:
    """Whether a node of no chance stands before a sibling that has one."""
    return any(
        before > 0.0 and bool((table[len(path) - 1, path[-1] :] > 0.0).any())
        for _, _, path, before in heap
    )


def best_with_gaps(table: FloatArray, nodes: int) -> tuple[DraftTree, FloatArray]:
    """Return the optimal tree, for every budget, when a node's children may be any ranks.

    A node is never likelier than its parent, so the n likeliest nodes always form a tree: sorting
    each row makes ``grow`` exact. The ranks of the result are those of ``table``.
    """
    order = np.argsort(-table, axis=1, kind="stable")
    tree, lengths = grow(np.take_along_axis(table, order, axis=1), nodes)
    own = order[tree.depths[1:] - 1, np.array(tree.ranks[1:], dtype=np.int64) - 1] + 1
    paths: list[tuple[int, ...]] = [()]
    for parent, rank in zip(tree.parents[1:], own.tolist(), strict=True):
        paths.append((*paths[parent], rank))
    return tree_of_paths(paths), lengths
