"""One step = draft + verify + overhead, with derivatives: the passes of a plan put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.drafters import (
    draft_setup,
    first_pass_tokens,
    replays_verified_tokens,
    serial_passes,
    target_setup,
    verify_tokens,
)
from tuner.cost.rollback import ACCEPTED_PART, rollback, rolls_back_by_checkpoint
from tuner.cost.roofline import INDEX, PassTimes, pass_times
from tuner.cost.terms import (
    PassConstants,
    PassTerms,
    pass_constants,
    pass_terms,
    stack_constants,
)
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DraftKind, Method

FloatArray = NDArray[np.float64]

#: matching a suffix on the CPU, for each sequence of the batch: vLLM 0.10 profile in SpecDecode-
#: Bench gives less than 2 % of a step; 20 µs a sequence is assumed
LOOKUP_S = 20e-6


class StepTerms(NamedTuple):
    """Terms of all passes of an array of n configurations."""

    #: rows: verify, baseline, and where there is a drafter its first and its later pass
    passes: PassTerms
    #: number of later draft passes, of heads, and of replays over the verified tokens
    later_passes: FloatArray
    first_passes: FloatArray
    replays: FloatArray
    has_drafter: bool
    #: 1 where the draft pass is a head whose shape is assumed, 0 for a language model
    is_head: FloatArray
    #: 1 where speculation is on
    is_on: FloatArray
    #: verified tokens of all sequences of a replica where speculation is on
    verified: FloatArray
    #: lookups and copies of recurrent states, and how often a verification is done again in part
    copied_s: FloatArray
    redone: FloatArray


class StepParts(NamedTuple):
    """Seconds of the parts of a step and their gradients, shapes (n,) and (N_PARAMETERS, n)."""

    baseline: PassTimes
    draft: PassTimes
    verify: PassTimes
    overhead: PassTimes
    draft_pass_s: FloatArray

    @property
    def step(self) -> PassTimes:
        """The whole step."""
        return PassTimes(
            self.draft.seconds + self.verify.seconds + self.overhead.seconds,
            self.draft.gradient + self.verify.gradient + self.overhead.gradient,
        )


def step_constants(setup: CostSetup, plan: DraftPlan) -> PassConstants:
    """Return the constants of verify, baseline, and the first and later draft pass of a plan."""
    target = pass_constants(target_setup(setup))
    drafter = draft_setup(setup, plan)
    if drafter is None:
        return stack_constants((target, target))
    draft = pass_constants(drafter)
    return stack_constants((target, target, draft, draft))


def step_terms(
    setup: CostSetup,
    plan: DraftPlan,
    batch: FloatArray,
    draft_steps: FloatArray,
    tokens: FloatArray,
    context: FloatArray,
    constants: PassConstants | None = None,
) -> StepTerms:
    """Return the terms of arrays of one shape (n,); ``constants`` saves computing them again."""
    constants = constants if constants is not None else step_constants(setup, plan)
    has_drafter = len(constants.weights_s) > 2
    replays_tokens = replays_verified_tokens(plan, setup.engine)
    counts = np.ones((4 if has_drafter else 2, len(tokens)))
    counts[0] = verify_tokens(plan, tokens, draft_steps)
    if has_drafter:
        # a drafter that replays has passes of one token only; the first row holds the replay
        counts[2] = tokens if replays_tokens else first_pass_tokens(plan, tokens, draft_steps)
    none = np.zeros_like(batch)
    is_on: FloatArray = (tokens > 1.0).astype(np.float64)
    if plan.kind is DraftKind.NONE:
        is_on = none
    later, first = serial_passes(plan, draft_steps), np.minimum(draft_steps, 1.0)
    if replays_tokens:
        later, first = draft_steps, none
    elif plan.kind is DraftKind.HEADS:
        first = draft_steps
    passes = pass_terms(constants, batch, counts, context)
    redone, copied_s = none, none
    if rolls_back_by_checkpoint(setup, plan):
        drafter = draft_setup(setup, plan)
        saved = (target_setup(setup), *((drafter,) if drafter is not None else ()))
        redone, copied_s = rollback(setup, saved, batch, draft_steps, tokens)
    if plan.kind is DraftKind.LOOKUP:
        copied_s = copied_s + batch * LOOKUP_S
    return StepTerms(
        passes=passes,
        later_passes=later * is_on,
        first_passes=first * is_on,
        replays=is_on if replays_tokens else none,
        has_drafter=has_drafter,
        is_head=none if plan.method is Method.DRAFT_MODEL else np.ones_like(batch),
        is_on=is_on,
        verified=passes.batch[0] * counts[0] * is_on,
        copied_s=copied_s * is_on,
        redone=redone * is_on,
    )


def join_terms(several: list[StepTerms]) -> StepTerms:
    """Return the configurations of several plans as one array, in order."""
    rows = 4 if any(terms.has_drafter for terms in several) else 2
    columns = [
        np.concatenate([_rows(terms, column, rows) for terms in several], axis=1)
        for column in range(len(PassTerms._fields))
    ]
    return StepTerms(
        passes=PassTerms(*columns),
        later_passes=np.concatenate([terms.later_passes for terms in several]),
        first_passes=np.concatenate([terms.first_passes for terms in several]),
        replays=np.concatenate([terms.replays for terms in several]),
        has_drafter=rows == 4,
        is_head=np.concatenate([terms.is_head for terms in several]),
        is_on=np.concatenate([terms.is_on for terms in several]),
        verified=np.concatenate([terms.verified for terms in several]),
        copied_s=np.concatenate([terms.copied_s for terms in several]),
        redone=np.concatenate([terms.redone for terms in several]),
    )


def _rows(terms: StepTerms, column: int, rows: int) -> FloatArray:
    """Return one column as (rows, n); a plan without drafter has empty draft passes."""
    own = 4 if terms.has_drafter else 2
    found = np.broadcast_to(terms.passes[column], (own, len(terms.is_on)))
    if own == rows:
        return found
    return np.concatenate((found, np.zeros_like(found)))


def step_parts(terms: StepTerms, log_parameters: FloatArray) -> StepParts:
    """Return seconds and gradients of the parts.

    ``log_parameters`` has shape (N_PARAMETERS,), or (N_PARAMETERS, n) for parameters of their own
    for each configuration.
    """
    passes = pass_times(terms.passes, log_parameters)
    engine_s = np.exp(log_parameters[INDEX["step_overhead_s"]])
    passes.seconds[:2] += engine_s
    passes.gradient[INDEX["step_overhead_s"], :2] += engine_s
    verify, baseline = _row(passes, 0), _row(passes, 1)
    overhead = _tax(terms, baseline, log_parameters)
    if np.any(terms.redone):
        again = _sum(_times(baseline, 1.0 - ACCEPTED_PART), _times(verify, ACCEPTED_PART))
        overhead = _sum(overhead, _times(again, terms.redone))
    if not terms.has_drafter:
        none = np.zeros_like(baseline.seconds)
        draft = PassTimes(none, np.zeros_like(baseline.gradient))
        return StepParts(baseline, draft, verify, overhead, none)
    scale = np.exp(log_parameters[INDEX["draft_scale"]] * terms.is_head)
    fixed = np.exp(log_parameters[INDEX["draft_pass_overhead_s"]])
    first = _draft_pass(_row(passes, 2), scale, terms.is_head, fixed)
    later = _draft_pass(_row(passes, 3), scale, terms.is_head, fixed)
    draft = _sum(_times(first, terms.first_passes), _times(later, terms.later_passes))
    if np.any(terms.replays):
        overhead = _sum(overhead, _times(first, terms.replays))
    one_pass = np.where(terms.later_passes > 0.0, later.seconds, first.seconds)
    return StepParts(baseline, draft, verify, overhead, one_pass * terms.is_on)


def _draft_pass(
    one: PassTimes, scale: FloatArray, is_head: FloatArray, fixed_s: FloatArray
) -> PassTimes:
    gradient = one.gradient * scale
    gradient[INDEX["draft_scale"]] = one.seconds * scale * is_head
    gradient[INDEX["draft_pass_overhead_s"]] = fixed_s
    return PassTimes(one.seconds * scale + fixed_s, gradient)


def _tax(terms: StepTerms, baseline: PassTimes, log_parameters: FloatArray) -> PassTimes:
    fixed = np.exp(log_parameters[INDEX["speculation_tax_s"]]) * terms.is_on
    share = np.exp(log_parameters[INDEX["speculation_tax_share"]]) * terms.is_on
    by_token = np.exp(log_parameters[INDEX["speculation_token_s"]]) * terms.verified
    gradient = baseline.gradient * share
    gradient[INDEX["speculation_tax_s"]] += fixed
    gradient[INDEX["speculation_tax_share"]] += share * baseline.seconds
    gradient[INDEX["speculation_token_s"]] += by_token
    seconds = fixed + share * baseline.seconds + by_token + terms.copied_s
    return PassTimes(seconds, gradient)


def _row(times: PassTimes, row: int) -> PassTimes:
    return PassTimes(times.seconds[row], times.gradient[:, row])


def _times(one: PassTimes, factor: FloatArray | float) -> PassTimes:
    return PassTimes(one.seconds * factor, one.gradient * factor)


def _sum(first: PassTimes, second: PassTimes) -> PassTimes:
    return PassTimes(first.seconds + second.seconds, first.gradient + second.gradient)
