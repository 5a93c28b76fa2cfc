"""The tree that is fastest, not the longest: depth costs draft steps, width costs verify tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.frozen import dataclass
from tuner.trees.expected import rank_table
from tuner.trees.optimal import optimal_trees
from tuner.trees.shape import DraftTree, chain

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostedTree:
    """A tree with its τ and time per token, in the unit of the costs given."""

    tree: DraftTree
    expected_tokens: float
    time_per_token: float

    @property
    def is_chain(self) -> bool:
        """Whether no node has a sibling."""
        return self.tree.nodes == self.tree.depth


def best_tree_for_cost(
    acceptance: ArrayLike,
    verify_cost: ArrayLike,
    draft_cost: ArrayLike,
    *,
    allow_gaps: bool = False,
) -> tuple[CostedTree, CostedTree]:
    """Return the tree and the chain with the least time per token.

    Parameters
    ----------
    acceptance
        By rank, or by depth and rank; see ``rank_table``.
    verify_cost
        ``verify_cost[v]`` = cost of a target pass over v + 1 tokens a sequence, v = 0 … nodes, with
        everything that a step costs whatever is drafted.
    draft_cost
        ``draft_cost[d]`` = cost of drafting d levels, d = 0 … depth; [0] is usually 0.
    allow_gaps
        Whether a node's children may be any ranks.

    Returns
    -------
    tree, chain
        The tree is never slower, since a chain is a tree; it *is* the chain where width does not
        pay. Without drafting at all both have no nodes. Of equals the smaller.
    """
    verify = np.asarray(verify_cost, dtype=np.float64)
    draft = np.asarray(draft_cost, dtype=np.float64)
    if verify.ndim != 1 or draft.ndim != 1 or not (len(verify) and len(draft)):
        raise InputError("verify_cost and draft_cost are lists, with an entry for no draft at all.")
    nodes, depth = len(verify) - 1, min(len(draft) - 1, len(verify) - 1)
    plain = float(verify[0] + draft[0])
    nothing = CostedTree(tree=chain(0), expected_tokens=1.0, time_per_token=plain)
    if depth == 0:
        return nothing, nothing
    table = rank_table(acceptance, depth)
    best_chain = _best_chain(table, verify, draft, nothing)
    best = best_chain
    for limit in range(1, depth + 1):
        trees = optimal_trees(table, nodes=nodes, depth=limit, allow_gaps=allow_gaps)
        times = (verify + draft[limit]) / trees.lengths
        size = int(times.argmin())
        if times[size] < best.time_per_token:
            best = CostedTree(
                tree=trees.tree(size),
                expected_tokens=float(trees.lengths[size]),
                time_per_token=float(times[size]),
            )
    return best, best_chain


def _best_chain(
    table: FloatArray, verify: FloatArray, draft: FloatArray, nothing: CostedTree
) -> CostedTree:
    lengths = 1.0 + np.cumsum(np.cumprod(table[:, 0]))
    times = (verify[1 : len(lengths) + 1] + draft[1 : len(lengths) + 1]) / lengths
    best = int(times.argmin())
    if times[best] >= nothing.time_per_token:
        return nothing
    return CostedTree(
        tree=chain(best + 1),
        expected_tokens=float(lengths[best]),
        time_per_token=float(times[best]),
    )
