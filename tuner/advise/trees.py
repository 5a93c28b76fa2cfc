"""Draft trees as settings of an arm: what SGLang can be asked for, and what they accept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.records.config import TreeSetting

FloatArray = NDArray[np.float64]

#: Trees are looked at up to this batch: width multiplies the verified tokens of every sequence, and
#: published recipes are for a few sequences (sgl-project/sglang#4716: CUDA graphs of batch 1).
MOST_BATCH = 8

#: Depths, widths and verified tokens that are combined. They span what SGLang's defaults (5/4/8),
#: its scripts/playground/bench_speculative.py and the 8/8/64 recipe of sgl-project/sglang#4716 use;
#: wider levels than 8 were not served by anybody whose measurements are published.
_DEPTHS, _WIDTHS, _SIZES = (3, 5, 6, 8), (2, 4, 8), (4, 8, 16, 32, 64)


def _settings() -> tuple[TreeSetting, ...]:
    """Return the combinations that make sense, fewest verified tokens first."""
    found = [
        TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)
        for tokens in _SIZES
        for steps in _DEPTHS
        for topk in _WIDTHS
        # fewer tokens than a path of full depth needs are a shallower tree; no more than are
        # drafted can be verified (topk at depth 1, topk² at each further depth); and of the drafted
        # ones neither less than two levels' worth nor nearly all are kept
        if steps < tokens <= 1 + topk + (steps - 1) * topk**2 and 2 * topk <= tokens <= 8 * topk
    ]
    return tuple(found)


SETTINGS = _settings()


def tree_curves(trees: Sequence[TreeSetting], conditional: FloatArray) -> FloatArray:
    """Return τ of each tree when cut off after depth 0, 1, …; shape (…, trees, deepest + 1).

    ``conditional``, shape (…, positions), is acceptance of chains by position, which becomes
    acceptance by rank and depth (``tuner.trees.ranks``). Settings of one width share their levels,
    and those of one depth as well what is kept first.
    """
    from tuner.trees.dynamic import SERVED_DEPTH_DISCOUNT, propose
    from tuner.trees.ranks import rank_acceptance

    deepest = max(tree.num_steps for tree in trees)
    depths = np.arange(1, deepest + 1)[:, None]
    gains = np.zeros((*conditional.shape[:-1], len(trees), deepest))
    for topk in dict.fromkeys(tree.topk for tree in trees):
        steps = sorted({tree.num_steps for tree in trees if tree.topk == topk})
        table = rank_acceptance(conditional[..., : steps[-1]], topk)
        proposals = propose(table, steps[-1], topk, SERVED_DEPTH_DISCOUNT)
        for depth in steps:
            within = proposals.down_to(depth)
            mine = [
                (place, tree.draft_tokens - 1)
                for place, tree in enumerate(trees)
                if (tree.topk, tree.num_steps) == (topk, depth)
            ]
            order = within.order(max(nodes for _, nodes in mine))
            chance = np.take_along_axis(within.chance, order, axis=-1)
            by_depth = (within.depth[order][..., None, :] == depths) * chance[..., None, :]
            sums = np.add.accumulate(by_depth, axis=-1)
            for place, nodes in mine:
                gains[..., place, :] = sums[..., min(nodes, order.shape[-1]) - 1]
    curves = np.ones((*gains.shape[:-1], deepest + 1))
    curves[..., 1:] += np.add.accumulate(gains, axis=-1)
    return curves


def tree_log_sd() -> float:
    """Return the standard deviation of ln τ that the step from chain to tree adds."""
    from tuner.trees.dynamic import SERVED_LOG_SD

    return SERVED_LOG_SD
