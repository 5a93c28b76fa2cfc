"""The best tree for a node budget: exact dynamic programming, all budgets at once.

A node of depth d with n nodes in its subtree (itself included) is worth

    T_d(n) = 1 + max_m P_{d,m}(n − 1),

where P_{d,m}(n) is the most that children of ranks 1 … m, all present, are worth with n nodes:

    P_{d,m}(n) = max_j  P_{d,m−1}(n − j) + a_{d+1,m} T_{d+1}(j).

That is a max-plus convolution for each depth and rank (Sequoia, arXiv:2402.12374, section 3.2, has
the same recursion for ranks that decrease). Nothing is assumed about the order or concavity of a:
sizes of siblings can be exchanged, which bounds j. If k − 1 ranks below m are accepted at least as
often as m, an optimal choice gives each of them a subtree at least as large as m's, so
j ≤ n / k. On published vectors that leaves about an eighth of the sums to try.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.frozen import dataclass
from tuner.trees.expected import rank_table
from tuner.trees.greedy import best_with_gaps, grow
from tuner.trees.shape import DraftTree, tree_of_paths

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Budgets are worked on in blocks, because the bound on j grows with the budget; the size is the
#: fastest of those tried.
BLOCK = 256
#: Beyond this the tables would fill memory, and no engine verifies such trees.
MAX_NODES = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptimalTrees:
    """Optimal lengths for every budget, and the means to build the trees."""

    #: τ of the best tree with at most n draft nodes, n = 0 … nodes, shape (nodes + 1,)
    lengths: FloatArray
    #: acceptance by depth and rank, shape (depth, ranks)
    table: FloatArray
    #: P_{d,m}(n) by depth, shape (ranks + 1, nodes + 1) each; empty where greedy is exact
    partial: tuple[FloatArray, ...] = ()
    #: T_d by depth, index = subtree size
    subtree: tuple[FloatArray, ...] = ()
    is_gapped: bool = False

    @property
    def nodes(self) -> int:
        """The largest budget, root excluded."""
        return len(self.lengths) - 1

    def tree(self, nodes: int) -> DraftTree:
        """Return the best tree of at most ``nodes`` draft nodes, without those of no chance."""
        if not self.partial:
            build = best_with_gaps if self.is_gapped else grow
            return build(self.table, nodes)[0]
        paths: list[tuple[int, ...]] = []
        pending: list[tuple[tuple[int, ...], int]] = [((), nodes + 1)]
        while pending:
            path, size = pending.pop()
            for rank, share in self._shares(len(path), size):
                child = (*path, rank)
                paths.append(child)
                pending.append((child, share))
        return tree_of_paths(paths)

    def _shares(self, depth: int, size: int) -> list[tuple[int, int]]:
        """Return the ranks and subtree sizes of the children of a node of that depth and size."""
        if depth >= len(self.partial):
            return []
        worth = self.subtree[depth]
        size = int(np.flatnonzero(worth[: size + 1] == worth[size])[0])
        rest = size - 1
        partial = self.partial[depth]
        rank = int(partial[:, rest].argmax())
        shares: list[tuple[int, int]] = []
        below = self.subtree[depth + 1]
        while rank > 0:
            sizes = np.arange(1, rest + 1)
            sums = partial[rank - 1, rest - sizes] + self.table[depth, rank - 1] * below[sizes]
            share = int(sizes[sums.argmax()])
            shares.append((rank, share))
            rest -= share
            rank -= 1
        return shares[::-1]


def optimal_trees(
    acceptance: ArrayLike, *, nodes: int, depth: int, allow_gaps: bool = False
) -> OptimalTrees:
    """Solve for every budget up to ``nodes`` draft nodes and ``depth`` edges below the root.

    Parameters
    ----------
    acceptance
        Shape (ranks,) or (depths, ranks); see ``rank_table``.
    nodes, depth
        Limits, the root excluded.
    allow_gaps
        Whether a node's children may be any ranks; otherwise they are ranks 1 … m.

    Raises
    ------
    InputError
        A limit is not positive or too large, or the acceptance is not valid.
    """
    check_limits(nodes, depth)
    table = rank_table(acceptance, min(depth, nodes))
    is_sorted = bool((np.diff(table, axis=1) <= 0.0).all())
    if allow_gaps or is_sorted:
        _, lengths = grow(-np.sort(-table, axis=1), nodes)
        return OptimalTrees(lengths=lengths, table=table, is_gapped=not is_sorted)
    leaf = np.ones(nodes + 2)
    leaf[0] = -np.inf
    subtree = [leaf]
    partial: list[FloatArray] = []
    for row in table[::-1]:
        sums = _share_among_ranks(row, subtree[-1])
        partial.append(sums)
        subtree.append(np.concatenate(([-np.inf], 1.0 + sums.max(axis=0))))
    return OptimalTrees(
        lengths=subtree[-1][1:],
        table=table,
        partial=tuple(reversed(partial)),
        subtree=tuple(reversed(subtree)),
    )


def check_limits(nodes: int, depth: int) -> None:
    """Raise InputError where a limit is not positive or too large."""
    if not 1 <= nodes <= MAX_NODES:
        raise InputError(f"nodes {nodes}: a budget is 1 to {MAX_NODES} draft nodes.")
    if depth < 1:
        raise InputError(f"depth {depth}: a tree has at least one level below the root.")


def _share_among_ranks(row: FloatArray, below: FloatArray) -> FloatArray:
    """Return P_m(n): the worth of children of ranks 1 … m with at most n nodes.

    Parameters
    ----------
    row
        Acceptance by rank, shape (ranks,).
    below
        T of a child by subtree size, non-decreasing from size 1 on, shape (nodes + 2,).

    Returns
    -------
    Shape (ranks + 1, nodes + 1); −∞ where n nodes cannot hold m children, and for ranks after the
    last one that is ever accepted.
    """
    nodes = len(below) - 2
    sums = np.full((len(row) + 1, nodes + 1), -np.inf)
    sums[0] = 0.0
    useful = int(np.flatnonzero(np.diff(below[1 : nodes + 1], prepend=-np.inf) > 0.0)[-1]) + 1
    for rank in range(1, int(np.flatnonzero(row).max(initial=-1)) + 2):
        chance = float(row[rank - 1])
        rivals = 1 + int((row[: rank - 1] >= chance).sum())
        worth = chance * below[1 : nodes + 1]
        if rank == 1:
            sums[1, 1:] = worth
        else:
            _max_plus(sums[rank - 1], worth[:useful], rivals, out=sums[rank])
    return sums


def _max_plus(before: FloatArray, worth: FloatArray, rivals: int, *, out: FloatArray) -> None:
    """Set ``out[n]`` to the largest ``before[n − j] + worth[j − 1]``, 1 ≤ j ≤ n / rivals."""
    size = len(before)
    reach = min(len(worth), (size - 1) // rivals)
    if reach == 0:
        return
    padded = np.concatenate((np.full(reach, -np.inf), before))
    step = BLOCK if reach > BLOCK // 4 else size
    sums = np.empty((reach, step))
    item = padded.itemsize
    for low in range(0, size, step):
        high = min(low + step, size)
        width = min(reach, (high - 1) // rivals)
        if width == 0:
            continue
        # row j − 1 of the view holds before[low − j … high − 1 − j], without a copy
        shifted: FloatArray = np.ndarray(
            (width, high - low), np.float64, padded, (reach + low - 1) * item, (-item, item)
        )
        block = sums[:width, : high - low]
        np.add(shifted, worth[:width, None], out=block)
        np.maximum.reduce(block, axis=0, out=out[low:high])
