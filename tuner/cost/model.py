"""Step times of one setup: the prior of its levels, updated by what the user measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.cost.drafters import target_setup
from tuner.cost.layout import Block, Settings, StepTerms, step_layout, terms_of
from tuner.cost.levels import (
    log_parameters,
    plan_levels,
    setup_levels,
    sources_measured,
    spread,
)
from tuner.cost.missed import NO_METHOD, Missed, Places
from tuner.cost.observations import METHOD_KEY, gather, target_rows
from tuner.cost.posterior import Posterior, expected_missed, update
from tuner.cost.roofline import INDEX, pass_times
from tuner.cost.steps import StepParts, step_parts
from tuner.cost.terms import pass_constants, pass_terms
from tuner.records.cost import CostObservation, CostSetup, DraftPlan, StepTimes
from tuner.records.cost_prior import CostPrior
from tuner.records.methods import Method

FloatArray = NDArray[np.float64]

#: share of the measured matmul ceiling that a whole prompt reaches; the ceiling was measured with
#: matmuls of that size (assumed)
PREFILL_EFFICIENCY = 0.8


@dataclass(slots=True, eq=False)
class CostModel:
    """What is believed about step times in one setup. Made by ``learn``."""

    setup: CostSetup
    prior: CostPrior
    observed: tuple[CostObservation, ...]
    #: whether the spread covers implementations that hardly anyone measured
    allows_faults: bool = True
    _beliefs: dict[Method, Posterior] = field(default_factory=dict)
    _plans: dict[DraftPlan, FloatArray] = field(default_factory=dict)

    def step(
        self,
        plan: DraftPlan,
        *,
        batch: ArrayLike,
        draft_steps: ArrayLike,
        verify_tokens: ArrayLike,
        context_tokens: ArrayLike,
    ) -> StepTimes:
        """Return the times of one step for an array of configurations.

        Parameters
        ----------
        plan
            How drafts are made.
        batch
            Sequences decoded together, over all replicas, > 0.
        draft_steps
            Draft passes in sequence (depth of a tree), 0 for plain decoding.
        verify_tokens
            Target positions of a sequence, root included, ≥ 1.
        context_tokens
            Tokens in the cache of each sequence, ≥ 0.

        Notes
        -----
        The four broadcast against each other; all arrays of the result have that shape.
        """
        values = (
            np.asarray(one, dtype=np.float64)
            for one in (batch, draft_steps, verify_tokens, context_tokens)
        )
        arrays = np.broadcast_arrays(*values)
        own, steps, tokens, context = (one.ravel() for one in arrays)
        block = Block((Settings(plan, steps, tokens),), own, context, is_paired=True)
        times = self.steps([block])[0][0]
        shape = arrays[0].shape
        return StepTimes(
            baseline_s=times.baseline_s.reshape(shape),
            draft_s=times.draft_s.reshape(shape),
            verify_s=times.verify_s.reshape(shape),
            overhead_s=times.overhead_s.reshape(shape),
            baseline_log_sd=times.baseline_log_sd.reshape(shape),
            ratio_log_sd=times.ratio_log_sd.reshape(shape),
            draft_pass_s=times.draft_pass_s.reshape(shape),
            evidence=times.evidence,
        )

    def steps(self, blocks: Sequence[Block]) -> list[list[StepTimes]]:
        """Return the times of every plan of every block, computed together.

        The arrays of a plan have shape (loads, settings), or (settings,) in a paired block.
        """
        beliefs = [[self._belief(one.plan) for one in block.settings] for block in blocks]
        found: list[dict[int, StepTimes]] = [{} for _ in blocks]
        for belief in {id(one): one for own in beliefs for one in own}.values():
            parts = [
                (own, [place for place, one in enumerate(of_block) if one is belief], block)
                for own, of_block, block in zip(found, beliefs, blocks, strict=True)
            ]
            parts = [part for part in parts if part[1]]
            several = self._steps(belief, [_part(block, places) for _, places, block in parts])
            for (own, places, _), times in zip(parts, several, strict=True):
                own.update(zip(places, times, strict=True))
        return [[own[place] for place in sorted(own)] for own in found]

    def _steps(self, belief: Posterior, blocks: Sequence[Block]) -> list[list[StepTimes]]:
        every = terms_of([step_layout(self.setup, block) for block in blocks])
        columns = np.concatenate([self._by_plan(block) for block in blocks], axis=1)
        keys, shift = columns[0], columns[1:]
        parts = step_parts(every, belief.log_parameters, shift)
        missed, log_sd = self._missed(belief, keys, parts, every)
        plain_missed, ratio_missed = missed.reshape(2, -1)
        plain_sd, ratio_sd = log_sd.reshape(2, -1)
        factor = np.exp(plain_missed + ratio_missed)
        times = (
            parts.baseline.seconds * np.exp(plain_missed),
            parts.draft.seconds * factor,
            parts.verify.seconds * factor,
            parts.overhead.seconds * factor,
            plain_sd,
            np.where(every.counts.tokens > 1.0, ratio_sd, 0.0),
            parts.draft_pass_s * factor,
        )
        evidence = self.prior.evidence + tuple(row.source for row in self.observed)
        return _cut(np.array(times), blocks, evidence)

    def prefill_s(self, tokens: float) -> float:
        """Return the time to read a prompt of ``tokens`` in one pass, logits of its last token."""
        count = max(float(tokens), 1.0)
        target = target_setup(self.setup)
        one = np.ones(1)
        terms = pass_terms(pass_constants(target), one, count * one, 0.5 * count * one)
        head_flops = 2.0 * target.parts.head_params * (count - 1.0) / target.parallel.tensor
        belief = self._shared_belief()
        value = np.exp(belief.log_parameters)
        slower = np.minimum(value[INDEX["matmul_efficiency"]] / PREFILL_EFFICIENCY, 1.0)
        matmul_s = terms.matmul_s - head_flops / target.ceilings.matmul_flops_per_s
        terms = terms._replace(logits_s=terms.logits_s / count, matmul_s=matmul_s * slower)
        # a prompt is sampled and sent once, not token by token
        sampled = (count - 1.0) * value[INDEX["token_overhead_s"]]
        seconds = pass_times(terms, belief.log_parameters).seconds[0] - sampled
        return float(seconds + value[INDEX["step_overhead_s"]])

    def _by_plan(self, block: Block) -> FloatArray:
        """Return what belongs to the plan of each configuration, shape (1 + N_PARAMETERS, n).

        The method's number, then the shift of the parameters' logarithms.
        """
        sizes = [len(one.tokens) for one in block.settings]
        columns = np.array([self._plan(one.plan) for one in block.settings]).T
        own = np.repeat(columns, sizes, axis=1)
        return own if block.is_paired else np.tile(own, len(block.batch))

    def _plan(self, plan: DraftPlan) -> FloatArray:
        if plan not in self._plans:
            shift = log_parameters_of_plan(self.prior, self.setup, plan)
            self._plans[plan] = np.concatenate(([METHOD_KEY[plan.method]], shift))
        return self._plans[plan]

    def _missed(
        self, belief: Posterior, keys: FloatArray, parts: StepParts, terms: StepTerms
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the equations miss and the log sd, of plain steps and then of the ratios."""
        log_batch, log_tokens = np.log(terms.batch), np.log(terms.counts.tokens)
        none, ones = np.zeros_like(log_batch), np.ones_like(log_batch)
        key = np.where(terms.counts.tokens > 1.0, keys, NO_METHOD)
        places = Places(
            log_batch=np.concatenate((log_batch, log_batch)),
            log_tokens=np.concatenate((none, log_tokens)),
            on_step=np.concatenate((none, ones)),
            on_baseline=np.concatenate((ones, -ones)),
            on_draft=np.concatenate((none, none)),
            method=np.concatenate((none + NO_METHOD, key)),
        )
        step, baseline = parts.step, parts.baseline
        by_baseline = baseline.gradient / baseline.seconds
        by_ratio = step.gradient / step.seconds - by_baseline
        gradient = np.concatenate((by_baseline, by_ratio), axis=1)
        missed, variance = expected_missed(belief, places, gradient)
        return missed, np.sqrt(variance) * self.prior.widening

    def _shared_belief(self) -> Posterior:
        """Return the belief that rests on rows without a drafter."""
        return self._believe(Method.NONE)

    def _belief(self, plan: DraftPlan) -> Posterior:
        measured = any(row.method is plan.method for row in self.observed)
        return self._believe(plan.method if measured else Method.NONE)

    def _believe(self, method: Method) -> Posterior:
        if method not in self._beliefs:
            mean = log_parameters(self.prior, setup_levels(self.setup))
            evidence = gather(self.prior, self.setup, self.observed, method)
            missed = missed_of(self.prior, self.setup if self.allows_faults else None)
            self._beliefs[method] = update(missed, mean, spread(self.prior) ** 2, evidence)
        return self._beliefs[method]


def learn(
    prior: CostPrior,
    setup: CostSetup,
    observed: Sequence[CostObservation] = (),
    *,
    allows_faults: bool = True,
) -> CostModel:
    """Return the step-time model of ``setup`` after the user's own timings.

    Parameters
    ----------
    prior
        Table learned from published measurements.
    setup
        Target, formats, devices and engine.
    observed
        Timings on this setup. Rows that state no time, and speculative rows that give time a token
        or a speedup without τ, say nothing about a step and are left out.
    allows_faults
        Whether the spread covers the faults of implementations that hardly anyone measured; without
        them it is that of a typical one.
    """
    return CostModel(setup, prior, target_rows(observed), allows_faults)


def missed_of(prior: CostPrior, setup: CostSetup | None) -> Missed:
    """Return how much the equations miss, for what is known of a setup; None = well measured.

    Implementations that one source or none has measured are off by more than the spread among
    those that many have: research builds, and engines on devices that they were not made for.
    """
    unmeasured = 0.0
    if setup is not None:
        unmeasured = prior.unmeasured_offset / (1.0 + sources_measured(prior, setup))
    return Missed(
        level=prior.plain_discrepancy,
        stairs=prior.discrepancy,
        stairs_scale=prior.discrepancy_scale,
        offset=math.hypot(prior.method_offset, unmeasured),
    )


def log_parameters_of_plan(prior: CostPrior, setup: CostSetup, plan: DraftPlan) -> FloatArray:
    """Return the shift of the parameters' logarithms that belongs to the plan alone."""
    shift: FloatArray = log_parameters(prior, plan_levels(setup, plan)) - np.array(prior.mean)
    return shift


def _part(block: Block, places: Sequence[int]) -> Block:
    """Return the block with some of its settings."""
    if len(places) == len(block.settings):
        return block
    kept = block._replace(settings=[block.settings[place] for place in places])
    if not block.is_paired:
        return kept
    owner = np.repeat(
        np.arange(len(block.settings)), [len(settings.tokens) for settings in block.settings]
    )
    mine = np.isin(owner, places)
    return kept._replace(batch=block.batch[mine], context=block.context[mine])


def _cut(
    times: FloatArray, blocks: Sequence[Block], evidence: tuple[str, ...]
) -> list[list[StepTimes]]:
    """Return the times, shape (7, n), of each plan of each block."""
    found, start = [], 0
    for block in blocks:
        sizes = [len(settings.tokens) for settings in block.settings]
        shape = (sum(sizes),) if block.is_paired else (len(block.batch), sum(sizes))
        own = times[:, start : start + math.prod(shape)].reshape(-1, *shape)
        start += math.prod(shape)
        ends = itertools.accumulate(sizes)
        found.append(
            [
                _times_of(own[..., end - size : end], evidence)
                for size, end in zip(sizes, ends, strict=True)
            ]
        )
    return found


def _times_of(rows: FloatArray, evidence: tuple[str, ...]) -> StepTimes:
    baseline_s, draft_s, verify_s, overhead_s, baseline_log_sd, ratio_log_sd, draft_pass_s = rows
    return StepTimes(
        baseline_s=baseline_s,
        draft_s=draft_s,
        verify_s=verify_s,
        overhead_s=overhead_s,
        baseline_log_sd=baseline_log_sd,
        ratio_log_sd=ratio_log_sd,
        draft_pass_s=draft_pass_s,
        evidence=evidence,
    )
