"""Records of sweeps: the closed formula over a grid, and one profile over batch or temperature."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass
from tuner.records.config import Prediction
from tuner.records.decision import State
from tuner.records.interval import Interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormulaGrid:
    """The closed formula for every (α, c, K); axes in this order, each ascending.

    Without c only ``expected_tokens`` is known and the other arrays are None.
    """

    #: α, shape (A,)
    acceptance_rate: FloatArray
    #: c, shape (C,); None = not asked
    draft_cost_ratio: FloatArray | None
    #: K, shape (N,)
    num_speculative_tokens: IntArray
    #: tokens a step, bonus included, shape (A, N)
    expected_tokens: FloatArray
    #: plain steps a token, shape (A, C, N)
    time_per_token: FloatArray | None = None
    #: index into K of the least time per token, shape (A, C); ties go to the smaller K
    best: IntArray | None = None

    @property
    def size(self) -> int:
        """Number of grid points."""
        costs = 1 if self.draft_cost_ratio is None else len(self.draft_cost_ratio)
        return len(self.acceptance_rate) * costs * len(self.num_speculative_tokens)


class SweepAxis(StrEnum):
    """What a profile may be swept over."""

    BATCH = "batch"
    TEMPERATURE = "temperature"
    DRAFT_TOKENS = "k"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """What is best at one value of the swept quantity."""

    value: float
    #: best configuration that drafts; plain decoding where nothing can draft
    best: Prediction
    #: None = nothing is known about the speed of the target
    plain_tpot_s: Interval | None
    #: whether ``best`` should be on there
    state: State

    @property
    def speedup(self) -> Interval:
        """Speedup of ``best`` over plain decoding at the same value."""
        return self.best.speedup


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSweep:
    """One profile over one quantity; ``points`` ascend by value."""

    profile: str
    title: str
    axis: SweepAxis
    points: tuple[SweepPoint, ...]
