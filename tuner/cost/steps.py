"""One step = draft + verify + overhead, with derivatives: the passes of a plan put together."""

from __future__ import annotations

from collections.abc import Sequence
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
from tuner.cost.terms import PassConstants, PassTerms, pass_constants, pass_terms
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DraftKind, Method

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: matching a suffix on the CPU, for each sequence of the batch: vLLM 0.10 profile in SpecDecode-
#: Bench gives less than 2 % of a step; 20 µs a sequence is assumed
LOOKUP_S = 20e-6


class StepTerms(NamedTuple):
    """Terms of all passes of an array of n configurations.

    Passes that several configurations have in common (a plain step does not depend on the draft
    length) are listed once.
    """

    #: every distinct pass, each column of shape (passes,)
    passes: PassTerms
    #: one configuration that has the pass, shape (passes,)
    owner: IntArray
    #: the passes of each configuration: verify, baseline, first and later draft pass, shape (4, n);
    #: without a drafter the last two are never run and stand for the baseline
    places: IntArray
    batch: FloatArray
    #: positions of a sequence in the step
    tokens: FloatArray
    #: number of later draft passes, of heads, and of replays over the verified tokens
    later_passes: FloatArray
    first_passes: FloatArray
    replays: FloatArray
    #: 1 where the draft pass is a head whose shape is assumed, 0 for a language model
    is_head: FloatArray
    #: 1 where speculation is on, and where it runs a drafter
    is_on: FloatArray
    has_drafter: FloatArray
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


def step_constants(setup: CostSetup, plan: DraftPlan) -> FloatArray:
    """Return the constants of the target and, where there is one, of the drafter as columns."""
    drafter = draft_setup(setup, plan)
    models = (target_setup(setup),) if drafter is None else (target_setup(setup), drafter)
    return np.concatenate([np.array(pass_constants(model)) for model in models], axis=1)


def step_terms(
    setup: CostSetup,
    plan: DraftPlan,
    batch: FloatArray,
    draft_steps: FloatArray,
    tokens: FloatArray,
    context: FloatArray,
    constants: FloatArray | None = None,
) -> StepTerms:
    """Return the terms of arrays that broadcast to n configurations, in their order.

    ``constants`` (``step_constants``) saves computing them again.
    """
    constants = constants if constants is not None else step_constants(setup, plan)
    each = np.zeros(np.broadcast(batch, draft_steps, tokens, context).shape)
    load = np.zeros(np.broadcast(batch, context).shape)
    load_of = np.arange(load.size).reshape(load.shape) + each.astype(np.int64)
    own, steps, own_tokens, own_context = (
        (values + each).ravel() for values in (batch, draft_steps, tokens, context)
    )
    # verify and first draft pass differ by configuration, plain and later draft pass by load alone
    ones = np.ones(load.size)
    counts = [verify_tokens(plan, own_tokens, steps), ones]
    if constants.shape[1] > 1:
        counts += [_first_tokens(setup, plan, own_tokens, steps), ones]
    models = len(counts) // 2
    passes = pass_terms(
        PassConstants(*np.repeat(constants, each.size + load.size, axis=1)),
        np.concatenate([own, (batch + load).ravel()] * models),
        np.concatenate(counts),
        np.concatenate([own_context, (context + load).ravel()] * models),
    )
    return _counted(setup, plan, passes, load_of.ravel(), own, steps, own_tokens)


def _first_tokens(
    setup: CostSetup, plan: DraftPlan, tokens: FloatArray, steps: FloatArray
) -> FloatArray:
    """A drafter that replays has passes of one token only; its first pass is the replay."""
    if replays_verified_tokens(plan, setup.engine):
        return tokens
    return first_pass_tokens(plan, tokens, steps)


def _counted(
    setup: CostSetup,
    plan: DraftPlan,
    passes: PassTerms,
    load_of: IntArray,
    batch: FloatArray,
    steps: FloatArray,
    tokens: FloatArray,
) -> StepTerms:
    """Count how often each configuration runs its passes."""
    count, none = len(batch), np.zeros(len(batch))
    loads = int(load_of.max()) + 1
    own = np.arange(count)
    has_drafter = len(passes.batch) > count + loads
    places = [own, count + load_of]
    places += [count + loads + own, 2 * count + loads + load_of] if has_drafter else places[1:] * 2
    is_on: FloatArray = (tokens > 1.0).astype(np.float64)
    if plan.kind is DraftKind.NONE:
        is_on = none
    drafts = is_on if has_drafter else none
    replays_tokens = replays_verified_tokens(plan, setup.engine)
    later, first = serial_passes(plan, steps), np.minimum(steps, 1.0)
    if replays_tokens:
        later, first = steps, none
    elif plan.kind is DraftKind.HEADS:
        first = steps
    user_of = np.empty(loads, dtype=np.int64)
    user_of[load_of] = own  # any of those that share it
    redone, copied_s = none, none
    if rolls_back_by_checkpoint(setup, plan):
        drafter = draft_setup(setup, plan)
        saved = (target_setup(setup), *((drafter,) if drafter is not None else ()))
        redone, copied_s = rollback(setup, saved, batch, steps, tokens)
    if plan.kind is DraftKind.LOOKUP:
        copied_s = copied_s + batch * LOOKUP_S
    return StepTerms(
        passes=passes,
        owner=np.concatenate([own, user_of] * (2 if has_drafter else 1)),
        places=np.array(places),
        batch=batch,
        tokens=tokens,
        later_passes=later * drafts,
        first_passes=first * drafts,
        replays=drafts if replays_tokens else none,
        is_head=none if plan.method is Method.DRAFT_MODEL else np.ones(count),
        is_on=is_on,
        has_drafter=drafts,
        verified=passes.batch[:count] * passes.tokens[:count] * is_on,
        copied_s=copied_s * is_on,
        redone=redone * is_on,
    )


def join_terms(several: Sequence[StepTerms]) -> StepTerms:
    """Return the configurations of several plans as one array, in order."""
    if len(several) == 1:
        return several[0]
    columns = dict(zip(StepTerms._fields, zip(*several, strict=True), strict=True))
    before = np.cumsum([0, *(len(terms.batch) for terms in several)])
    passes_before = np.cumsum([0, *(len(terms.owner) for terms in several)])
    passes = PassTerms(*np.concatenate([np.array(terms.passes) for terms in several], axis=1))
    owner = [one + shift for one, shift in zip(columns.pop("owner"), before, strict=False)]
    places = [one + shift for one, shift in zip(columns.pop("places"), passes_before, strict=False)]
    del columns["passes"]
    return StepTerms(
        passes=passes,
        owner=np.concatenate(owner),
        places=np.concatenate(places, axis=1),
        **{name: np.concatenate(values) for name, values in columns.items()},
    )


def step_parts(
    terms: StepTerms, log_parameters: FloatArray, plan_shift: FloatArray | None = None
) -> StepParts:
    """Return seconds and gradients of the parts.

    ``log_parameters`` has shape (N_PARAMETERS,), or (N_PARAMETERS, n) for parameters of their own
    for each configuration. ``plan_shift``, shape (N_PARAMETERS, n), is added to the parameters of
    drafting (``DRAFT_PARAMETERS``), the only ones that a plan may shift.
    """
    shared = log_parameters.ndim == 1
    passes = pass_times(terms.passes, log_parameters if shared else log_parameters[:, terms.owner])
    columns = log_parameters[:, None] if shared else log_parameters
    if plan_shift is not None:
        columns = columns + plan_shift
    verify, baseline, first, later = (_taken(passes, place) for place in terms.places)
    engine_s = np.exp(columns[INDEX["step_overhead_s"]])
    for one in (verify, baseline):
        one.seconds[:] += engine_s
        one.gradient[INDEX["step_overhead_s"]] += engine_s
    overhead = _tax(terms, baseline, columns)
    if np.any(terms.redone):
        again = _sum(_times(baseline, 1.0 - ACCEPTED_PART), _times(verify, ACCEPTED_PART))
        overhead = _sum(overhead, _times(again, terms.redone))
    if not np.any(terms.has_drafter):
        none = np.zeros_like(baseline.seconds)
        draft = PassTimes(none, np.zeros_like(baseline.gradient))
        return StepParts(baseline, draft, verify, overhead, none)
    scale = np.exp(columns[INDEX["draft_scale"]] * terms.is_head)
    fixed = np.exp(columns[INDEX["draft_pass_overhead_s"]])
    first = _draft_pass(first, scale, terms.is_head, fixed)
    later = _draft_pass(later, scale, terms.is_head, fixed)
    draft = _sum(_times(first, terms.first_passes), _times(later, terms.later_passes))
    if np.any(terms.replays):
        overhead = _sum(overhead, _times(first, terms.replays))
    one_pass = np.where(terms.later_passes > 0.0, later.seconds, first.seconds)
    return StepParts(baseline, draft, verify, overhead, one_pass * terms.has_drafter)


def _taken(passes: PassTimes, place: IntArray) -> PassTimes:
    return PassTimes(passes.seconds[place], passes.gradient.take(place, axis=1))


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


def _times(one: PassTimes, factor: FloatArray | float) -> PassTimes:
    return PassTimes(one.seconds * factor, one.gradient * factor)


def _sum(first: PassTimes, second: PassTimes) -> PassTimes:
    return PassTimes(first.seconds + second.seconds, first.gradient + second.gradient)
