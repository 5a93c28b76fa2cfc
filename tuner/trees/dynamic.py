"""Dynamic trees: EAGLE-2's rule, as SGLang and TensorRT-LLM run it.

The drafter goes ``num_steps`` levels down. At each level every node of the frontier proposes its
``topk`` likeliest children; the ``topk`` likeliest of all those, by the product of confidences from
the root, are the next frontier. At the end the ``draft_tokens`` − 1 likeliest of *all* proposals
are verified (EAGLE-2, arXiv:2406.16858, section 4; SGLang 0.5.23, srt/speculative/eagle_utils.py;
TensorRT-LLM names the numbers max_draft_len, dynamic_tree_max_topK and max_total_draft_tokens + 1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError
from tuner.frozen import dataclass
from tuner.records.config import TreeSetting
from tuner.trees.expected import rank_table
from tuner.trees.shape import DraftTree

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: How much less than its worth served drafters take each further level for, when they choose which
#: nodes to verify. Fitted on the 102 pairs of chain and tree that SpecBundle publishes (SGLang,
#: EAGLE-3, T = 0, settings 5/3/6 and 7/4/8 against chains of the same budget): median error of τ
#: 9 % (10 % for targets left out of the fit), against 17 % with 1.0, which means calibrated
#: confidence (``benchmarks/trees.py``).
SERVED_DEPTH_DISCOUNT = 0.25
#: Standard deviation of ln τ that remains, from the same pairs.
SERVED_LOG_SD = 0.14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposals:
    """All nodes that dynamic drafters propose, level by level, the root excluded.

    Of one drafter or of several that go as deep and as wide: shape (…, proposals), but rank and
    depth are alike for all, shape (proposals,).
    """

    #: what the choice goes by: product of confidences
    confidence: FloatArray
    #: chance of being accepted
    chance: FloatArray
    #: index of the parent among the proposals, −1 = root
    parent: IntArray
    rank: IntArray
    depth: IntArray

    def order(self, nodes: int) -> IntArray:
        """Return the ``nodes`` most confident proposals, most confident first, (…, nodes)."""
        return np.argsort(-self.confidence, axis=-1, kind="stable")[..., :nodes]

    def kept(self, nodes: int) -> IntArray:
        """Return the ``nodes`` most confident proposals, parents first, shape (…, nodes)."""
        return np.sort(self.order(nodes), axis=-1)

    def down_to(self, depth: int) -> Proposals:
        """Return what the same drafters propose when they go less deep."""
        count = int(np.searchsorted(self.depth, depth, side="right"))
        return Proposals(
            confidence=self.confidence[..., :count],
            chance=self.chance[..., :count],
            parent=self.parent[..., :count],
            rank=self.rank[:count],
            depth=self.depth[:count],
        )


def propose(table: FloatArray, steps: int, topk: int, depth_discount: float = 1.0) -> Proposals:
    """Return the proposals of drafters whose children are accepted as in ``table``.

    ``table`` has shape (…, depths, ranks). Confidence in a child is the acceptance by rank times
    ``depth_discount`` for each level, made non-increasing in rank (ranks *are* its order).
    """
    width, several = min(topk, table.shape[-1]), table.shape[:-2]
    chances = table[..., :width].reshape(-1, table.shape[-2], width)
    trusted = np.minimum.accumulate(chances, axis=-1) * depth_discount
    rows = np.arange(len(chances))[:, None]
    confidence = chance = np.ones((len(rows), 1))
    index = np.full((len(rows), 1), -1)
    levels: list[tuple[FloatArray, FloatArray, IntArray]] = []
    count = 0
    for level in range(steps):
        own = (confidence[:, :, None] * trusted[:, level, None]).reshape(len(rows), -1)
        odds = (chance[:, :, None] * chances[:, level, None]).reshape(len(rows), -1)
        levels.append((own, odds, np.repeat(index, width, axis=1)))
        frontier = np.argsort(-own, axis=1, kind="stable")[:, :topk]
        frontier.sort(axis=1)
        confidence, chance, index = own[rows, frontier], odds[rows, frontier], count + frontier
        count += own.shape[1]
    sizes = [own.shape[1] for own, *_ in levels]
    confidence, chance, index = (np.concatenate(part, axis=1) for part in zip(*levels, strict=True))
    return Proposals(
        confidence=confidence.reshape(*several, count),
        chance=chance.reshape(*several, count),
        parent=index.reshape(*several, count),
        rank=np.tile(np.arange(1, width + 1), count // width),
        depth=np.repeat(np.arange(1, steps + 1), sizes),
    )


def check_setting(setting: TreeSetting) -> None:
    """Raise InputError where the three numbers contradict each other."""
    if setting.num_steps < 1 or setting.topk < 1 or setting.draft_tokens < 2:
        raise InputError(f"tree {setting}: steps and topk are at least 1, draft tokens at least 2.")
    if setting.topk == 1 and setting.draft_tokens != setting.num_steps + 1:
        raise InputError(
            f"tree {setting}: with topk 1 the draft tokens are steps + 1 = {setting.num_steps + 1}."
        )


def setting_tree(
    setting: TreeSetting, acceptance: ArrayLike, *, depth_discount: float = SERVED_DEPTH_DISCOUNT
) -> DraftTree:
    """Return the tree that a setting verifies when every context is the average one."""
    check_setting(setting)
    table = rank_table(acceptance, setting.num_steps)
    proposals = propose(table, setting.num_steps, setting.topk, depth_discount)
    kept = proposals.kept(setting.draft_tokens - 1)
    number = {-1: 0} | {int(node): place for place, node in enumerate(kept, start=1)}
    return DraftTree(
        parents=(-1, *(number[int(proposals.parent[node])] for node in kept)),
        ranks=(0, *(int(proposals.rank[node]) for node in kept)),
    )


def setting_length(
    setting: TreeSetting, acceptance: ArrayLike, *, depth_discount: float = SERVED_DEPTH_DISCOUNT
) -> float:
    """Return τ of (num_steps, topk, draft_tokens), bonus included.

    Parameters
    ----------
    setting
        SGLang's three numbers; topk 1 is a chain of ``num_steps``.
    acceptance
        By rank, or by depth and rank; see ``rank_table``.
    depth_discount
        1 = the drafter's confidence is calibrated. The default is what public measurements of
        served trees imply: they spend on width what a chain of the same budget spends on depth.
    """
    check_setting(setting)
    table = rank_table(acceptance, setting.num_steps)
    proposals = propose(table, setting.num_steps, setting.topk, depth_discount)
    return 1.0 + float(proposals.chance[proposals.kept(setting.draft_tokens - 1)].sum())


def dynamic_length(
    setting: TreeSetting,
    draw: Callable[[np.random.Generator, int], FloatArray],
    rng: np.random.Generator,
    samples: int = 2000,
) -> tuple[float, float]:
    """Return τ of a dynamic tree under calibrated confidence that varies, and its standard error.

    ``draw(rng, n)`` returns n vectors of confidence by rank, shape (n, ranks ≥ topk), each
    non-increasing and summing to 1 at most; every node gets one of its own. Calibrated confidence
    *is* the chance of acceptance, so τ is one plus the mean sum over the nodes kept. A drafter that
    sees which contexts are easy goes deep there and wide elsewhere: by convexity τ is at least that
    of ``setting_length`` at the mean vector with a discount of 1.
    """
    check_setting(setting)
    topk = setting.topk
    confidence = np.ones((samples, 1))
    proposals: list[FloatArray] = []
    for _ in range(setting.num_steps):
        frontier = confidence.shape[1]
        children = draw(rng, samples * frontier)[:, :topk].reshape(samples, frontier, topk)
        own = (confidence[:, :, None] * children).reshape(samples, frontier * topk)
        proposals.append(own)
        confidence = -np.sort(-own, axis=1)[:, :topk]
    every = -np.sort(-np.concatenate(proposals, axis=1), axis=1)
    lengths = 1.0 + every[:, : setting.draft_tokens - 1].sum(axis=1)
    return float(lengths.mean()), float(lengths.std(ddof=1) / np.sqrt(samples))
