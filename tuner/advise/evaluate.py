"""Acceptance × cost for whole arrays of configurations of one arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.advise.acceptance import ArmAcceptance
from tuner.advise.arms import PLAIN_ARM, Arm, is_formula, override_for
from tuner.advise.disagreeing import widen_disagreeing
from tuner.advise.knowledge import Knowledge
from tuner.advise.situation import Situation
from tuner.advise.timed_rows import timed_rows
from tuner.cost.layout import Block, Settings
from tuner.cost.model import CostModel, learn
from tuner.frozen import dataclass
from tuner.records.cost import CostSetup, StepTimes
from tuner.records.methods import CostBackend
from tuner.speedup import formula_step_cost

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Evaluated:
    """An arm over (batches, settings), or over settings; times are NaN for an unknown target."""

    arm: Arm
    acceptance: ArmAcceptance
    batch: FloatArray
    acceptance_length: FloatArray
    acceptance_log_sd: FloatArray
    baseline_s: FloatArray
    baseline_log_sd: FloatArray
    #: parts of the step in plain steps
    draft: FloatArray
    verify: FloatArray
    overhead: FloatArray
    #: one draft pass in plain steps; 0 where the method has none
    draft_pass: FloatArray
    ratio_log_sd: FloatArray
    evidence: tuple[str, ...]
    notes: tuple[str, ...]

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Evaluated:
        """Return the same with ``change`` applied to every array."""
        return Evaluated(
            arm=self.arm,
            acceptance=self.acceptance,
            batch=change(self.batch),
            acceptance_length=change(self.acceptance_length),
            acceptance_log_sd=change(self.acceptance_log_sd),
            baseline_s=change(self.baseline_s),
            baseline_log_sd=change(self.baseline_log_sd),
            draft=change(self.draft),
            verify=change(self.verify),
            overhead=change(self.overhead),
            draft_pass=change(self.draft_pass),
            ratio_log_sd=change(self.ratio_log_sd),
            evidence=self.evidence,
            notes=self.notes,
        )

    @cached_property
    def step_ratio(self) -> FloatArray:
        """Time of a step ÷ time of a plain step."""
        return self.draft + self.verify + self.overhead

    @cached_property
    def speedup(self) -> FloatArray:
        """Plain time per token ÷ speculative time per token, at equal batch."""
        return self.acceptance_length / self.step_ratio

    @cached_property
    def speedup_log_sd(self) -> FloatArray:
        """Standard deviation of ln speedup; acceptance and cost errors are independent."""
        return np.hypot(self.acceptance_log_sd, self.ratio_log_sd)

    @cached_property
    def tpot_s(self) -> FloatArray:
        """Time per output token of one sequence, seconds."""
        return self.baseline_s / self.speedup


def cost_model(
    situation: Situation,
    knowledge: Knowledge,
    arms: Sequence[tuple[Arm, ArmAcceptance]],
) -> CostModel | None:
    """Return the cost model updated by the timings that the profile observed on this hardware."""
    if situation.setup is None:
        return None
    rows, _ = widen_disagreeing(timed_rows(situation, arms), knowledge.cost.measurement_noise)
    if knowledge.backend is CostBackend.AICONFIGURATOR:
        from tuner.catalog.aiconfigurator import plain_steps

        prompt = situation.profile.workload.prompt_tokens
        rows = (*plain_steps(situation.setup, prompt_tokens=prompt), *rows)
    if not rows:
        return _prior_model(knowledge, situation.setup)
    return learn(knowledge.cost, situation.setup, rows)


@lru_cache(maxsize=256)
def _prior_model(knowledge: Knowledge, setup: CostSetup) -> CostModel:
    """One model a setup: profiles that differ in load alone share what it computes."""
    return learn(knowledge.cost, setup)


def evaluate(
    situation: Situation,
    model: CostModel | None,
    arm: Arm,
    acceptance: ArmAcceptance,
    batches: tuple[float, ...],
) -> Evaluated:
    """Evaluate every setting of an arm at every batch; arrays of shape (batches, settings)."""
    asked = _Asked(((arm, acceptance.coverage),), batches)
    times = _times(situation, model, (asked,))[0][0]
    return _evaluated(situation, arm, acceptance, np.array(batches)[:, None], times)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Plain decoding and several arms, computed together."""

    #: plain step and the standard deviation of its logarithm, at batches of its own
    plain_s: FloatArray
    plain_log_sd: FloatArray
    #: shape (batches, settings) each
    arms: tuple[Evaluated, ...]


def evaluate_all(
    situation: Situation,
    model: CostModel | None,
    believed: Sequence[tuple[Arm, ArmAcceptance]],
    batches: tuple[float, ...],
    plain_batches: tuple[float, ...],
) -> Curves:
    """Evaluate every setting of every arm at every batch, and plain decoding at its batches."""
    arms = tuple((arm, seen.coverage) for arm, seen in believed)
    asked = [
        _Asked(((PLAIN_ARM, 1.0),), plain_batches),
        *((_Asked(arms, batches),) if arms else ()),
    ]
    (plain,), *rest = _times(situation, model, tuple(asked))
    return Curves(
        plain_s=plain.baseline_s[:, 0],
        plain_log_sd=plain.baseline_log_sd[:, 0],
        arms=tuple(
            _evaluated(situation, arm, seen, np.array(batches)[:, None], own)
            for own_times in rest
            for (arm, seen), own in zip(believed, own_times, strict=True)
        ),
    )


def evaluate_at(
    situation: Situation,
    model: CostModel | None,
    believed: Sequence[tuple[Arm, ArmAcceptance]],
    batches: Sequence[FloatArray],
) -> tuple[Evaluated, ...]:
    """Evaluate each setting of each arm at a batch of its own; arrays of shape (settings,)."""
    arms = tuple((arm, seen.coverage) for arm, seen in believed)
    every = tuple(batch for own in batches for batch in own.tolist())
    (times,) = _times(situation, model, (_Asked(arms, every, is_paired=True),))
    return tuple(
        _evaluated(situation, arm, seen, batch, own)
        for (arm, seen), batch, own in zip(believed, batches, times, strict=True)
    )


def _evaluated(
    situation: Situation, arm: Arm, acceptance: ArmAcceptance, batch: FloatArray, times: StepTimes
) -> Evaluated:
    base = times.baseline_s
    each = np.zeros(base.shape)
    return Evaluated(
        arm=arm,
        acceptance=acceptance,
        batch=batch + each,
        acceptance_length=acceptance.acceptance_length + each,
        acceptance_log_sd=acceptance.log_sd + each,
        baseline_s=base if situation.setup is not None else np.full(base.shape, np.nan),
        baseline_log_sd=times.baseline_log_sd,
        draft=times.draft_s / base,
        verify=times.verify_s / base,
        overhead=times.overhead_s / base,
        draft_pass=times.draft_pass_s / base,
        ratio_log_sd=times.ratio_log_sd,
        evidence=times.evidence,
        notes=times.notes,
    )


class _Asked(NamedTuple):
    """What is asked of the cost model: every setting of some arms, each at every batch."""

    #: with the share of steps that have a draft
    arms: tuple[tuple[Arm, float], ...]
    batches: tuple[float, ...]
    #: each setting has a batch of its own, in order
    is_paired: bool = False


def _times(
    situation: Situation, model: CostModel | None, asked: tuple[_Asked, ...]
) -> Sequence[Sequence[StepTimes]]:
    """Step times from the model, or in plain steps from the textbook formula."""
    if model is None:
        return [
            [_formula_only(situation, arm, one.batches) for arm, _coverage in one.arms]
            for one in asked
        ]
    compute = _step_times if model.observed else _prior_times
    found = compute(model, asked, situation.context_tokens)
    if not situation.profile.overrides.draft_cost_ratio:
        return found
    return [
        [
            _overridden(situation, arm, times)
            for (arm, _coverage), times in zip(one.arms, own, strict=True)
        ]
        for one, own in zip(asked, found, strict=True)
    ]


def _formula_only(situation: Situation, arm: Arm, batches: tuple[float, ...]) -> StepTimes:
    ratio = override_for(situation.profile.overrides.draft_cost_ratio, arm.method)
    return _formula_times(np.ones((len(batches), len(arm.lengths))), ratio or 0.0, arm.draft_steps)


def _overridden(situation: Situation, arm: Arm, times: StepTimes) -> StepTimes:
    """Replace what the profile gives by hand."""
    ratio = override_for(situation.profile.overrides.draft_cost_ratio, arm.method)
    if ratio is None:
        return times
    if is_formula(situation, arm.method):
        formula = _formula_times(times.baseline_s, ratio, arm.draft_steps)
        return replace(formula, baseline_log_sd=times.baseline_log_sd)
    draft_pass = ratio * times.baseline_s
    return replace(times, draft_s=arm.draft_steps * draft_pass, draft_pass_s=draft_pass)


def _step_times(
    model: CostModel, asked: tuple[_Asked, ...], context_tokens: float
) -> list[list[StepTimes]]:
    """Steps without a draft verify one token, so lookups verify 1 + coverage × K in the mean."""
    blocks = []
    for arms, batches, is_paired in asked:
        settings = [
            Settings(
                arm.plan,
                arm.draft_steps.astype(np.float64),
                (1.0 + coverage * (arm.verify_tokens - 1.0)).astype(np.float64),
            )
            for arm, coverage in arms
        ]
        context = np.full(len(batches), context_tokens)
        blocks.append(Block(settings, np.array(batches, dtype=np.float64), context, is_paired))
    return model.steps(blocks)


#: Times that rest on the prior alone depend on setup, arms and load; many profiles share them.
_prior_times = lru_cache(maxsize=512)(_step_times)


def _formula_times(baseline_s: FloatArray, ratio: float, steps: NDArray[np.int64]) -> StepTimes:
    zeros = np.zeros(baseline_s.shape)
    draft = formula_step_cost(steps, ratio, 0.0)
    return StepTimes(
        baseline_s=baseline_s,
        draft_s=draft * baseline_s,
        verify_s=baseline_s,
        overhead_s=zeros,
        baseline_log_sd=zeros,
        ratio_log_sd=zeros,
        draft_pass_s=ratio * baseline_s,
        evidence=("overrides.draft_cost_ratio",),
    )
