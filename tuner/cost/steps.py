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
from tuner.cost.roofline import INDEX, N_PARAMETERS, PassTimes, pass_times
from tuner.cost.terms import PassTerms, pass_terms, stack_terms
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DraftKind

FloatArray = NDArray[np.float64]

#: matching a suffix on the CPU, for each sequence of the batch: vLLM 0.10 profile in SpecDecode-
#: Bench gives less than 2 % of a step; 20 µs a sequence is assumed
LOOKUP_S = 20e-6


class StepTerms(NamedTuple):
    """Terms of all passes of an array of n configurations of one plan."""

    #: blocks of n: verify, baseline, and where there is a drafter its first and its later pass
    passes: PassTerms
    #: number of later draft passes, of heads, and of replays over the verified tokens
    later_passes: FloatArray
    first_passes: FloatArray
    replays: FloatArray
    has_drafter: bool
    #: 1 where speculation is on
    is_on: FloatArray
    lookup_s: FloatArray


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


def step_terms(
    setup: CostSetup,
    plan: DraftPlan,
    batch: FloatArray,
    draft_steps: FloatArray,
    tokens: FloatArray,
    context: FloatArray,
) -> StepTerms:
    """Return the terms of arrays of one shape (n,)."""
    target = target_setup(setup)
    ones = np.ones_like(batch)
    wide = verify_tokens(plan, tokens, draft_steps)
    passes = [
        pass_terms(target, np.tile(batch, 2), np.concatenate((wide, ones)), np.tile(context, 2))
    ]
    drafter = draft_setup(setup, plan)
    is_on = (tokens > 1.0).astype(np.float64) if plan.kind is not DraftKind.NONE else 0.0 * ones
    replays = 0.0 * ones
    first = np.minimum(draft_steps, 1.0)
    if drafter is not None:
        first_tokens = first_pass_tokens(plan, setup.engine, tokens, draft_steps)
        later_tokens = ones
        if replays_verified_tokens(plan, setup.engine):
            # its K passes are alike; the slot of the first pass holds the replay
            first_tokens, replays = tokens, is_on
        passes.append(
            pass_terms(
                drafter,
                np.tile(batch, 2),
                np.concatenate((first_tokens, later_tokens)),
                np.tile(context, 2),
            )
        )
    later = serial_passes(plan, draft_steps)
    if replays_verified_tokens(plan, setup.engine):
        later, first = draft_steps, 0.0 * first
    if plan.kind is DraftKind.HEADS:
        first = draft_steps
    lookup = batch * LOOKUP_S if plan.kind is DraftKind.LOOKUP else 0.0 * ones
    return StepTerms(
        passes=stack_terms(*passes),
        later_passes=later * is_on,
        first_passes=first * is_on,
        replays=replays,
        has_drafter=drafter is not None,
        is_on=is_on,
        lookup_s=lookup * is_on,
    )


def join_terms(several: list[StepTerms]) -> StepTerms:
    """Return the configurations of several plans as one array, in order."""
    blocks = 4 if any(terms.has_drafter for terms in several) else 2
    columns = [
        np.concatenate([_blocks(terms, column, blocks) for terms in several], axis=1).ravel()
        for column in range(len(PassTerms._fields))
    ]
    return StepTerms(
        passes=PassTerms(*columns),
        later_passes=np.concatenate([terms.later_passes for terms in several]),
        first_passes=np.concatenate([terms.first_passes for terms in several]),
        replays=np.concatenate([terms.replays for terms in several]),
        has_drafter=blocks == 4,
        is_on=np.concatenate([terms.is_on for terms in several]),
        lookup_s=np.concatenate([terms.lookup_s for terms in several]),
    )


def _blocks(terms: StepTerms, column: int, blocks: int) -> FloatArray:
    """Return one column as (blocks, n); a plan without drafter has empty draft passes."""
    found = terms.passes[column].reshape(-1, len(terms.is_on))
    if len(found) == blocks:
        return found
    return np.concatenate((found, np.zeros_like(found)))


def step_parts(terms: StepTerms, log_parameters: FloatArray) -> StepParts:
    """Return seconds and gradients of the parts.

    ``log_parameters`` has shape (N_PARAMETERS,), or (N_PARAMETERS, n) for parameters of their own
    for each configuration.
    """
    count = len(terms.is_on)
    by_pass = log_parameters
    if log_parameters.ndim == 2:
        by_pass = np.tile(log_parameters, (1, 4 if terms.has_drafter else 2))
    all_passes = pass_times(terms.passes, by_pass)
    verify, baseline = _slice(all_passes, 0, count), _slice(all_passes, 1, count)
    engine_s = np.exp(log_parameters[INDEX["step_overhead_s"]])
    for one in (verify, baseline):
        one.seconds[...] += engine_s
        one.gradient[INDEX["step_overhead_s"]] += engine_s
    zero = PassTimes(np.zeros(count), np.zeros((N_PARAMETERS, count)))
    draft, replay, draft_pass_s = zero, zero, np.zeros(count)
    if terms.has_drafter:
        scale = np.exp(log_parameters[INDEX["draft_scale"]])
        fixed = np.exp(log_parameters[INDEX["draft_pass_overhead_s"]])
        first = _draft_pass(_slice(all_passes, 2, count), scale, fixed)
        later = _draft_pass(_slice(all_passes, 3, count), scale, fixed)
        draft = _sum(_times(first, terms.first_passes), _times(later, terms.later_passes))
        replay = _times(first, terms.replays)
        is_serial = terms.later_passes > 0.0
        draft_pass_s = np.where(is_serial, later.seconds, first.seconds) * terms.is_on
    overhead = _sum(replay, _tax(terms, baseline, log_parameters))
    return StepParts(baseline, draft, verify, overhead, draft_pass_s)


def _draft_pass(one: PassTimes, scale: FloatArray, fixed_s: FloatArray) -> PassTimes:
    gradient = one.gradient * scale
    gradient[INDEX["draft_scale"]] = one.seconds * scale
    gradient[INDEX["draft_pass_overhead_s"]] = fixed_s
    return PassTimes(one.seconds * scale + fixed_s, gradient)


def _tax(terms: StepTerms, baseline: PassTimes, log_parameters: FloatArray) -> PassTimes:
    fixed = np.exp(log_parameters[INDEX["speculation_tax_s"]]) * terms.is_on
    share = np.exp(log_parameters[INDEX["speculation_tax_share"]]) * terms.is_on
    gradient = baseline.gradient * share
    gradient[INDEX["speculation_tax_s"]] += fixed
    gradient[INDEX["speculation_tax_share"]] += share * baseline.seconds
    return PassTimes(fixed + share * baseline.seconds + terms.lookup_s, gradient)


def _slice(times: PassTimes, part: int, count: int) -> PassTimes:
    place = slice(part * count, (part + 1) * count)
    return PassTimes(times.seconds[place].copy(), times.gradient[:, place].copy())


def _times(one: PassTimes, factor: FloatArray) -> PassTimes:
    return PassTimes(one.seconds * factor, one.gradient * factor)


def _sum(first: PassTimes, second: PassTimes) -> PassTimes:
    return PassTimes(first.seconds + second.seconds, first.gradient + second.gradient)
