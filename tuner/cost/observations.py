"""From what a user measured to logarithms of step times with their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tuner.cost.layout import Block, Settings, step_layout, terms_of
from tuner.cost.levels import log_parameters, plan_levels
from tuner.cost.missed import NO_METHOD, Places
from tuner.cost.posterior import Evidence
from tuner.cost.roofline import INDEX, N_PARAMETERS
from tuner.records.cost import CostObservation, CostSetup, DraftPlan
from tuner.records.cost_prior import DRAFT_PARAMETERS, CostPrior
from tuner.records.methods import DRAFT_KIND, Method

#: context when an observation does not state it, tokens (assumed)
DEFAULT_CONTEXT_TOKENS = 1024.0
#: a number for each method, so that arrays of places can tell them apart
METHOD_KEY: dict[Method, float] = {method: float(place) for place, method in enumerate(Method)} | {
    Method.NONE: NO_METHOD
}


def target_rows(observed: Sequence[CostObservation]) -> tuple[CostObservation, ...]:
    """Return the rows that fix the time of a step or its ratio to a plain one."""
    return tuple(row for row in observed if measured_logs(row))


def measured_logs(row: CostObservation) -> list[tuple[float, float, float, float]]:
    """Return ln value and its weights on ln step, ln baseline and ln draft, for each number."""
    found: list[tuple[float, float, float, float]] = []
    length = 1.0 if row.method is Method.NONE else row.acceptance_length
    if row.step_s is not None and row.step_s > 0.0:
        found.append((math.log(row.step_s), 1.0, 0.0, 0.0))
    elif row.tpot_s is not None and row.tpot_s > 0.0 and length is not None:
        found.append((math.log(row.tpot_s * length), 1.0, 0.0, 0.0))
    if row.speedup is not None and row.speedup > 0.0 and length is not None:
        found.append((math.log(length / row.speedup), 1.0, -1.0, 0.0))
    if row.draft_s is not None and row.draft_s > 0.0:
        found.append((math.log(row.draft_s), 0.0, 0.0, 1.0))
    return found


def gather(
    prior: CostPrior, setup: CostSetup, observed: Sequence[CostObservation], method: Method
) -> Evidence | None:
    """Return the rows as evidence for plans of ``method``.

    Draft parameters of another method are unknowns of their own: its rows inform the target only.
    """
    settings: list[Settings] = []
    loads: list[tuple[float, float]] = []
    columns: list[tuple[float, ...]] = []
    informs, shifts = [], []
    is_draft = np.zeros(N_PARAMETERS, dtype=bool)
    is_draft[[INDEX[name] for name in DRAFT_PARAMETERS]] = True
    for row in observed:
        plan = DraftPlan(method=row.method, kind=DRAFT_KIND[row.method], drafter=row.drafter)
        shift = log_parameters(prior, plan_levels(setup, plan)) - np.array(prior.mean)
        stated = row.verify_tokens if row.verify_tokens > 1 else row.num_speculative_tokens + 1
        tokens = float(stated)
        steps = float(row.draft_steps or (tokens - 1.0 if row.method is not Method.NONE else 0.0))
        context = row.context_tokens if row.context_tokens is not None else DEFAULT_CONTEXT_TOKENS
        for value, *weights in measured_logs(row):
            settings.append(Settings(plan, np.array([steps]), np.array([tokens])))
            loads.append((row.batch, context))
            noise = prior.measurement_noise**2 + row.log_sd**2
            key = METHOD_KEY[row.method]
            columns.append((math.log(row.batch), math.log(tokens), *weights, key, value, noise))
            same = row.method in (method, Method.NONE)
            informs.append(np.where(is_draft & (not same), 0.0, 1.0))
            shifts.append(shift)
    if not settings:
        return None
    *places, values, noises = np.array(columns).T
    batch, context = np.array(loads, dtype=np.float64).T
    block = Block(settings, batch, context, is_paired=True)
    return Evidence(
        terms=terms_of([step_layout(setup, block)]),
        places=Places(*places),
        log_value=values,
        noise=noises,
        informs=np.array(informs).T,
        plan_shift=np.array(shifts).T,
    )
