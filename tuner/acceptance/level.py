"""The level of acceptance before anything is observed: linear in what the query states."""

from __future__ import annotations

import math
from functools import lru_cache

from tuner.records.acceptance import AcceptanceQuery, TargetClass
from tuner.records.methods import DRAFT_KIND, DraftKind, Method, Task, VerifyRule

#: Size to which the size terms are relative (assumed; only the slope is fitted): 30 billion.
REFERENCE_PARAMS = 30e9
#: Draft model ÷ target to which its size term is relative (assumed; only the slope is fitted).
REFERENCE_DRAFT_SHARE = 0.05


def target_kind(target: TargetClass) -> str:
    """Return "dense", "moe-small" (under 20 billion active parameters) or "moe-large"."""
    if not target.is_moe:
        return "dense"
    return "moe-small" if target.active_params < 20e9 else "moe-large"


def design(query: AcceptanceQuery) -> dict[str, float]:
    """Return the terms that apply to a query, name → value."""
    return _design(
        query.method,
        target_kind(query.target),
        round(math.log(query.target.total_params / REFERENCE_PARAMS), 3),
        query.task,
        round(query.temperature, 3),
        query.rule,
        _draft_size(query),
    )


def _draft_size(query: AcceptanceQuery) -> float:
    """ln of the draft model's share of the target, about the reference; 0 where there is none."""
    if query.method is not Method.DRAFT_MODEL or not query.draft_params:
        return 0.0
    share = query.draft_params / query.target.total_params
    return round(math.log(share / REFERENCE_DRAFT_SHARE), 3)


@lru_cache(maxsize=4096)
def _design(
    method: Method,
    kind: str,
    log_size: float,
    task: Task,
    temperature: float,
    rule: VerifyRule,
    draft_size: float,
) -> dict[str, float]:
    terms = {
        "base": 1.0,
        f"method:{method}": 1.0,
        f"task:{task}": 1.0,
        f"kind:{kind}": 1.0,
        "size": log_size,
    }
    if DRAFT_KIND[method] is not DraftKind.LOOKUP:
        terms[f"{method}×{task}"] = 1.0
    if temperature > 0.0:
        terms["temperature"] = temperature
    if draft_size:
        terms["draft size"] = draft_size
    return terms
