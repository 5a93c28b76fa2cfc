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


class Settings(NamedTuple):
    """Settings of one plan, arrays of shape (settings,)."""

    plan: DraftPlan
    #: draft passes in sequence, 0 for plain decoding
    draft_steps: FloatArray
    #: target positions of a sequence, root included
    tokens: FloatArray


class Block(NamedTuple):
    """Settings of several plans at the same loads: n configurations."""

    settings: Sequence[Settings]
    #: sequences, and tokens in the cache of each, shape (loads,)
    batch: FloatArray
    context: FloatArray
    #: each setting has a load of its own, in order; else every setting is taken at every load, and
    #: the configurations run over settings first
    is_paired: bool = False


class Counts(NamedTuple):
    """What is counted of each setting or configuration, arrays of one shape."""

    #: positions of a sequence in the step, in its verification, and in the first draft pass
    tokens: FloatArray
    verified_tokens: FloatArray
    first_tokens: FloatArray
    #: number of later draft passes, of heads, and of replays over the verified tokens
    later_passes: FloatArray
    first_passes: FloatArray
    replays: FloatArray
    #: 1 where the draft pass is a head whose shape is assumed, 0 for a language model
    is_head: FloatArray
    #: 1 where speculation is on, and where it runs a drafter
    is_on: FloatArray
    has_drafter: FloatArray
    #: lookups and copies of recurrent states of one sequence, and how often a verification is done
    #: again in part
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
    #: sequences of each configuration, shape (n,)
    batch: FloatArray
    #: ``Counts`` as rows, shape (counts, n)
    counts: FloatArray


class StepTerms(NamedTuple):
    """Terms of all passes of an array of n configurations; see ``StepLayout``."""

    #: each column of shape (passes,)
    passes: PassTerms
    owner: IntArray
    places: IntArray
    batch: FloatArray
    counts: Counts
    #: verified tokens of all sequences of a replica where speculation is on, shape (n,)
    verified: FloatArray


def step_layout(setup: CostSetup, block: Block) -> StepLayout:
    """Return the passes of the configurations of a block."""
    plans = [settings.plan for settings in block.settings]
    sizes = [len(settings.tokens) for settings in block.settings]
    counts = np.concatenate([_counts(setup, one) for one in block.settings], axis=1)
    drafter_of, constants = _models(setup, plans)
    loads, width = len(block.batch), counts.shape[1]
    if block.is_paired:
        setting = load = np.arange(width)
    else:
        setting, load = np.tile(np.arange(width), loads), np.repeat(np.arange(loads), width)
        counts = counts[:, setting]
    count, batch, context = len(load), block.batch[load], block.context[load]
    # verify and first draft pass differ by configuration, plain and later draft pass by load alone
    drafter = np.repeat(drafter_of, sizes)[setting]
    drafts = np.flatnonzero(drafter)
    last = len(drafts) if block.is_paired else (constants.shape[1] - 1) * loads
    later = np.arange(last) if block.is_paired else (drafter[drafts] - 1) * loads + load[drafts]
    later_user = np.zeros(last, dtype=np.int64)
    later_user[later] = drafts  # any of those that share it
    first_start = count + loads
    places = np.array([np.arange(count), count + load, count + load, count + load])
    places[2, drafts] = first_start + np.arange(len(drafts))
    places[3, drafts] = first_start + len(drafts) + later
    load_user = np.zeros(loads, dtype=np.int64)
    load_user[load] = places[0]
    owner = np.concatenate((places[0], load_user, drafts, later_user))
    model = np.concatenate((np.zeros(first_start, dtype=np.int64), drafter[owner[first_start:]]))
    ones = np.ones(loads + last)
    tokens = (counts[1], ones[:loads], counts[2, drafts], ones[loads:])
    return StepLayout(
        constants=constants[:, model],
        loads=np.array((batch[owner], np.concatenate(tokens), context[owner])),
        owner=owner,
        places=places,
        batch=batch,
        counts=counts,
    )


def terms_of(several: Sequence[StepLayout]) -> StepTerms:
    """Return the terms of the configurations of several layouts as one array, in order."""
    layout = _joined(several) if len(several) > 1 else several[0]
    batch, tokens, context = layout.loads
    passes = pass_terms(PassConstants(*layout.constants), batch, tokens, context)
    counts, verify = Counts(*layout.counts), layout.places[0]
    return StepTerms(
        passes=passes,
        owner=layout.owner,
        places=layout.places,
        batch=layout.batch,
        counts=counts,
        verified=passes.batch[verify] * passes.tokens[verify] * counts.is_on,
    )


def _joined(several: Sequence[StepLayout]) -> StepLayout:
    owners, places = [], []
    before = passes_before = 0
    for layout in several:
        owners.append(layout.owner + before)
        places.append(layout.places + passes_before)
        before += len(layout.batch)
        passes_before += len(layout.owner)
    return StepLayout(
        constants=np.concatenate([layout.constants for layout in several], axis=1),
        loads=np.concatenate([layout.loads for layout in several], axis=1),
        owner=np.concatenate(owners),
        places=np.concatenate(places, axis=1),
        batch=np.concatenate([layout.batch for layout in several]),
        counts=np.concatenate([layout.counts for layout in several], axis=1),
    )


def _models(setup: CostSetup, plans: Sequence[DraftPlan]) -> tuple[IntArray, FloatArray]:
    """Return which drafter each plan has, 0 for none, and constants of target and drafters."""
    models, drafter_of = [target_setup(setup)], []
    for plan in plans:
        drafter = draft_setup(setup, plan)
        if drafter is not None:
            models.append(drafter)
        drafter_of.append(0 if drafter is None else len(models) - 1)
    columns = [np.array(pass_constants(model)) for model in models]
    return np.array(drafter_of), np.concatenate(columns, axis=1)


def _counts(setup: CostSetup, settings: Settings) -> FloatArray:
    """Count how often each setting runs its passes; ``Counts`` as rows."""
    plan, steps, tokens = settings
    none, ones = np.zeros(len(tokens)), np.ones(len(tokens))
    drafter = draft_setup(setup, plan)
    is_on = none if plan.kind is DraftKind.NONE else (tokens > 1.0).astype(np.float64)
    drafts = is_on if drafter is not None else none
    later, first = serial_passes(plan, steps), np.minimum(steps, 1.0)
    first_tokens = first_pass_tokens(plan, tokens, steps)
    replays_tokens = replays_verified_tokens(plan, setup.engine)
    if replays_tokens:
        # a drafter that replays has passes of one token only; its first pass is the replay
        later, first, first_tokens = steps, none, tokens
    elif plan.kind is DraftKind.HEADS:
        first = steps
    redone, copied_s = none, none
    if rolls_back_by_checkpoint(setup, plan):
        saved = (target_setup(setup), *((drafter,) if drafter is not None else ()))
        redone, copied_s = rollback(setup, saved, ones, steps, tokens)
    if plan.kind is DraftKind.LOOKUP:
        copied_s = copied_s + LOOKUP_S
    counts = Counts(
        tokens=tokens,
        verified_tokens=verify_tokens(plan, tokens, steps),
        first_tokens=first_tokens,
        later_passes=later * drafts,
        first_passes=first * drafts,
        replays=drafts if replays_tokens else none,
        is_head=none if plan.method is Method.DRAFT_MODEL else ones,
        is_on=is_on,
        has_drafter=drafts,
        copied_s=copied_s * is_on,
        redone=redone * is_on,
    )
    return np.array(counts)
