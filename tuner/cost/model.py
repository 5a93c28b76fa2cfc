"""Step times of one setup: the prior of its levels, updated by what the user measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.cost.drafters import target_setup
from tuner.cost.layout import StepTerms, step_constants, step_layout, terms_of
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


class StepQuestion(NamedTuple):
    """Configurations of one plan, as ``CostModel.step`` takes them; the arrays broadcast."""

    plan: DraftPlan
    batch: ArrayLike
    draft_steps: ArrayLike
    verify_tokens: ArrayLike
    context_tokens: ArrayLike


@dataclass(slots=True, eq=False)
class CostModel:
    """What is believed about step times in one setup. Made by ``learn``."""

    setup: CostSetup
    prior: CostPrior
    observed: tuple[CostObservation, ...]
    #: whether the spread covers implementations that hardly anyone measured
    allows_faults: bool = True
    _beliefs: dict[Method, Posterior] = field(default_factory=dict)
    _plans: dict[DraftPlan, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

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
        question = StepQuestion(plan, batch, draft_steps, verify_tokens, context_tokens)
        return self.steps([question])[0]

    def steps(self, questions: Sequence[StepQuestion]) -> list[StepTimes]:
        """Return the times of several plans, each as ``step`` does, computed together."""
        found: dict[int, StepTimes] = {}
        by_belief: dict[int, list[int]] = {}
        for place, question in enumerate(questions):
            by_belief.setdefault(id(self._belief(question.plan)), []).append(place)
        for places in by_belief.values():
            belief = self._belief(questions[places[0]].plan)
            times = self._steps(belief, [questions[place] for place in places])
            found.update(zip(places, times, strict=True))
        return [found[place] for place in range(len(questions))]

    def _steps(self, belief: Posterior, questions: Sequence[StepQuestion]) -> list[StepTimes]:
        layouts, shifts, shapes, keys = [], [], [], []
        for plan, *values in questions:
            batch, steps, tokens, context = (np.asarray(one, dtype=np.float64) for one in values)
            shift, constants = self._plan(plan)
            layouts.append(step_layout(self.setup, plan, batch, steps, tokens, context, constants))
            shifts.append(shift)
            shapes.append(np.broadcast(batch, steps, tokens, context).shape)
            keys.append(METHOD_KEY[plan.method])
        counts = [math.prod(shape) for shape in shapes]
        every = terms_of(layouts)
        parts = step_parts(
            every, belief.log_parameters, np.repeat(np.array(shifts).T, counts, axis=1)
        )
        missed, log_sd = self._missed(belief, np.repeat(keys, counts), parts, every)
        plain_missed, ratio_missed = missed.reshape(2, -1)
        plain_sd, ratio_sd = log_sd.reshape(2, -1)
        factor = np.exp(plain_missed + ratio_missed)
        together = StepTimes(
            baseline_s=parts.baseline.seconds * np.exp(plain_missed),
            draft_s=parts.draft.seconds * factor,
            verify_s=parts.verify.seconds * factor,
            overhead_s=parts.overhead.seconds * factor,
            baseline_log_sd=plain_sd,
            ratio_log_sd=np.where(every.counts.tokens > 1.0, ratio_sd, 0.0),
            draft_pass_s=parts.draft_pass_s * factor,
            evidence=self.prior.evidence + tuple(row.source for row in self.observed),
        )
        starts = itertools.accumulate(counts, initial=0)
        return [_cut(together, start, shape) for start, shape in zip(starts, shapes, strict=False)]

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

    def _plan(self, plan: DraftPlan) -> tuple[FloatArray, FloatArray]:
        if plan not in self._plans:
            shift = log_parameters_of_plan(self.prior, self.setup, plan)
            self._plans[plan] = shift, step_constants(self.setup, plan)
        return self._plans[plan]

    def _missed(
        self, belief: Posterior, keys: FloatArray, parts: StepParts, terms: StepTerms
    ) -> tuple[FloatArray, FloatArray]:
        """Return what the equations miss and the log sd, of plain steps and then of the ratios."""
        log_batch, log_tokens = np.log(terms.counts.batch), np.log(terms.counts.tokens)
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


def _cut(together: StepTimes, start: int, shape: tuple[int, ...]) -> StepTimes:
    """Return the configurations of one question out of those of all."""

    def own(values: FloatArray) -> FloatArray:
        return values[start : start + math.prod(shape)].reshape(shape)

    return StepTimes(
        baseline_s=own(together.baseline_s),
        draft_s=own(together.draft_s),
        verify_s=own(together.verify_s),
        overhead_s=own(together.overhead_s),
        baseline_log_sd=own(together.baseline_log_sd),
        ratio_log_sd=own(together.ratio_log_sd),
        draft_pass_s=own(together.draft_pass_s),
        evidence=together.evidence,
        notes=together.notes,
    )
