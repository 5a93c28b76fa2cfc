"""Everything that is said about the best tree for acceptance by rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.frozen import dataclass
from tuner.trees.expected import depth_survival, rank_table
from tuner.trees.greedy import grow
from tuner.trees.optimal import check_limits, optimal_trees
from tuner.trees.shape import DraftTree
from tuner.trees.spellings import Spelling, nearest_settings

FloatArray = NDArray[np.float64]

#: Sums kept at once by the search: half a gigabyte.
MAX_CELLS = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeAnswer:
    """The best tree within limits, and what others reach within the same limits."""

    #: the limits asked for, root excluded
    max_nodes: int
    max_depth: int
    allow_gaps: bool
    tree: DraftTree
    #: τ, bonus included
    expected_tokens: float
    #: chance that at least d drafts are accepted, d = 1 … depth of the tree
    survival: FloatArray
    #: the chain within both limits, and its τ
    chain_length: int
    chain_tokens: float
    #: τ of the tree grown by the best next node
    greedy_tokens: float
    #: τ of the best tree whose children may be any ranks: nothing is above it
    gapped_tokens: float
    sglang: Spelling
    trtllm: Spelling


def answer_tree(
    acceptance: ArrayLike, *, nodes: int, depth: int, allow_gaps: bool = False
) -> TreeAnswer:
    """Solve for one budget and compare with a chain, greedy growth, a bound and the engines.

    Raises
    ------
    InputError
        As ``optimal_trees`` and ``rank_table``, or the search would not fit in memory.
    """
    check_limits(nodes, depth)
    levels = min(nodes, depth)
    table = rank_table(acceptance, levels)[:, :nodes]
    if table.size * nodes > MAX_CELLS:
        raise InputError(
            f"{nodes} nodes × {levels} levels × {table.shape[1]} ranks are too many to search: "
            f"lower --depth, or leave out ranks that are hardly ever accepted."
        )
    found = optimal_trees(table, nodes=nodes, depth=levels, allow_gaps=allow_gaps)
    gapped = found
    if found.partial:  # else no rank is likelier than one before it, or gaps were allowed
        gapped = optimal_trees(table, nodes=nodes, depth=levels, allow_gaps=True)
    tree = found.tree(nodes)
    sglang, trtllm = nearest_settings(table, nodes)
    return TreeAnswer(
        max_nodes=nodes,
        max_depth=depth,
        allow_gaps=allow_gaps,
        tree=tree,
        expected_tokens=float(found.lengths[nodes]),
        survival=depth_survival(tree, table),
        chain_length=levels,
        chain_tokens=1.0 + float(np.cumprod(table[:, 0]).sum()),
        greedy_tokens=float(grow(table, nodes)[1][-1]),
        gapped_tokens=float(gapped.lengths[nodes]),
        sglang=sglang,
        trtllm=trtllm,
    )
