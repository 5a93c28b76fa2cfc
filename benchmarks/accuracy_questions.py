"""A measured row as the question that a user would ask: a profile, and what was observed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from scripts.cost_setups import plan_of
from scripts.evidence import MeasuredRow, SpeedRow
from scripts.evidence_hardware import device_of, layout_of
from tuner.advise.arms import Arm
from tuner.advise.resolve import resolve
from tuner.advise.situation import Situation
from tuner.catalog import find_model
from tuner.errors import TunerError
from tuner.records.config import TreeSetting
from tuner.records.cost import DraftPlan
from tuner.records.hardware import Hardware
from tuner.records.methods import DraftKind, Engine, Method, Task
from tuner.records.model import Drafter
from tuner.records.workload import (
    EngineSpec,
    HardwareSpec,
    ObservedRow,
    ParallelSpec,
    Profile,
    TargetSpec,
    WorkloadSpec,
)
from tuner.units import GIGA, KILO, MEGA

#: kinds of text taken where the source names none (assumed)
_UNKNOWN_TASKS = (Task.CHAT, Task.CODE, Task.MATH)
#: prompt and output tokens by kind of text where the source states no context (assumed: typical
#: lengths of the data sets that stand for the kind)
_LENGTHS: dict[Task, tuple[int, int]] = {
    Task.SUMMARIZATION: (1200, 200),
    Task.RAG: (1500, 200),
    Task.MATH: (200, 600),
    Task.REASONING: (200, 1200),
    Task.AGENT: (1500, 300),
}
_OTHER_LENGTHS = (300, 400)
#: engines that a launch command can be written for; the others are set after names are resolved
_EMITTED = {engine: engine for engine in (Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP)}
#: size of a draft model that the source does not state, as a share of the target (assumed)
_DRAFT_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One setup, ready for the product's own functions."""

    #: the measurement that is asked about; None = asked by hand
    row: MeasuredRow | None
    situation: Situation
    arm: Arm
    batch: float


def why_not(row: MeasuredRow) -> str | None:
    """Return why a row cannot be asked about; None = it can."""
    if not row.is_static:
        return "method is adaptive, lossy or unnamed"
    if row.method is None:
        return "method is not one of the product's"
    if row.total_params is None:
        return "target and its size are not known"
    if re.search(r"encoder|T5", row.target_raw):
        return "target is not a decoder"
    return None


def question_of(row: MeasuredRow, lengths: tuple[int, ...] = ()) -> Question:
    """Return the question for a row's own setting, or for several draft lengths.

    What the source leaves open is assumed as a user would: unknown temperature counts as greedy,
    an unknown batch as 1, an unknown engine as vLLM.
    """
    situation = _situation(_SituationKey.of(row))
    batch = row.batch if row.batch and row.batch > 0 else 1.0
    arm = _arm(row, _plan(row, situation), lengths)
    profile = replace(
        situation.profile, workload=replace(situation.profile.workload, batch=((batch, 1.0),))
    )
    return Question(row=row, situation=replace(situation, profile=profile), arm=arm, batch=batch)


def _arm(row: MeasuredRow, plan: DraftPlan, lengths: tuple[int, ...]) -> Arm:
    if lengths:
        return Arm(plan=plan, lengths=tuple(sorted(set(lengths))))
    assert row.setting is not None  # rows without one are not asked about
    length, numbers = row.setting
    if numbers is None:
        return Arm(plan=plan, lengths=(length,))
    steps, topk, tokens = numbers
    tree = TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)
    return Arm(plan=plan, lengths=(tokens - 1,), trees=(tree,))


@dataclass(frozen=True, slots=True)
class _SituationKey:
    """What a situation depends on besides batch and observations; the row rides along unhashed."""

    identity: tuple[object, ...]
    row: _Unhashed

    @classmethod
    def of(cls, row: MeasuredRow) -> _SituationKey:
        identity = (
            row.target_id,
            row.total_params,
            row.active_params,
            row.gpu_raw,
            row.gpu_id,
            row.gpu_count,
            row.engine,
            row.dtype,
            row.kv_dtype,
            row.tasks,
            row.temperature,
            row.context_tokens,
            layout_of(row, 2),
        )
        return cls(identity, _Unhashed(row))


class _Unhashed:
    """Carries a row through a cache without taking part in the key."""

    def __init__(self, row: MeasuredRow) -> None:
        self.row = row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _situation(key: _SituationKey) -> Situation:
    row = key.row.row
    device, count, _ = device_of(row)
    parallel = layout_of(row, count)
    tasks = row.tasks or _UNKNOWN_TASKS
    lengths = np.array([_LENGTHS.get(task, _OTHER_LENGTHS) for task in tasks])
    prompt, output = (int(value) for value in lengths.mean(axis=0))
    if row.context_tokens is not None:
        prompt, output = max(int(row.context_tokens), 1), 1
    profile = Profile(
        name=row.id,
        target=_target(row),
        hardware=HardwareSpec(
            count=count,
            memory_gb=device.memory_bytes / GIGA,
            bandwidth_tb_s=device.bandwidth_bytes_per_s / GIGA / KILO,
        ),
        parallel=ParallelSpec(tensor=parallel.tensor, pipeline=parallel.pipeline),
        dtype=_dtype(row),
        kv_dtype=row.kv_dtype,
        engine=EngineSpec(name=_EMITTED.get(row.engine, Engine.VLLM)),
        workload=WorkloadSpec(
            task=tuple((task, 1.0 / len(tasks)) for task in tasks),
            temperature=((row.temperature or 0.0, 1.0),),
            prompt_tokens=prompt,
            output_tokens=output,
        ),
    )
    situation = resolve(profile)
    if situation.setup is None:
        return situation
    # A device that only the evidence knows has a kind that numbers in a profile cannot state.
    hardware = Hardware(accelerator=device, count=count, parallel=parallel)
    return replace(
        situation,
        engine=row.engine or Engine.VLLM,
        setup=replace(situation.setup, hardware=hardware, engine=row.engine),
    )


def _target(row: MeasuredRow) -> TargetSpec:
    for name in (row.target_id, row.target_raw):
        if name:
            try:
                return TargetSpec(model_id=find_model(name).model_id)
            except TunerError:
                continue
    total = row.total_params or 8e9
    active = row.active_params or total
    return TargetSpec(
        params_b=total / GIGA, active_params_b=None if active == total else active / GIGA
    )


def _dtype(row: MeasuredRow) -> str | None:
    if row.dtype is None and row.engine is Engine.LLAMACPP:
        return "gguf:Q4_K_M"
    return row.dtype


def _plan(row: MeasuredRow, situation: Situation) -> DraftPlan:
    """The row's drafter as it is stated, else the one that the catalog has for the method."""
    plan = plan_of(row)
    assert plan is not None  # rows without a known method are not asked about
    if plan.kind in (DraftKind.NONE, DraftKind.LOOKUP, DraftKind.WINDOW):
        return replace(plan, drafter=None)
    if plan.drafter is None:
        known = (d for d in situation.drafters if d.method is plan.method)
        drafter = next(known, None) if plan.method is not Method.DRAFT_MODEL else None
        plan = replace(plan, drafter=drafter or Drafter(path_or_id=None, method=plan.method))
    drafter = plan.drafter
    if plan.method is Method.DRAFT_MODEL and drafter is not None and drafter.params is None:
        size = _named_size(row) or _DRAFT_SHARE * (row.active_params or row.total_params or 8e9)
        plan = replace(plan, drafter=replace(drafter, params=size))
    return plan


def _named_size(row: MeasuredRow) -> float | None:
    found = re.search(r"(\d+(?:\.\d+)?)\s*([BM])\b", row.draft_model or "", re.IGNORECASE)
    if not found:
        return None
    return float(found.group(1)) * (GIGA if found.group(2).upper() == "B" else MEGA)


def observed_plain(speed: SpeedRow) -> ObservedRow | None:
    """Return the plain run that stands beside a measurement, where it has a time."""
    row = speed.row
    if speed.is_end_to_end and speed.plain_output_tok_s is None and speed.plain_tpot_s is None:
        return None
    batch = row.batch or 1.0
    if speed.plain_tpot_s is not None:
        return ObservedRow(method=Method.NONE, batch=batch, tpot_ms=speed.plain_tpot_s * KILO)
    if speed.plain_output_tok_s is not None:
        rate = _all_sequences(row, speed.plain_output_tok_s)
        return ObservedRow(method=Method.NONE, batch=batch, output_tok_s=rate)
    return None


def observed_speculative(speed: SpeedRow) -> ObservedRow | None:
    """Return a speculative run as a user would enter it: τ and the best timing there is."""
    row = speed.row
    if row.method is None or row.setting is None:
        return None
    length, tree = row.setting
    tpot_ms = output_tok_s = speedup = None
    has_plain_time = speed.plain_tpot_s is not None or speed.plain_output_tok_s is not None
    if speed.speedup is not None and not has_plain_time:
        speedup = speed.speedup
    elif speed.tpot_s is not None:
        tpot_ms = speed.tpot_s * KILO
    elif speed.output_tok_s is not None:
        output_tok_s = _all_sequences(row, speed.output_tok_s)
    return ObservedRow(
        method=row.method,
        num_speculative_tokens=length,
        tree=tree,
        batch=row.batch or 1.0,
        acceptance_length=_possible(speed.acceptance_length, length),
        tpot_ms=tpot_ms,
        output_tok_s=output_tok_s,
        speedup=speedup,
    )


def _possible(length: float | None, k: int) -> float | None:
    """τ is between 1 and K + 1; a figure outside says that K or τ means something else."""
    return length if length is not None and 1.0 <= length <= k + 1 else None


def _all_sequences(row: MeasuredRow, tokens_per_s: float) -> float:
    if re.search(r"per[- ]user", row.note.lower()) and "aggregate" not in row.note.lower():
        return tokens_per_s * (row.batch or 1.0)
    return tokens_per_s
