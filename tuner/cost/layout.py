"""Which passes a step runs, and how often: configurations of plans laid out as flat arrays."""

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
from tuner.cost.rollback import rollback, rolls_back_by_checkpoint
from tuner.cost.terms import PassConstants, PassTerms, pass_constants, pass_terms
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DraftKind, Method

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: matching a suffix on the CPU, for each sequence of the batch: vLLM 0.10 profile in SpecDecode-
#: Bench gives less than 2 % of a step; 20 µs a sequence is assumed
LOOKUP_S = 20e-6


class Counts(NamedTuple):
    """What is counted of each configuration, arrays of shape (n,)."""

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
    #: lookups and copies of recurrent states, and how often a verification is done again in part
    copied_s: FloatArray
    redone: FloatArray


class StepLayout(NamedTuple):
    """Passes of an array of n configurations.

    Passes that several configurations have in common (a plain step does not depend on the draft
    length) are listed once.
    """

    #: ``PassConstants`` of every distinct pass as columns, shape (constants, passes)
    constants: FloatArray
    #: batch, tokens and context of every pass, shape (3, passes)
    loads: FloatArray
    #: one configuration that has the pass, shape (passes,)
    owner: IntArray
    #: the passes of each configuration: verify, baseline, first and later draft pass, shape (4, n);
    #: without a drafter the last two are never run and stand for the baseline
    places: IntArray
    #: ``Counts`` as rows, shape (counts, n)
    counts: FloatArray


class StepTerms(NamedTuple):
    """Terms of all passes of an array of n configurations; see ``StepLayout``."""

    #: each column of shape (passes,)
    passes: PassTerms
    owner: IntArray
    places: IntArray
    counts: Counts
    #: verified tokens of all sequences of a replica where speculation is on, shape (n,)
    verified: FloatArray


def step_constants(setup: CostSetup, plan: DraftPlan) -> FloatArray:
    """Return the constants of the target and, where there is one, of the drafter as columns."""
    drafter = draft_setup(setup, plan)
    models = (target_setup(setup),) if drafter is None else (target_setup(setup), drafter)
    return np.concatenate([np.array(pass_constants(model)) for model in models], axis=1)


def step_layout(
    setup: CostSetup,
    plan: DraftPlan,
    batch: FloatArray,
    draft_steps: FloatArray,
    tokens: FloatArray,
    context: FloatArray,
    constants: FloatArray | None = None,
) -> StepLayout:
    """Return the passes of arrays that broadcast to n configurations, in their order.

    ``constants`` (``step_constants``) saves computing them again.
    """
    constants = constants if constants is not None else step_constants(setup, plan)
    each = np.zeros(np.broadcast(batch, draft_steps, tokens, context).shape)
    load = np.zeros(np.broadcast(batch, context).shape)
    count, loads = each.size, load.size
    load_of = (np.arange(loads).reshape(load.shape) + each.astype(np.int64)).ravel()
    own, steps, own_tokens, own_context = (
        (values + each).ravel() for values in (batch, draft_steps, tokens, context)
    )
    # verify and first draft pass differ by configuration, plain and later draft pass by load alone
    by_load = np.array(((batch + load).ravel(), np.ones(loads), (context + load).ravel()))
    passes = [np.array((own, verify_tokens(plan, own_tokens, steps), own_context)), by_load]
    place = np.arange(count)
    places = [place, count + load_of]
    if constants.shape[1] > 1:
        first = _first_tokens(setup, plan, own_tokens, steps)
        passes += [np.array((own, first, own_context)), by_load]
        places += [place + count + loads, load_of + 2 * count + loads]
    else:
        places += [places[1], places[1]]
    user_of = np.empty(loads, dtype=np.int64)
    user_of[load_of] = place  # any of those that share it
    return StepLayout(
        constants=np.repeat(constants, count + loads, axis=1),
        loads=np.concatenate(passes, axis=1),
        owner=np.concatenate([place, user_of] * constants.shape[1]),
        places=np.array(places),
        counts=np.array(_counts(setup, plan, own, steps, own_tokens)),
    )


def terms_of(several: Sequence[StepLayout]) -> StepTerms:
    """Return the terms of the configurations of several plans as one array, in order."""
    layout = _joined(several) if len(several) > 1 else several[0]
    batch, tokens, context = layout.loads
    passes = pass_terms(PassConstants(*layout.constants), batch, tokens, context)
    counts, verify = Counts(*layout.counts), layout.places[0]
    return StepTerms(
        passes=passes,
        owner=layout.owner,
        places=layout.places,
        counts=counts,
        verified=passes.batch[verify] * passes.tokens[verify] * counts.is_on,
    )


def _joined(several: Sequence[StepLayout]) -> StepLayout:
    owners, places = [], []
    before = passes_before = 0
    for layout in several:
        owners.append(layout.owner + before)
        places.append(layout.places + passes_before)
        before += layout.counts.shape[1]
        passes_before += len(layout.owner)
    return StepLayout(
        constants=np.concatenate([layout.constants for layout in several], axis=1),
        loads=np.concatenate([layout.loads for layout in several], axis=1),
        owner=np.concatenate(owners),
        places=np.concatenate(places, axis=1),
        counts=np.concatenate([layout.counts for layout in several], axis=1),
    )


def _first_tokens(
    setup: CostSetup, plan: DraftPlan, tokens: FloatArray, steps: FloatArray
) -> FloatArray:
    """A drafter that replays has passes of one token only; its first pass is the replay."""
    if replays_verified_tokens(plan, setup.engine):
        return tokens
    return first_pass_tokens(plan, tokens, steps)


def _counts(
    setup: CostSetup, plan: DraftPlan, batch: FloatArray, steps: FloatArray, tokens: FloatArray
) -> Counts:
    """Count how often each configuration runs its passes."""
    none = np.zeros(len(batch))
    drafter = draft_setup(setup, plan)
    is_on = none if plan.kind is DraftKind.NONE else (tokens > 1.0).astype(np.float64)
    drafts = is_on if drafter is not None else none
    replays_tokens = replays_verified_tokens(plan, setup.engine)
    later, first = serial_passes(plan, steps), np.minimum(steps, 1.0)
    if replays_tokens:
        later, first = steps, none
    elif plan.kind is DraftKind.HEADS:
        first = steps
    redone, copied_s = none, none
    if rolls_back_by_checkpoint(setup, plan):
        saved = (target_setup(setup), *((drafter,) if drafter is not None else ()))
        redone, copied_s = rollback(setup, saved, batch, steps, tokens)
    if plan.kind is DraftKind.LOOKUP:
        copied_s = copied_s + batch * LOOKUP_S
    return Counts(
        batch=batch,
        tokens=tokens,
        later_passes=later * drafts,
        first_passes=first * drafts,
        replays=drafts if replays_tokens else none,
        is_head=none if plan.method is Method.DRAFT_MODEL else np.ones(len(batch)),
        is_on=is_on,
        has_drafter=drafts,
        copied_s=copied_s * is_on,
        redone=redone * is_on,
    )
