"""The setting of an engine that comes nearest to the best tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.records.config import TreeSetting
from tuner.trees.dynamic import Proposals, propose

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
    sglang: list[Spelling] = []
    trtllm: list[Spelling] = []
    for topk in range(1, min(ranks, nodes) + 1):
        proposals = propose(table, min(depth, nodes), topk, depth_discount)
        for steps in range(1, min(depth, nodes) + 1):
            sglang.append(_spelling(proposals, steps, topk, nodes))
            trtllm.append(_spelling(proposals, steps, topk, min(nodes, topk * steps)))
    return _best(sglang), _best([s for s in trtllm if s.setting.draft_tokens > s.setting.num_steps])


def _spelling(proposals: Proposals, steps: int, topk: int, nodes: int) -> Spelling:
    kept = proposals.kept(nodes, steps)
    setting = TreeSetting(num_steps=steps, topk=topk, draft_tokens=len(kept) + 1)
    return Spelling(setting=setting, expected_tokens=1.0 + float(proposals.chance[kept].sum()))


def _best(spellings: list[Spelling]) -> Spelling:
    """Rounded, so that sums in another order do not decide."""
    return max(
        spellings,
        key=lambda s: (round(s.expected_tokens, 9), -s.setting.num_steps, -s.setting.topk),
    )
