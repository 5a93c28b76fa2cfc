"""What is asked about the acceptance of an arm, and what the profile observed about it."""

from __future__ import annotations

from functools import lru_cache

from tuner.acceptance.belief import believe
from tuner.advise.arms import Arm
from tuner.advise.knowledge import Knowledge
from tuner.advise.situation import Situation
from tuner.advise.timings import counted_length, drafted, implied_length, same_hardware
from tuner.records.acceptance import AcceptanceObservation, AcceptanceQuery, TargetClass
from tuner.records.methods import DraftKind, Method, VerifyRule
from tuner.records.model import ModelShape
from tuner.records.workload import ObservedRow


def query_of(situation: Situation, arm: Arm) -> AcceptanceQuery:
    """The question about an arm, for the first task and temperature 0."""
    workload = situation.profile.workload
    drafter = arm.plan.drafter
    return AcceptanceQuery(
        method=arm.method,
        target=_target_class(situation),
        task=workload.task[0][0],
        temperature=0.0,
        top_p=workload.top_p,
        top_k=workload.top_k,
        min_p=workload.min_p,
        rule=VerifyRule.GREEDY,
        drafter=arm.drafter_name,
        draft_params=drafter.params if drafter and arm.method is Method.DRAFT_MODEL else None,
        trained_depth=drafter.trained_depth if drafter else None,
        max_context=drafter.max_context if drafter else None,
        context_tokens=situation.context_tokens,
        engine=situation.engine if situation.setup is None else situation.setup.engine,
    )


def _target_class(situation: Situation) -> TargetClass:
    if situation.setup is None:
        return TargetClass(target_id=None, total_params=0.0, active_params=0.0)
    return _class_of(situation.setup.target)


@lru_cache(maxsize=256)
def _class_of(target: ModelShape) -> TargetClass:
    return TargetClass(
        target_id=target.model_id,
        total_params=target.total_params,
        active_params=target.active_params,
        is_moe=target.is_moe,
        is_hybrid=target.is_hybrid,
    )


def is_about(row: ObservedRow, arm: Arm) -> bool:
    """Whether an observed row speaks of this arm's method and drafter."""
    if row.method is not arm.method:
        return False
    return row.drafter is None or row.drafter == arm.drafter_name


def observations_of(
    situation: Situation, knowledge: Knowledge, arm: Arm
) -> tuple[AcceptanceObservation, ...]:
    rows = (row for row in situation.profile.observed if is_about(row, arm))
    found = (_observation(situation, knowledge, arm, row) for row in rows)
    return tuple(seen for seen in found if seen is not None)


def _observation(
    situation: Situation, knowledge: Knowledge, arm: Arm, row: ObservedRow
) -> AcceptanceObservation | None:
    """What a row says about acceptance: counted, or implied by its speed on this hardware."""
    length, spread = row.acceptance_length, None
    if counted_length(row) is None:
        if situation.setup is None or not same_hardware(row, situation):
            return None
        coverage = 1.0
        if arm.plan.kind is DraftKind.LOOKUP:
            query = query_of(situation, arm)
            depth = int(arm.draft_steps.max())
            coverage = believe(knowledge.acceptance, query, max_k=depth).coverage
        implied = implied_length(
            knowledge.cost, situation.setup, situation, arm, row, coverage=coverage
        )
        if implied is None:
            return None
        length, spread = implied
        length = min(max(length, 1.0), drafted(row) + 1.0)
    return AcceptanceObservation(
        method=row.method,
        num_speculative_tokens=drafted(row),
        tree=row.tree,
        acceptance_length=length,
        length_log_sd=spread,
        survival=row.acceptance_per_position,
        counts=row.counts,
        task=row.task,
        temperature=row.temperature,
        drafter=row.drafter,
        source=row.source or "observed",
    )
