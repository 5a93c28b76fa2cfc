"""Numbers for configurations that the user names; no choice is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tuner.advise.acceptance import arm_acceptances
from tuner.advise.arms import Arm, build_arms
from tuner.advise.evaluate import cost_model
from tuner.advise.explain import (
    STEP_COST,
    assumptions_of,
    context_line,
    several_loads_line,
    title_of,
)
from tuner.advise.feasible import memory_of
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.advise.notes import warnings_of
from tuner.advise.plain import plain_curve
from tuner.advise.points import arm_points, curves_of, load_of
from tuner.advise.predictions import plain_prediction, prediction
from tuner.advise.resolve import resolve
from tuner.advise.shortlist import shortlist
from tuner.advise.situation import Situation
from tuner.engines import TITLES, serves_trees
from tuner.errors import InputError, MissingDataError, Where
from tuner.frozen import dataclass
from tuner.records.config import Prediction, TreeSetting
from tuner.records.decision import Baseline
from tuner.records.methods import Method
from tuner.records.sources import Assumption, Warning_
from tuner.records.workload import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to predict; an empty part means "as the profile" (all methods, K 1–8)."""

    methods: tuple[Method, ...] = ()
    num_speculative_tokens: tuple[int, ...] = ()
    trees: tuple[TreeSetting, ...] = ()
    batches: tuple[float, ...] = ()
    temperatures: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Predictions for one profile, in the order asked."""

    profile: str
    title: str
    context_line: str
    baseline: Baseline
    configs: tuple[Prediction, ...]
    #: the same with plain decoding before each load, to compare with
    beside_plain: tuple[Prediction, ...]
    warnings: tuple[Warning_, ...]
    assumptions: tuple[Assumption, ...]


def predict(profile: Profile, question: Question, knowledge: Knowledge | None = None) -> Answer:
    """Return the prediction of every named configuration at every named batch and temperature.

    Raises
    ------
    MissingDataError
        A named method that this engine does not serve, or that has no drafter for the target.
    InputError
        A tree that this engine does not verify.
    """
    known = knowledge or shipped_knowledge()
    answers = [_at_point(point, question, known) for point in _points(profile, question)]
    first = answers[0]
    if len(answers) == 1:
        return first
    batches = sorted(set(question.batches))
    heats = sorted({config.temperature for answer in answers for config in answer.configs})
    return replace(
        first,
        context_line=several_loads_line(resolve(profile), batches, heats, first.baseline.batch),
        configs=tuple(config for answer in answers for config in answer.configs),
        beside_plain=tuple(config for answer in answers for config in answer.beside_plain),
        warnings=tuple(dict.fromkeys(w for answer in answers for w in answer.warnings)),
        assumptions=_shared(answers),
    )


def _shared(answers: Sequence[Answer]) -> tuple[Assumption, ...]:
    """What all loads rest on; the step cost is said once, for the first: its width is alike."""
    first = answers[0].assumptions
    every = dict.fromkeys((*first, *(item for answer in answers for item in answer.assumptions)))
    return tuple(item for item in every if item in first or item.what != STEP_COST)


def _points(profile: Profile, question: Question) -> Iterator[Profile]:
    """The profile at every batch and temperature asked for."""
    workload = profile.workload
    for batch in question.batches or (None,):
        for temperature in question.temperatures or (None,):
            changed = workload
            if batch is not None:
                changed = replace(
                    changed, batch=((batch, 1.0),), concurrency=None, request_rate=None
                )
            if temperature is not None:
                changed = replace(changed, temperature=((temperature, 1.0),))
            yield replace(profile, workload=changed)


def _at_point(profile: Profile, question: Question, known: Knowledge) -> Answer:
    situation = resolve(_with_limits(profile, question))
    arms, left_out = build_arms(situation)
    _require_trees(situation, question, arms)
    arms = tuple(shaped for arm in arms for shaped in _as_asked(situation, arm, question))
    _require_methods(profile, question, arms, left_out)
    acceptances = arm_acceptances(situation, known, arms)
    believed, alike = shortlist(situation, list(zip(arms, acceptances, strict=True)))
    model = cost_model(situation, known, believed)
    load = load_of(situation, model)
    curves = curves_of(situation, model, believed, load)
    plain = plain_curve(situation, model, curves, load)
    memory = [memory_of(situation, arm, load) for arm, _acceptance in believed]
    points = arm_points(situation, model, believed, curves, load, memory)
    configs = [
        prediction(situation, load, point, index)
        for point in points
        for index in range(len(point.arm.lengths))
    ]
    bare = plain_prediction(situation, load, plain.baseline, plain.max_batch, queues=plain.queues)
    drafting = tuple(configs)
    if not question.methods or Method.NONE in question.methods:
        configs.insert(0, bare)
    return Answer(
        profile=profile.name,
        title=title_of(situation),
        context_line=context_line(situation, plain.baseline.batch),
        baseline=plain.baseline,
        configs=tuple(configs),
        beside_plain=(bare, *drafting),
        warnings=(
            *warnings_of(
                situation, points, configs[-1] if points else None, configs, load, plain, left_out
            ),
            *alike,
        ),
        assumptions=assumptions_of(situation, points, model, known, points),
    )


def _with_limits(profile: Profile, question: Question) -> Profile:
    limits = profile.candidates
    methods = tuple(method for method in question.methods if method is not Method.NONE)
    return replace(
        profile,
        candidates=replace(
            limits,
            methods=(methods or limits.methods) if question.methods else limits.methods,
            num_speculative_tokens=question.num_speculative_tokens or limits.num_speculative_tokens,
        ),
    )


def _require_trees(situation: Situation, question: Question, arms: Sequence[Arm]) -> None:
    """Raise where a tree is asked of methods whose drafts the engine verifies as chains only."""
    wide = [tree for tree in question.trees if tree.topk > 1]
    methods = question.methods or tuple(dict.fromkeys(arm.method for arm in arms))
    chained = [method for method in methods if not serves_trees(situation.engine, method)]
    if not wide or not chained or (not question.methods and len(chained) < len(methods)):
        return
    raise InputError(
        f"--tree {wide[0]}: {TITLES[situation.engine]} {situation.engine_version} verifies chains "
        f"only of {', '.join(chained)}, no tree of width {wide[0].topk}. Ask for --k, for "
        "a tree with topk 1, or for EAGLE heads with --engine sglang."
    )


def _as_asked(situation: Situation, arm: Arm, question: Question) -> Iterator[Arm]:
    """The arm with the chains and trees that were named; its own where nothing was."""
    if not arm.trees and (question.num_speculative_tokens or not question.trees):
        yield arm
    has_trees = serves_trees(situation.engine, arm.method)
    trees = tuple(tree for tree in question.trees if has_trees or tree.topk == 1)
    if trees and arm.plan.drafter is not None:
        lengths = tuple(tree.draft_tokens - 1 for tree in trees)
        yield replace(arm, lengths=lengths, trees=trees)
    elif arm.trees and not question.num_speculative_tokens:
        yield arm


def _require_methods(
    profile: Profile, question: Question, arms: tuple[Arm, ...], left_out: tuple[Warning_, ...]
) -> None:
    present = {arm.method for arm in arms} | {Method.NONE}
    missing = [method for method in question.methods if method not in present]
    if missing:
        why = "; ".join(warning.message for warning in left_out)
        raise MissingDataError(
            f"{missing[0]}: no drafter of this method is known for the target"
            + (f" ({why})" if why else "")
            + ". Name one under drafter in the profile, or give overrides.",
            where=Where(file=profile.path, key="target"),
        )
