"""One profile over batch, temperature or draft length: what is best at each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.advise.explain import title_of
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.advise.predictions import plain_prediction
from tuner.advise.recommend import Evaluation, evaluate_profile, rank
from tuner.errors import InfeasibleError
from tuner.optimize.choice import decide
from tuner.records.decision import State
from tuner.records.sweep import ProfileSweep, SweepAxis, SweepPoint
from tuner.records.workload import Profile


def sweep_profile(
    profile: Profile,
    axis: SweepAxis,
    values: Sequence[float],
    knowledge: Knowledge | None = None,
) -> ProfileSweep:
    """Return the best configuration at every value of the axis, all else as in the profile.

    Batches that do not fit in memory end the sweep.

    Raises
    ------
    InfeasibleError
        The profile does not fit at the first value.
    """
    known = knowledge or shipped_knowledge()
    points: list[SweepPoint] = []
    title = profile.name
    for value in sorted(values):
        try:
            found = evaluate_profile(_changed(profile, axis, value), known)
        except InfeasibleError:
            if not points:
                raise
            break
        title = title_of(found.situation)
        points.append(_point(found, value))
    return ProfileSweep(profile=profile.name, title=title, axis=axis, points=tuple(points))


def _changed(profile: Profile, axis: SweepAxis, value: float) -> Profile:
    workload = profile.workload
    if axis is SweepAxis.DRAFT_TOKENS:
        limits = replace(profile.candidates, num_speculative_tokens=(round(value),))
        return replace(profile, candidates=limits)
    if axis is SweepAxis.BATCH:
        changed = replace(workload, batch=((value, 1.0),), concurrency=None, request_rate=None)
    else:
        changed = replace(workload, temperature=((value, 1.0),))
    return replace(profile, workload=changed)


def _point(found: Evaluation, value: float) -> SweepPoint:
    _ranked, configs = rank(found)
    baseline = found.plain.baseline
    if not configs:
        best = plain_prediction(found.situation, found.load, baseline, found.plain.max_batch)
        return SweepPoint(value=value, best=best, plain_tpot_s=baseline.tpot_s, state=State.OFF)
    best = configs[0]
    state = (
        State.OFF if best.fits_memory is False else decide(best.speedup.mean, best.speedup_log_sd)
    )
    return SweepPoint(value=value, best=best, plain_tpot_s=baseline.tpot_s, state=state)
