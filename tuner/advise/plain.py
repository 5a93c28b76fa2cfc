"""Plain decoding, the baseline of every comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.advise.arms import PLAIN_PLAN
from tuner.advise.evaluate import Curves, evaluate_all
from tuner.advise.points import LOAD_GRID, ArmPoint, Load, settle
from tuner.advise.situation import Situation
from tuner.cost.memory import memory_fit
from tuner.cost.model import CostModel
from tuner.frozen import dataclass
from tuner.records.cost import MemoryFit
from tuner.records.decision import Baseline
from tuner.records.interval import Interval

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainCurve:
    """Plain step time over load, the baseline at the profile's load, and what fits."""

    #: over LOAD_GRID; NaN where the target is unknown
    baseline_s: FloatArray
    baseline: Baseline
    #: standard deviation of ln of the plain step, over LOAD_GRID
    baseline_log_sd: FloatArray
    memory: MemoryFit | None
    #: more requests than fit at once
    queues: bool = False

    @property
    def max_batch(self) -> int | None:
        return self.memory.max_batch_plain if self.memory else None


def plain_curve(
    situation: Situation, model: CostModel | None, curves: Curves, load: Load
) -> PlainCurve:
    """Return plain decoding over load and at the profile's own load."""
    if model is None or situation.setup is None:
        unknown = np.full(len(LOAD_GRID), np.nan)
        batch = sum(value * share for value, share in load.batches or ((1.0, 1.0),))
        baseline = Baseline(tpot_s=None, output_tok_s=None, batch=batch)
        return PlainCurve(
            baseline_s=unknown,
            baseline=baseline,
            baseline_log_sd=np.zeros(len(LOAD_GRID)),
            memory=None,
        )
    workload = situation.profile.workload
    memory = memory_fit(
        situation.setup,
        PLAIN_PLAN,
        context_tokens=workload.prompt_tokens + workload.output_tokens,
        batch=largest_batch(load),
        verify_tokens=1,
    )
    curve, queues = curves.plain_s[: len(LOAD_GRID)], False
    if load.batches is not None:
        batches = np.array([value for value, _ in load.batches])
        shares = np.array([share for _, share in load.batches])
        step_s, spread = curves.plain_s[len(LOAD_GRID) :], curves.plain_log_sd[len(LOAD_GRID) :]
    else:
        batches, is_full = settle(load, LOAD_GRID, curve[:, None], memory.max_batch_plain)
        queues = bool(is_full.any())
        shares = np.ones(1)
        settled = evaluate_all(situation, model, (), (), tuple(batches.tolist()))
        step_s, spread = settled.plain_s, settled.plain_log_sd
    rate = shares / step_s
    tpot_s = 1.0 / float(rate.sum())
    tokens_per_s = float((rate * batches).sum())
    baseline = Baseline(
        tpot_s=Interval.lognormal(tpot_s, float((rate * spread).sum() * tpot_s)),
        output_tok_s=tokens_per_s,
        batch=float(batches[0]) if len(batches) == 1 else tokens_per_s * tpot_s,
    )
    return PlainCurve(
        baseline_s=curve,
        baseline=baseline,
        baseline_log_sd=curves.plain_log_sd[: len(LOAD_GRID)],
        memory=memory,
        queues=queues,
    )


def queues(load: Load, plain: PlainCurve, points: Sequence[ArmPoint]) -> bool:
    """Whether what runs is compared while other requests wait.

    What does not fit in memory says nothing about it. In a closed loop one configuration that is
    full is enough: fewer sequences decode with it, each faster. Arrivals that only some
    configurations keep up with rule out the others instead.
    """
    if load.concurrency is not None:
        return plain.queues or any(bool(point.saturated.any()) for point in points if point.fits)
    return plain.queues and all(bool(point.saturated.all()) for point in points if point.fits)


def largest_batch(load: Load) -> float:
    """Return the batch that has to fit; what clients ask for beyond memory queues instead."""
    return max((value for value, _share in load.batches), default=1.0) if load.batches else 1.0
