"""The setting of an engine that comes nearest to the best tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass
from tuner.records.config import TreeSetting
from tuner.trees.dynamic import propose

FloatArray = NDArray[np.float64]

#: The drafter is taken at its word here: its confidence is the acceptance given.
CALIBRATED = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """What an engine is told, and the τ that it then has."""

    setting: TreeSetting
    expected_tokens: float


def nearest_settings(
    table: FloatArray, nodes: int, depth_discount: float = CALIBRATED
) -> tuple[Spelling, Spelling]:
    """Return the best settings of SGLang and of TensorRT-LLM with at most ``nodes`` draft nodes.

    Both grow the tree by EAGLE-2's rule. TensorRT-LLM also wants max_draft_len ≤
    max_total_draft_tokens ≤ topK × max_draft_len (llmapi/llm_args.py, dynamic tree). Of equals the
    one with fewer steps, then with the smaller topk, is returned.
    """
    depth, ranks = table.shape
    levels = min(depth, nodes)
    sglang: list[Spelling] = []
    trtllm: list[Spelling] = []
    for topk in range(1, min(ranks, nodes) + 1):
        proposals = propose(table, levels, topk, depth_discount)
        order = np.argsort(-proposals.confidence, kind="stable")
        at, chance = proposals.depth[order], proposals.chance[order]
        for steps in range(1, levels + 1):
            within = chance[at <= steps]
            sglang.append(_spelling(within, steps, topk, nodes))
            trtllm.append(_spelling(within, steps, topk, min(nodes, topk * steps)))
    return _best(sglang), _best([s for s in trtllm if s.setting.draft_tokens > s.setting.num_steps])


def _spelling(ordered: FloatArray, steps: int, topk: int, nodes: int) -> Spelling:
    kept = ordered[:nodes]
    setting = TreeSetting(num_steps=steps, topk=topk, draft_tokens=len(kept) + 1)
    return Spelling(setting=setting, expected_tokens=1.0 + float(kept.sum()))


def _best(spellings: list[Spelling]) -> Spelling:
    """Rounded, so that sums in another order do not decide."""
    return max(
        spellings,
        key=lambda s: (round(s.expected_tokens, 9), -s.setting.num_steps, -s.setting.topk),
    )
