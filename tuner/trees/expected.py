"""Expected tokens of a given tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.trees.shape import DraftTree

FloatArray = NDArray[np.float64]

#: Room for rounding in sums of chances read from text.
SUM_TOLERANCE = 1e-6


def rank_table(acceptance: ArrayLike, depth: int) -> FloatArray:
    """Check acceptance by rank and return it by depth, shape (depth, ranks).

    Parameters
    ----------
    acceptance
        Shape (ranks,), the same at every depth, or (depths, ranks); entry r is the chance that the
        child of rank r + 1 is *the* accepted one, given only that its parent was accepted.
    depth
        Depths wanted. Of a table, the first ``depth`` rows are used.

    Raises
    ------
    InputError
        An entry is not in 0…1, a row sums to more than 1, or the table has too few rows.
    """
    table = np.atleast_2d(np.asarray(acceptance, dtype=np.float64))
    if table.ndim != 2 or table.size == 0:
        raise InputError("acceptance by rank is empty or has more than two dimensions.")
    if not np.isfinite(table).all() or (table < 0.0).any() or (table > 1.0).any():
        worst = table[~((table >= 0.0) & (table <= 1.0))][0]
        raise InputError(f"acceptance by rank holds {worst:g}: every entry is a chance, 0 to 1.")
    sums = table.sum(axis=1)
    if (sums > 1.0 + SUM_TOLERANCE).any():
        row = int(sums.argmax())
        raise InputError(
            f"acceptance by rank sums to {sums[row]:.6g} at depth {row + 1}: at most one child can "
            f"be the accepted one, so the entries sum to 1 at most."
        )
    if np.ndim(acceptance) < 2:
        return np.repeat(table, depth, axis=0)
    if len(table) < depth:
        raise InputError(f"acceptance is given for {len(table)} depths, {depth} are needed.")
    return table[:depth]


def path_acceptance(tree: DraftTree, table: FloatArray) -> FloatArray:
    """Return the chance that each node is accepted (the root: 1), shape (nodes + 1,).

    ``table`` has shape (depths, ranks); a rank beyond its width is never accepted.
    """
    depths = tree.depths
    chances = np.ones(len(tree.parents))
    n_ranks = table.shape[1]
    for node in range(1, len(tree.parents)):
        rank = tree.ranks[node]
        own = table[depths[node] - 1, rank - 1] if rank <= n_ranks else 0.0
        chances[node] = chances[tree.parents[node]] * own
    return chances


def expected_tokens(tree: DraftTree, acceptance: ArrayLike) -> float:
    """Return τ of a tree, the bonus token included: one plus the chances of all its nodes.

    Siblings exclude each other, so the number of accepted drafts is the sum of the nodes'
    indicators (Sequoia, arXiv:2402.12374, Proposition 3.4).
    """
    return float(path_acceptance(tree, rank_table(acceptance, max(tree.depth, 1))).sum())


def depth_survival(tree: DraftTree, acceptance: ArrayLike) -> FloatArray:
    """Return the chance that at least d drafts are accepted, d = 1 … depth; τ = 1 + their sum."""
    chances = path_acceptance(tree, rank_table(acceptance, max(tree.depth, 1)))
    survival = np.zeros(tree.depth + 1)
    np.add.at(survival, tree.depths, chances)
    return survival[1:]
