"""What the profile's observed rows say about time, in the cost model's words."""

from __future__ import annotations

import numpy as np

from tuner.advise.arms import Arm
from tuner.advise.disagreeing import TimedRow, widen_disagreeing
from tuner.advise.situation import Situation
from tuner.catalog import find_accelerator
from tuner.cost.model import learn
from tuner.errors import MissingDataError
from tuner.records.cost import CostObservation, CostSetup
from tuner.records.cost_prior import CostPrior
from tuner.records.methods import Method
from tuner.records.model import Drafter
from tuner.records.workload import ObservedRow
from tuner.units import MILLI

#: Typical error of a predicted step ratio in its stated spreads, which also cover rare faults of
#: implementations: median |z| ÷ .6745 = .71 over 622 measured rows whose source was left out.
TYPICAL_SPREAD = 0.7


def same_hardware(row: ObservedRow, situation: Situation) -> bool:
    """Rows from other hardware, engine or dtype inform acceptance, not step time."""
    return elsewhere(row, situation) is None


def elsewhere(row: ObservedRow, situation: Situation) -> str | None:
    """Return what a row was measured on that is not the profile's; None where nothing differs."""
    profile, setup = situation.profile, situation.setup
    spec = profile.hardware
    gpu, count = (spec.gpu, spec.count) if spec else (None, None)
    dtype = profile.dtype
    if setup is not None:
        gpu, count = setup.hardware.accelerator.name, setup.hardware.count
        dtype = setup.dtype
    checks = (
        ("hardware", "gpu ", _device_name(row.gpu), _device_name(gpu)),
        ("hardware", "gpu_count ", row.gpu_count, count),
        ("engine", "", row.engine, situation.engine),
        ("dtype", "", row.dtype, dtype),
    )
    for what, key, seen, own in checks:
        if seen is not None and seen != own:
            return f"other {what} ({key}{seen}, here {own or 'not known'})"
    return None


def _device_name(name: str | None) -> str | None:
    """A device's name in the catalog, by whichever alias it is called."""
    try:
        return None if name is None else find_accelerator(name).name
    except MissingDataError:
        return name


def is_timed(row: ObservedRow) -> bool:
    """Whether a row states a time, a rate or a ratio of times."""
    stated = row.tpot_ms, row.output_tok_s, row.step_ms, row.speedup
    return any(value is not None for value in stated)


def mean_batch(situation: Situation) -> float:
    """Return one batch that stands for the profile: the mean over decode time."""
    workload = situation.profile.workload
    if workload.batch is not None:
        return sum(value * share for value, share in workload.batch)
    return workload.concurrency or 1.0


def drafted(row: ObservedRow) -> int:
    """Return K of an observed row; for a tree its depth."""
    if row.num_speculative_tokens is not None:
        return row.num_speculative_tokens
    if row.tree is not None:
        return row.tree[0]
    if row.acceptance_per_position is not None:
        return len(row.acceptance_per_position)
    if row.counts is not None and row.counts.accepted_per_position:
        return len(row.counts.accepted_per_position)
    if row.counts is not None and row.counts.num_drafts:
        return round(row.counts.num_draft_tokens / row.counts.num_drafts)
    return 0


def counted_length(row: ObservedRow) -> float | None:
    """Return τ of a row where tokens were counted; None where the row gives times alone."""
    if row.method is Method.NONE:
        return 1.0
    if row.acceptance_length is not None:
        return row.acceptance_length
    if row.acceptance_per_position is not None and not lacks_depths(row):
        return 1.0 + sum(row.acceptance_per_position)
    if row.counts is not None and row.counts.num_drafts:
        return 1.0 + row.counts.num_accepted_tokens / row.counts.num_drafts
    return None


def lacks_depths(row: ObservedRow) -> bool:
    """Whether a tree lists the survival of some depths only, which leaves τ open."""
    survival = row.acceptance_per_position
    return row.tree is not None and survival is not None and len(survival) < row.tree[0]


def cost_observation(
    row: ObservedRow,
    situation: Situation,
    *,
    acceptance_length: float | None,
    drafter: Drafter | None,
    coverage: float = 1.0,
) -> CostObservation | None:
    """Return a row as the cost model reads it; None when it states no time, or of no known K.

    ``coverage`` is the share of steps that had a draft: a lookup verifies 1 + coverage × K tokens
    in the mean.
    """
    if not is_timed(row):
        return None
    batch = row.batch if row.batch is not None else mean_batch(situation)
    tpot_s = None if row.tpot_ms is None else row.tpot_ms * MILLI
    if tpot_s is None and row.output_tok_s is not None:
        tpot_s = batch / row.output_tok_s
    step_s = None if row.step_ms is None else row.step_ms * MILLI
    context = row.context_tokens or situation.context_tokens
    source = row.source or "observed"
    if row.method is Method.NONE:
        return CostObservation(
            method=row.method,
            batch=batch,
            context_tokens=context,
            step_s=step_s if step_s is not None else tpot_s,
            source=source,
        )
    steps = drafted(row)
    if steps == 0:
        return None
    return CostObservation(
        method=row.method,
        batch=batch,
        num_speculative_tokens=steps,
        draft_steps=steps,
        verify_tokens=row.tree[2] if row.tree else 1.0 + coverage * steps,
        context_tokens=context,
        step_s=step_s,
        tpot_s=tpot_s,
        acceptance_length=acceptance_length,
        speedup=row.speedup,
        drafter=drafter,
        source=source,
    )


def implied_length(
    prior: CostPrior,
    setup: CostSetup,
    situation: Situation,
    arm: Arm,
    row: ObservedRow,
    *,
    coverage: float = 1.0,
) -> tuple[float, float] | None:
    """Return τ that a timed row without counts implies, and the standard deviation of ln τ.

    A speed is τ over step time. Where only the speed was measured, the predicted step (after all
    rows whose τ is known) turns it into a τ as uncertain as that prediction. The cost model then
    sees the row with the updated τ, so that acceptance and cost share a surprise by how unsure
    each was. Here the step counts as typically unsure: at its stated spread most of what a text
    does would be taken for a fault of the machine, and kept at other draft lengths.
    """
    observation = cost_observation(
        row, situation, acceptance_length=None, drafter=arm.plan.drafter, coverage=coverage
    )
    if observation is None or observation.step_s is not None or not observation.draft_steps:
        return None
    others = tuple(
        TimedRow(place=place, seen=seen, tree=other.tree)
        for place, other in enumerate(situation.profile.observed)
        if same_hardware(other, situation)
        and (length := counted_length(other)) is not None
        and (
            seen := cost_observation(
                other,
                situation,
                acceptance_length=length,
                drafter=arm.plan.drafter,
                coverage=coverage,
            )
        )
        is not None
    )
    known, _ = widen_disagreeing(others, prior.measurement_noise)
    times = learn(prior, setup, known, allows_faults=False).step(
        arm.plan,
        batch=observation.batch,
        draft_steps=observation.draft_steps,
        verify_tokens=observation.verify_tokens,
        context_tokens=observation.context_tokens or situation.context_tokens,
    )
    ratio = float((times.draft_s + times.verify_s + times.overhead_s) / times.baseline_s)
    spread = TYPICAL_SPREAD * float(times.ratio_log_sd)
    if observation.speedup is not None:
        return observation.speedup * ratio, spread
    if observation.tpot_s is None:
        return None
    length = ratio * float(times.baseline_s) / observation.tpot_s
    return length, float(np.hypot(spread, TYPICAL_SPREAD * times.baseline_log_sd))
