"""Every arm at the load that the profile describes, as predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.advise.acceptance import ArmAcceptance
from tuner.advise.arms import Arm
from tuner.advise.evaluate import Curves, Evaluated, evaluate, evaluate_all, evaluate_at
from tuner.advise.situation import Situation
from tuner.cost.model import CostModel
from tuner.frozen import dataclass
from tuner.optimize.load import batch_for_concurrency, batch_for_rate
from tuner.records.cost import MemoryFit

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Believed = tuple[Arm, ArmAcceptance]

#: Batches at which curves over load are computed: steps of a third, up to where engines' default
#: limits of running sequences lie (vLLM 0.33.0: max_num_seqs 256 … 1024 by device).
LOAD_POINTS: tuple[float, ...] = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256),
    *(320, 384, 512),
)
LOAD_GRID = np.array(LOAD_POINTS, dtype=np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ArmPoint:
    """One arm: its numbers at the profile's own load, and its curve over load."""

    situation: Situation
    model: CostModel | None
    arm: Arm
    acceptance: ArmAcceptance
    #: shape (draft lengths,): mixed over the profile's batches, or at the batch that it settles at
    own: Evaluated
    memory: MemoryFit | None
    #: settings with more requests than they can decode at once: the rest queue
    saturated: BoolArray

    @property
    def fits(self) -> bool:
        """Whether the profile's batch fits in memory, as far as that is known."""
        return self.memory is None or self.memory.fits

    @cached_property
    def over_load(self) -> Evaluated:
        """The arm over LOAD_GRID, shape (batches, settings); most arms are never asked for it."""
        return evaluate(self.situation, self.model, self.arm, self.acceptance, LOAD_POINTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The profile's load: batches with shares of decode time, or requests."""

    batches: tuple[tuple[float, float], ...] | None
    concurrency: float | None
    request_rate: float | None
    output_tokens: float
    prefill_s: float


def load_of(situation: Situation, model: CostModel | None) -> Load:
    """Return the load in numbers; prefill counts prompt tokens that the prefix cache lacks."""
    workload = situation.profile.workload
    fresh = workload.prompt_tokens * (1.0 - workload.prefix_cache_hit)
    return Load(
        batches=workload.batch,
        concurrency=workload.concurrency,
        request_rate=workload.request_rate,
        output_tokens=float(workload.output_tokens),
        prefill_s=prefill_s(model, fresh) if model is not None else 0.0,
    )


def prefill_s(model: CostModel, tokens: float) -> float:
    """Return the time to read a prompt; profiles of one setup share it."""
    return model.prefill_s(tokens) if model.observed else _prior_prefill_s(model, tokens)


@lru_cache(maxsize=1024)
def _prior_prefill_s(model: CostModel, tokens: float) -> float:
    return model.prefill_s(tokens)


def curves_of(
    situation: Situation, model: CostModel | None, believed: Sequence[Believed], load: Load
) -> Curves:
    """Evaluate plain decoding over LOAD_GRID and then at the profile's batches, and all arms.

    Arms are evaluated at the profile's batches, or where requests can settle.
    """
    own = tuple(value for value, _share in load.batches or ())
    return evaluate_all(situation, model, believed, own or settling_points(load), LOAD_POINTS + own)


def arm_points(
    situation: Situation,
    model: CostModel | None,
    believed: Sequence[Believed],
    curves: Curves,
    load: Load,
    memory: Sequence[MemoryFit | None],
) -> tuple[ArmPoint, ...]:
    """Return every arm at the load that the profile describes."""
    saturated = [np.zeros(len(arm.lengths), dtype=np.bool_) for arm, _acceptance in believed]
    if load.batches is not None:
        shares = np.array([share for _value, share in load.batches])
        own = tuple(mix_batches(at, shares) for at in curves.arms)
    else:
        grid = LOAD_GRID[: len(settling_points(load))]
        settled = [
            settle(load, grid, at.tpot_s, fit.max_batch if fit else None)
            for at, fit in zip(curves.arms, memory, strict=True)
        ]
        saturated = [is_full for _batch, is_full in settled]
        own = evaluate_at(situation, model, believed, [batch for batch, _ in settled])
    return tuple(
        ArmPoint(
            situation=situation,
            model=model,
            arm=arm,
            acceptance=acceptance,
            own=at,
            memory=fit,
            saturated=is_full,
        )
        for (arm, acceptance), at, fit, is_full in zip(
            believed, own, memory, saturated, strict=True
        )
    )


def settling_points(load: Load) -> tuple[float, ...]:
    """Return the batches of LOAD_GRID between which requests can settle.

    No more sequences decode together than there are requests in flight.
    """
    if load.concurrency is None:
        return LOAD_POINTS
    return LOAD_POINTS[: max(int(np.searchsorted(LOAD_GRID, load.concurrency)) + 1, 2)]


def settle(
    load: Load, grid: FloatArray, tpot_s: FloatArray, max_batch: int | None
) -> tuple[FloatArray, BoolArray]:
    """Return the batch that each column of ``tpot_s`` (over ``grid``) settles at.

    No more sequences decode together than fit in memory; the second array says where some requests
    have to queue.
    """
    batch = _asked(load, grid, tpot_s)
    most = float(LOAD_GRID[-1]) if max_batch is None else float(max(max_batch, 1))
    return np.minimum(batch, most), batch > most


def _asked(load: Load, grid: FloatArray, tpot_s: FloatArray) -> FloatArray:
    """Sequences that would decode together if memory had no end; infinite beyond the grid."""
    if load.concurrency is not None:
        return batch_for_concurrency(
            load.concurrency,
            grid,
            tpot_s,
            output_tokens=load.output_tokens,
            prefill_s=load.prefill_s,
        )
    batch = batch_for_rate(load.request_rate or 0.0, grid, tpot_s, output_tokens=load.output_tokens)
    asked: FloatArray = np.where(np.isnan(batch), np.inf, batch)
    return asked


def mix_batches(at: Evaluated, shares: FloatArray) -> Evaluated:
    """Merge the first axis (batches) by shares of decode time.

    Time shares add rates: 1/TPOT = Σ share / TPOT_b, plain and speculative alike. The effective
    step ratio is the one that keeps speedup = τ ÷ ratio, and its parts keep their proportions.
    """
    if len(shares) == 1:
        return at.mapped(lambda values: values[0])
    base = np.where(np.isnan(at.baseline_s), 1.0, at.baseline_s)
    plain_rate = shares[:, None] / base
    baseline = 1.0 / plain_rate.sum(axis=0)
    weight = plain_rate / plain_rate.sum(axis=0) / at.step_ratio
    ratio = 1.0 / weight.sum(axis=0)
    weight = weight * ratio
    scaled = {
        name: ratio * (weight * getattr(at, name) / at.step_ratio).sum(axis=0)
        for name in ("draft", "verify", "overhead", "draft_pass")
    }
    tpot = base / (at.acceptance_length / at.step_ratio)
    tokens = (shares[:, None] * at.batch / tpot).sum(axis=0)
    return replace(
        at,
        **scaled,
        batch=tokens * baseline * ratio / at.acceptance_length[0],
        acceptance_length=at.acceptance_length[0],
        acceptance_log_sd=at.acceptance_log_sd[0],
        baseline_s=np.where(np.isnan(at.baseline_s[0]), np.nan, baseline),
        baseline_log_sd=(weight * at.baseline_log_sd).sum(axis=0),
        ratio_log_sd=(weight * at.ratio_log_sd).sum(axis=0),
    )
