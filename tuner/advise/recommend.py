"""The main path: a profile in, a recommendation out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.advise.acceptance import arm_acceptances
from tuner.advise.arms import build_arms
from tuner.advise.capacity import TpotCurve, fastest_curve, latency_check
from tuner.advise.commands import commands_of
from tuner.advise.evaluate import cost_model
from tuner.advise.explain import (
    assumptions_of,
    context_line,
    decision_margin,
    decision_of,
    flatness_of,
    title_of,
)
from tuner.advise.feasible import memory_of, require_plain_fits
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.advise.latency import request_gain, request_targets
from tuner.advise.limits import left_out_by_limits, limited
from tuner.advise.measure import next_measurement
from tuner.advise.notes import lacks_drafter, lost_prefix_cache, warnings_of
from tuner.advise.plain import PlainCurve, plain_curve, queues
from tuner.advise.points import ArmPoint, Load, arm_points, curves_of, load_of, prefill_s
from tuner.advise.predictions import plain_prediction, prediction
from tuner.advise.resolve import resolve
from tuner.advise.schedule import build_schedule
from tuner.advise.shortlist import shortlist
from tuner.advise.situation import Situation
from tuner.advise.training import train_or_not
from tuner.cost.model import CostModel
from tuner.frozen import dataclass
from tuner.optimize.choice import TIE_TOLERANCE, shortest_within
from tuner.records.config import Prediction
from tuner.records.decision import Decision, LatencyCheck, Recommendation, State
from tuner.records.methods import Objective
from tuner.records.sources import Warning_
from tuner.records.workload import Profile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """Everything computed about a profile before anything is chosen."""

    situation: Situation
    model: CostModel | None
    load: Load
    plain: PlainCurve
    points: tuple[ArmPoint, ...]
    #: methods that the engine does not serve
    left_out: tuple[Warning_, ...]
    #: drafters that nothing tells apart
    alike: tuple[Warning_, ...]


def recommend(profile: Profile, knowledge: Knowledge | None = None) -> Recommendation:
    """Return what to run for a profile, how much it helps, and what that rests on.

    Raises
    ------
    MissingDataError
        A name or version that is not known.
    InfeasibleError
        The target alone does not fit.
    """
    known = knowledge or shipped_knowledge()
    found = evaluate_profile(profile, known)
    ranked, configs = rank(found)
    best = configs[0] if configs else None
    schedule = build_schedule(found.situation, known, ranked, best)
    decision = decision_for(found, ranked, configs)
    plain = _plain_of(found)
    commands = commands_of(found.situation, decision.state, best, schedule, found.plain)
    return Recommendation(
        profile=profile.name,
        title=title_of(found.situation),
        context_line=context_line(found.situation, found.plain.baseline.batch),
        decision=decision,
        baseline=found.plain.baseline,
        configs=_insert_plain(configs, plain, objective_of(found)),
        schedule=schedule,
        commands=commands.launch,
        plain_request=commands.plain_request,
        warnings=(
            *warnings_of(
                found.situation,
                found.points,
                best,
                configs,
                found.load,
                found.plain,
                found.left_out,
            ),
            *_more_warnings(found, known, best, decision.state),
        ),
        assumptions=(
            *assumptions_of(found.situation, ranked[:1], found.model, known, found.points),
            decision_margin(),
        ),
        next_measurement=next_measurement(
            found.situation, decision.state, ranked[:1], best, commands
        ),
        latency_check=_latency_check(found, ranked, best),
        targets=request_targets(profile.latency_target, plain, best, found.load),
        flatness=flatness_of(ranked[:1], best),
        limited=limited(found.situation),
    )


def decision_for(
    found: Evaluation, ranked: Sequence[ArmPoint], configs: Sequence[Prediction]
) -> Decision:
    """Return the decision about what ``rank`` puts first."""
    best = configs[0] if configs else None
    return decision_of(
        found.situation,
        best,
        request_gain=request_gain(found.load, found.plain.baseline, best),
        is_measured=not ranked or is_measured(ranked[0]),
    )


def evaluate_profile(profile: Profile, knowledge: Knowledge) -> Evaluation:
    """Resolve a profile and evaluate every arm over all draft lengths and loads."""
    situation = resolve(profile)
    arms, left_out = build_arms(situation)
    acceptances = arm_acceptances(situation, knowledge, arms)
    believed, alike = shortlist(situation, list(zip(arms, acceptances, strict=True)))
    model = cost_model(situation, knowledge, believed)
    load = load_of(situation, model)
    curves = curves_of(situation, model, believed, load)
    plain = plain_curve(situation, model, curves, load)
    require_plain_fits(situation, plain, load)
    memory = [memory_of(situation, arm, load) for arm, _acceptance in believed]
    points = arm_points(situation, model, believed, curves, load, memory)
    return Evaluation(
        situation=situation,
        model=model,
        load=load,
        plain=plain,
        points=points,
        left_out=left_out,
        alike=alike,
    )


def _plain_of(found: Evaluation) -> Prediction:
    plain = found.plain
    return plain_prediction(
        found.situation, found.load, plain.baseline, plain.max_batch, queues=plain.queues
    )


def _latency_check(
    found: Evaluation, ranked: Sequence[ArmPoint], best: Prediction | None
) -> LatencyCheck | None:
    plain = found.plain
    limit_ms = found.situation.profile.latency_target.tpot_ms
    if limit_ms is None:
        return None
    bare = TpotCurve(
        tpot_s=plain.baseline_s,
        plain_log_sd=plain.baseline_log_sd,
        speedup_log_sd=np.zeros_like(plain.baseline_s),
        max_batch=plain.max_batch,
    )
    if not ranked or best is None:
        return latency_check(limit_ms, bare, bare)
    return latency_check(limit_ms, bare, fastest_curve(ranked[0], best.max_batch))


def is_measured(point: ArmPoint) -> bool:
    """Whether anything was published or observed about the method of an arm."""
    beliefs = [belief for *_, belief in point.acceptance.parts]
    return any(belief.n_measurements > 0 or belief.origin != "prior" for belief in beliefs)


def rank(found: Evaluation) -> tuple[tuple[ArmPoint, ...], tuple[Prediction, ...]]:
    """Return arms best first, and their configurations best first (smaller K in a tie)."""
    objective = objective_of(found)
    chosen = []
    for point in found.points:
        speed = _merit(point, objective)
        if found.load.request_rate is not None and not point.saturated.all():
            speed = np.where(point.saturated, 0.0, speed)
        # α and c by hand leave no noise for a tie to hide in.
        is_exact = not point.own.speedup_log_sd.any()
        index = shortest_within(speed, 0.0 if is_exact else TIE_TOLERANCE)
        keeps_up = found.load.request_rate is None or not point.saturated[index]
        chosen.append((point.fits and keeps_up, float(speed[index]), index, point))
    chosen.sort(key=lambda item: (not item[0], -item[1]))
    configs = []
    for position, (_fits, _speed, index, point) in enumerate(chosen):
        # The best arm also shows its next shorter draft, so that a reader sees how flat it is.
        shown = [index, index - 1] if position == 0 and index > 0 else [index]
        configs += [prediction(found.situation, found.load, point, item) for item in shown]
    configs.sort(key=lambda item: sort_key(item, objective))
    return tuple(point for *_, point in chosen), tuple(configs)


def objective_of(found: Evaluation) -> Objective:
    """Return what configurations are compared by.

    Where more requests are in flight than fit, those that wait outweigh the speed of those that
    run: by Little's law the one with the highest throughput also answers soonest. Arrivals that
    are kept up with fix tokens a second, and so the cost of a token: what differs is its time.
    """
    if queues(found.load, found.plain, found.points):
        return Objective.THROUGHPUT
    is_fixed = found.load.request_rate is not None
    return Objective.LATENCY if is_fixed else found.situation.profile.objective


def _merit(
    point: ArmPoint, objective: Objective
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """What an arm's draft lengths are compared by: speed, or tokens a second of the server."""
    own = point.own
    if np.isnan(own.baseline_s).any():
        return own.speedup
    speed = 1.0 / own.tpot_s
    return speed if objective is Objective.LATENCY else own.batch * speed


def sort_key(item: Prediction, objective: Objective) -> tuple[bool, bool, float]:
    """Return what configurations are ordered by, least first: fitting, keeping up, fast."""
    if item.tpot_s is None or item.output_tok_s is None:
        merit = -item.speedup.mean
    else:
        merit = item.tpot_s.mean if objective is Objective.LATENCY else -item.output_tok_s
    return item.fits_memory is False, item.falls_behind, merit


def _more_warnings(
    found: Evaluation, known: Knowledge, best: Prediction | None, state: State
) -> list[Warning_]:
    """Warnings that need more than the predictions: other drafters, training, a lost cache."""
    more = [
        alike
        for alike in found.alike
        if alike.code == "method-unmeasured" or (best and _is_about(alike, best))
    ]
    if state is not State.ON:
        more += left_out_by_limits(found.situation, found.points)
    if lacks_drafter(found.situation, found.points):
        training = train_or_not(found.situation, found.model, known, found.load)
        more += [training] if training else []
    if best is not None and found.model is not None:
        prompt = found.situation.profile.workload.prompt_tokens
        cold_s = prefill_s(found.model, prompt)
        more += lost_prefix_cache(found.situation, best, found.load, cold_s)
    return more


def _is_about(warning: Warning_, best: Prediction) -> bool:
    return f" {best.config.method} " in warning.message


def _insert_plain(
    configs: Sequence[Prediction], plain: Prediction, objective: Objective
) -> tuple[Prediction, ...]:
    """Plain decoding takes its place in the order, not the last one by rule."""
    items = [*configs, plain]
    items.sort(key=lambda item: sort_key(item, objective))
    return tuple(items)
