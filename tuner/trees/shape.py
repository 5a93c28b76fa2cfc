"""A draft tree as parent vectors, and what follows from its shape alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

ROOT_PARENT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTree:
    """A tree of draft tokens under the last accepted token (the root, index 0).

    ``parents[i] < i`` for every node but the root, whose parent is −1. ``ranks[i]`` is the place of
    node i among its siblings by the drafter's order, from 1; the root has rank 0.
    """

    parents: tuple[int, ...] = (ROOT_PARENT,)
    ranks: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.ranks) or not self.parents:
            raise ValueError("a tree needs a root and one rank for each parent")
        if self.parents[0] != ROOT_PARENT or self.ranks[0] != 0:
            raise ValueError("the first node is the root: parent -1, rank 0")
        for node in range(1, len(self.parents)):
            if not 0 <= self.parents[node] < node or self.ranks[node] < 1:
                raise ValueError(f"node {node}: its parent must come before it, ranks start at 1")
        if len(set(zip(self.parents, self.ranks, strict=True))) != len(self.parents):
            raise ValueError("two children of one node have the same rank")

    @property
    def nodes(self) -> int:
        """Draft tokens, the root excluded."""
        return len(self.parents) - 1

    @property
    def verify_tokens(self) -> int:
        """Target positions of a verify pass, the root included."""
        return len(self.parents)

    @property
    def depths(self) -> IntArray:
        """Edges from the root to each node, shape (nodes + 1,)."""
        depths = np.zeros(len(self.parents), dtype=np.int64)
        for node in range(1, len(self.parents)):
            depths[node] = depths[self.parents[node]] + 1
        return depths

    @property
    def depth(self) -> int:
        """Edges below the root; the serial draft steps of a stepwise drafter."""
        return int(self.depths.max())

    @property
    def depth_histogram(self) -> tuple[int, ...]:
        """Nodes at depth 1, 2, …"""
        return tuple(int(count) for count in np.bincount(self.depths)[1:])

    @property
    def has_gaps(self) -> bool:
        """Whether some child has a rank whose better ranks are not all drafted."""
        counts = np.bincount(self.parents[1:], minlength=len(self.parents)) if self.nodes else None
        best = np.zeros(len(self.parents), dtype=np.int64)
        for parent, rank in zip(self.parents[1:], self.ranks[1:], strict=True):
            best[parent] = max(best[parent], rank)
        return counts is not None and bool((best != counts).any())

    def children(self) -> list[list[int]]:
        """Return the children of each node, best rank first."""
        lists: list[list[int]] = [[] for _ in self.parents]
        for node in range(1, len(self.parents)):
            lists[self.parents[node]].append(node)
        for nodes in lists:
            nodes.sort(key=lambda node: self.ranks[node])
        return lists

    def paths(self) -> list[tuple[int, ...]]:
        """Return the ranks on the way from the root to each node, the root's own path empty."""
        paths: list[tuple[int, ...]] = [()]
        for parent, rank in zip(self.parents[1:], self.ranks[1:], strict=True):
            paths.append((*paths[parent], rank))
        return paths

    def mask(self) -> BoolArray:
        """Return the attention mask, square: row i sees node i and its ancestors."""
        size = len(self.parents)
        mask = np.eye(size, dtype=np.bool_)
        for node in range(1, size):
            mask[node] |= mask[self.parents[node]]
        return mask


def chain(length: int) -> DraftTree:
    """Return the tree of width 1: ``length`` draft tokens in a row."""
    return DraftTree(parents=tuple(range(-1, length)), ranks=(0, *(1 for _ in range(length))))


def tree_of_paths(paths: Iterable[Sequence[int]]) -> DraftTree:
    """Return the tree whose nodes are given by the ranks (from 1) on their way from the root.

    Nodes are numbered by depth, then by path. Every prefix of a path must be among the paths.
    """
    ordered = sorted({tuple(path) for path in paths} - {()}, key=lambda path: (len(path), path))
    number: dict[tuple[int, ...], int] = {(): 0}
    for index, path in enumerate(ordered, start=1):
        number[path] = index
    parents = [ROOT_PARENT]
    for path in ordered:
        if path[:-1] not in number:
            raise ValueError(f"the path {path} has no parent {path[:-1]} in the tree")
        parents.append(number[path[:-1]])
    return DraftTree(parents=tuple(parents), ranks=(0, *(path[-1] for path in ordered)))
