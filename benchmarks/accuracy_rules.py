"""Simple rules that need no model: what a user gets without the product, on the same cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from scripts.evidence import Cell, SpeedRow
from tuner.speedup import expected_tokens

#: draft cost that the textbook rule takes for granted (a head of one layer in some thirty)
FORMULA_COST = 0.05
#: upper ends of the load classes of the pooled rule
_LOADS = (1.0, 8.0, 32.0)


def nearest(measured: Sequence[int], wanted: float) -> int:
    """Return the measured K nearest to a wanted one; ties go to the smaller."""
    return min(sorted(measured), key=lambda k: abs(k - wanted))


def observed_k(cell: Cell) -> int:
    """Return the K that counts as observed in calibrated mode: the one nearest 3."""
    return nearest(tuple(cell.speed), 3)


def fixed_rules(cell: Cell) -> dict[str, int]:
    """Return the choices that look at nothing."""
    measured = tuple(cell.speed)
    return {
        "always 3": nearest(measured, 3),
        "always 5": nearest(measured, 5),
        "smallest": min(measured),
        "largest": max(measured),
    }


def fitted_rate(length: float, k: int) -> float | None:
    """Return the constant α with E(α, K) = τ; None where τ is not inside (1, K + 1)."""
    if not 1.0 < length < k + 1.0:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if expected_tokens(middle, k) < length else (low, middle)
    return (low + high) / 2.0


def formula_choice(cell: Cell, k: int) -> int | None:
    """Return the best measured K by (1 + .05 K) / E with α from τ at the observed K."""
    length = cell.acceptance_length.get(k)
    rate = fitted_rate(length, k) if length is not None else None
    if rate is None:
        return None
    return max(
        sorted(cell.speed), key=lambda j: float(expected_tokens(rate, j)) / (1 + FORMULA_COST * j)
    )


def formula_speedups(cell: Cell, k: int) -> dict[int, float] | None:
    """Return speedups by the formula with α from τ and c from the speedup, both at one K."""
    length, speedup = cell.acceptance_length.get(k), cell.speedup.get(k)
    rate = fitted_rate(length, k) if length is not None else None
    if rate is None or speedup is None or length is None:
        return None
    cost = (length / speedup - 1.0) / k
    return {
        j: float(expected_tokens(rate, j)) / (1.0 + cost * j)
        for j in cell.speedup
        if 1.0 + cost * j > 0.0
    }


def load_class(batch: float | None) -> int:
    """Return which of the load classes a batch is in; not stated counts as 1."""
    return int(np.searchsorted(_LOADS, batch or 1.0))


class PooledRule:
    """Quantiles of all speedups of the same method and load class, one group left out."""

    def __init__(self, speeds: Sequence[SpeedRow], groups: Mapping[str, str]) -> None:
        self._groups = groups
        self._values: dict[tuple[str, int], list[tuple[str, float]]] = defaultdict(list)
        for speed in speeds:
            if speed.speedup is not None:
                entry = groups[speed.ids[0]], float(np.log(speed.speedup))
                self._values[self._key(speed)].append(entry)
                self._values["", load_class(speed.row.batch)].append(entry)

    @staticmethod
    def _key(speed: SpeedRow) -> tuple[str, int]:
        return str(speed.row.method), load_class(speed.row.batch)

    def quantiles(self, speed: SpeedRow) -> tuple[float, float, float]:
        """Return p10, p50, p90 of the speedup without the row's own source or target.

        A class with fewer than five others falls back to all methods at that load.
        """
        own = self._groups[speed.ids[0]]
        for key in (self._key(speed), ("", load_class(speed.row.batch))):
            others = [value for group, value in self._values[key] if group != own]
            if len(others) >= 5:
                low, middle, high = np.exp(np.quantile(others, [0.1, 0.5, 0.9]))
                return float(low), float(middle), float(high)
        return 1.0, 1.0, 1.0
