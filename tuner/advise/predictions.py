"""Evaluated arrays → the records that are shown: one prediction for one configuration."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from tuner.advise.evaluate import Evaluated
from tuner.advise.feasible import memory_of
from tuner.advise.latency import (
    chunk_tokens_p99,
    client_beliefs,
    prefill_delta_s,
    request_tpot_s,
)
from tuner.advise.points import ArmPoint, Load
from tuner.advise.situation import Situation
from tuner.records.config import CostParts, Prediction, SpecConfig
from tuner.records.decision import Baseline
from tuner.records.interval import Z90, Interval
from tuner.records.methods import DraftKind, Method, VerifyRule
from tuner.units import SECONDS_PER_HOUR

#: How the acceptance belief says that long drafts are extrapolated.
_BEYOND = re.compile(r"K above (\d+) ")

_PASSLESS = (DraftKind.NONE, DraftKind.LOOKUP)


def prediction(situation: Situation, load: Load, point: ArmPoint, index: int) -> Prediction:
    """Return configuration ``index`` of an arm at the profile's own load."""
    own = point.own
    speedup = float(own.speedup[index])
    spread = float(own.speedup_log_sd[index])
    baseline_s = float(own.baseline_s[index])
    batch = float(own.batch[index])
    known = not np.isnan(baseline_s)
    tpot_s = baseline_s / speedup
    delta_s = prefill_delta_s(situation, point.arm, load) if known else None
    tokens_per_s = batch / tpot_s if known else None
    survival = point.acceptance.per_position(index)
    memory = memory_of(situation, point.arm, load, index)
    half_s, slow_s = request_tpot_s(tpot_s, survival, load.output_tokens) if known else (None, None)
    seen = _believed(point, index, tpot_s)
    tpot = seen.tpot_s if known else None
    usd = _usd(situation, tokens_per_s)
    return Prediction(
        config=_config(point, index),
        batch=batch,
        temperature=mean_temperature(situation),
        acceptance_length=seen.length,
        acceptance_per_position=survival,
        draft_cost_ratio=(
            None if point.arm.plan.kind in _PASSLESS else float(own.draft_pass[index])
        ),
        verify_cost_ratio=float(own.verify[index]),
        step_cost_ratio=float(own.step_ratio[index]),
        step_cost_parts=_parts(own, index),
        tpot_s=tpot,
        speedup=seen.speedup,
        output_tok_s=tokens_per_s,
        chunk_gap_s=seen.gap_s.mean if known else None,
        ttft_delta_s=delta_s,
        e2e_s=_e2e_s(load, tpot_s, delta_s) if known else None,
        usd_per_million_tokens=usd,
        fits_memory=memory.fits if memory else None,
        max_batch=memory.max_batch if memory else None,
        acceptance_source=point.acceptance.origin,
        evidence=_evidence(point),
        notes=_notes(point, int(point.arm.draft_steps[index])),
        speedup_log_sd=spread,
        falls_behind=_falls_behind(load, point, index),
        request_tpot_p50_s=half_s,
        request_tpot_p99_s=slow_s,
        chunk_tokens_p99=chunk_tokens_p99(survival),
        beliefs=client_beliefs(
            load,
            step_ratio=seen.step_ratio,
            tpot_s=tpot,
            gap_s=seen.gap_s,
            slow_s=slow_s,
            delta_s=delta_s,
            tokens_per_s=tokens_per_s,
            usd_per_million=usd,
            falls_behind=_falls_behind(load, point, index),
        ),
    )


def _falls_behind(load: Load, point: ArmPoint, index: int) -> bool:
    return load.request_rate is not None and bool(point.saturated[index])


class _Believed(NamedTuple):
    """Percentiles that go together; times are NaN for an unknown target."""

    length: Interval
    step_ratio: Interval
    speedup: Interval
    tpot_s: Interval
    #: time of a step, in which acceptance plays no part
    gap_s: Interval


def _believed(point: ArmPoint, index: int, tpot_s: float) -> _Believed:
    own, most = point.own, float(point.arm.draft_steps[index]) + 1.0
    length = Interval.lognormal(
        float(own.acceptance_length[index]),
        float(own.acceptance_log_sd[index]),
        lower=1.0,
        upper=most,
    )
    cost, doubt = float(own.step_ratio[index]), float(own.ratio_log_sd[index])
    ratio, gain = ratio_and_gain(length, cost, doubt, float(own.speedup_log_sd[index]), most)
    plain = float(own.baseline_log_sd[index])
    step_s = cost * float(own.baseline_s[index])
    return _Believed(
        length=length,
        step_ratio=ratio,
        speedup=gain,
        tpot_s=_of_plain(tpot_s, plain, gain.mean / gain.p90, gain.mean / gain.p10),
        gap_s=_of_plain(step_s, plain, ratio.p10 / ratio.mean, ratio.p90 / ratio.mean),
    )


def ratio_and_gain(
    tau: Interval, ratio: float, ratio_log_sd: float, gain_log_sd: float, most: float
) -> tuple[Interval, Interval]:
    """Return the beliefs about step cost ratio and speedup, without what cannot be.

    A step is no cheaper than a plain one, unless rows say that it is, and emits 1 to ``most``
    tokens. So the speedup lies between 1 ÷ ratio and ``most`` ÷ ratio, and below τ; percentiles
    keep the order of what they are percentiles of.
    """
    cost = Interval.lognormal(ratio, ratio_log_sd, lower=1.0)
    gain = Interval.lognormal(
        tau.mean / ratio,
        gain_log_sd,
        lower=1.0 / cost.p90,
        upper=min(most / cost.p10, tau.p90 / min(ratio, 1.0)),
    )
    return cost, gain


def _of_plain(value_s: float, plain_log_sd: float, fastest: float, slowest: float) -> Interval:
    """Return the belief about a time that is a factor times the plain step.

    ``fastest`` and ``slowest`` are the ends of the factor over its centre. Errors of the plain step
    and of the factor are independent.
    """
    plain = Z90 * plain_log_sd
    return Interval(
        mean=value_s,
        p10=value_s * math.exp(-math.hypot(plain, math.log(fastest))),
        p90=value_s * math.exp(math.hypot(plain, math.log(slowest))),
    )


def _config(point: ArmPoint, index: int) -> SpecConfig:
    trees = point.arm.trees
    return SpecConfig(
        method=point.arm.method,
        drafter=point.arm.plan.drafter,
        num_speculative_tokens=point.arm.lengths[index],
        tree=trees[index] if trees else None,
        verify_rule=point.acceptance.rule,
    )


def _parts(own: Evaluated, index: int) -> CostParts:
    return CostParts(
        draft=float(own.draft[index]),
        verify=float(own.verify[index]),
        overhead=float(own.overhead[index]),
    )


def _notes(point: ArmPoint, draft_steps: int) -> tuple[str, ...]:
    """What qualifies this setting; a word about longer drafts than its own does not."""
    found = (note for *_, belief in point.acceptance.parts for note in belief.notes)
    return tuple(
        note for note in (*dict.fromkeys(found), *point.own.notes) if _concerns(note, draft_steps)
    )


def _concerns(note: str, draft_steps: int) -> bool:
    limit = _BEYOND.match(note)
    return limit is None or draft_steps > int(limit[1])


def plain_prediction(
    situation: Situation,
    load: Load,
    baseline: Baseline,
    max_batch: int | None,
    *,
    queues: bool = False,
) -> Prediction:
    """Return plain decoding as a configuration among the others."""
    tpot_s = baseline.tpot_s.mean if baseline.tpot_s else None
    return Prediction(
        config=SpecConfig(method=Method.NONE, verify_rule=VerifyRule.GREEDY),
        batch=baseline.batch,
        temperature=mean_temperature(situation),
        acceptance_length=Interval.exact(1.0),
        acceptance_per_position=(),
        draft_cost_ratio=None,
        verify_cost_ratio=1.0,
        step_cost_ratio=1.0,
        step_cost_parts=CostParts(draft=0.0, verify=1.0, overhead=0.0),
        tpot_s=baseline.tpot_s,
        speedup=Interval.exact(1.0),
        output_tok_s=baseline.output_tok_s,
        chunk_gap_s=tpot_s,
        ttft_delta_s=0.0 if tpot_s is not None else None,
        e2e_s=_e2e_s(load, tpot_s, 0.0) if tpot_s is not None else None,
        usd_per_million_tokens=_usd(situation, baseline.output_tok_s),
        fits_memory=None if max_batch is None else baseline.batch <= max_batch,
        max_batch=max_batch,
        acceptance_source="exact",
        falls_behind=load.request_rate is not None and queues,
        request_tpot_p50_s=tpot_s,
        request_tpot_p99_s=tpot_s,
        chunk_tokens_p99=1,
        beliefs=client_beliefs(
            load,
            step_ratio=Interval.exact(1.0),
            tpot_s=baseline.tpot_s,
            gap_s=baseline.tpot_s,
            slow_s=tpot_s,
            delta_s=0.0,
            tokens_per_s=baseline.output_tok_s,
            usd_per_million=_usd(situation, baseline.output_tok_s),
            falls_behind=queues,
        ),
    )


def mean_temperature(situation: Situation) -> float:
    """Return the mean temperature over output tokens."""
    return sum(value * share for value, share in situation.profile.workload.temperature)


def _e2e_s(load: Load, tpot_s: float, delta_s: float | None) -> float:
    """Prefill, then every output token after the first; queueing is not included."""
    return load.prefill_s + (delta_s or 0.0) + max(load.output_tokens - 1.0, 0.0) * tpot_s


def _usd(situation: Situation, tokens_per_s: float | None) -> float | None:
    price = situation.profile.gpu_hour_usd
    if price is None or tokens_per_s is None or situation.setup is None:
        return None
    per_s = price * situation.setup.hardware.count / SECONDS_PER_HOUR
    return per_s / tokens_per_s * 1e6


def _evidence(point: ArmPoint) -> tuple[str, ...]:
    found = (item for *_, belief in point.acceptance.parts for item in belief.evidence)
    return tuple(dict.fromkeys((*found, *point.own.evidence)))
