"""How the level of acceptance moves with temperature and truncation, by the rule that decides."""

from __future__ import annotations

import numpy as np

from tuner.acceptance.rules import Sampling, level_shifts
from tuner.records.acceptance import AcceptanceQuery
from tuner.records.methods import VerifyRule


def temperature_shift(level: float, query: AcceptanceQuery) -> float:
    """Return the change of the level from temperature 0 under the query's rule, in logits."""
    return shift_at(level, query, query.temperature, query.rule)


def shift_at(level: float, query: AcceptanceQuery, temperature: float, rule: VerifyRule) -> float:
    """Return the change of the level at another temperature and rule than the query's."""
    if temperature <= 0.0 and not rule.is_lossy:
        return 0.0
    # a greedy rule above temperature 0 means greedy drafts compared with samples
    rule = VerifyRule.EXACT_MATCH if rule is VerifyRule.GREEDY else rule
    levels, shifts = level_shifts(
        rule,
        Sampling(
            temperature=temperature,
            top_p=query.top_p,
            top_k=query.top_k,
            min_p=query.min_p,
        ),
    )
    return float(np.interp(level, levels, shifts))
