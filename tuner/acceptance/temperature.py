"""How the level of acceptance moves with temperature and truncation, by the rule that decides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tuner.acceptance.positions import FloatArray
from tuner.acceptance.rules import Sampling, level_shifts
from tuner.records.acceptance import AcceptanceQuery
from tuner.records.methods import VerifyRule


def temperature_shift(level: float, query: AcceptanceQuery) -> float:
    """Return the change of the level from temperature 0 under the query's rule, in logits."""
    return float(temperature_shifts(np.array([level]), [query])[0])


def temperature_shifts(levels: FloatArray, queries: Sequence[AcceptanceQuery]) -> FloatArray:
    """Return ``temperature_shift`` of each query's level; queries of one sampler together."""
    found = np.zeros(len(queries))
    groups: dict[object, list[int]] = {}
    for place, one in enumerate(queries):
        sampler = one.temperature, one.rule, one.top_p, one.top_k, one.min_p
        groups.setdefault(sampler, []).append(place)
    for places in groups.values():
        first = queries[places[0]]
        heat = (first.temperature, first.rule)
        found[places] = shifts_at(levels[places], first, (heat,))[:, 0]
    return found


def shifts_at(
    levels: FloatArray, query: AcceptanceQuery, heats: tuple[tuple[float, VerifyRule], ...]
) -> FloatArray:
    """Return the change of levels at (temperature, rule) in turn, shape (levels, heats).

    Truncation is the query's.
    """
    grid, table = _shift_table(heats, query.top_p, query.top_k, query.min_p)
    right = np.searchsorted(grid[1:-1], levels) + 1
    share = (levels - grid[right - 1]) / (grid[right] - grid[right - 1])
    share = np.minimum(np.maximum(share, 0.0), 1.0)
    return (1.0 - share)[:, None] * table[right - 1] + share[:, None] * table[right]


@lru_cache(maxsize=512)
def _shift_table(
    heats: tuple[tuple[float, VerifyRule], ...],
    top_p: float,
    top_k: int | None,
    min_p: float | None,
) -> tuple[FloatArray, FloatArray]:
    """Return levels at temperature 0, and the change there at each heat, shape (levels, heats)."""
    shifts = []
    for temperature, rule in heats:
        # a greedy rule above temperature 0 means greedy drafts compared with samples
        known = VerifyRule.EXACT_MATCH if rule is VerifyRule.GREEDY else rule
        sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p)
        grid, shift = level_shifts(known, sampling)
        is_cold = temperature <= 0.0 and not rule.is_lossy
        shifts.append(np.zeros_like(shift) if is_cold else shift)
    return grid, np.array(shifts).T
