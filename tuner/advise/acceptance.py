"""Acceptance of an arm for the profile's mix of tasks and temperatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.acceptance.belief import believe, believe_all, expected_survival
from tuner.acceptance.positions import conditional_of, lengths_of
from tuner.advise.arms import Arm, override_for
from tuner.advise.knowledge import Knowledge
from tuner.advise.observed_trees import observed_factors
from tuner.advise.queries import observations_of, query_of
from tuner.advise.situation import Situation
from tuner.advise.trees import tree_curves
from tuner.advise.verify_rules import belief_rule, verify_rule
from tuner.frozen import dataclass
from tuner.records.acceptance import (
    AcceptanceBelief,
    AcceptanceObservation,
    AcceptanceQuery,
)
from tuner.records.methods import Task, VerifyRule
from tuner.speedup import expected_tokens

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmAcceptance:
    """τ of each of an arm's settings for a mix, with the beliefs that it was mixed from."""

    #: effective τ, shape (settings,)
    acceptance_length: FloatArray
    #: standard deviation of ln τ, shape (settings,)
    log_sd: FloatArray
    #: τ when the deepest positions are cut off, shape (settings, depth + 1); column 0 is 1
    curves: FloatArray
    #: (task, temperature, share, belief)
    parts: tuple[tuple[Task, float, float, AcceptanceBelief], ...]
    rule: VerifyRule

    def per_position(self, index: int) -> tuple[float, ...]:
        """Survival by position (a tree: by depth) that gives exactly the mixed τ."""
        curve = self.curves[index]
        steps = curve[1:] - curve[:-1]
        longer = np.flatnonzero(steps > 0.0)
        return tuple(steps[: longer[-1] + 1].tolist()) if longer.size else ()

    @property
    def coverage(self) -> float:
        """Share of steps that have a draft; below 1 for lookups only."""
        return sum(share * belief.coverage for _, _, share, belief in self.parts)

    @property
    def origin(self) -> str:
        """Where the belief comes from: overrides beat observed rows, which beat priors."""
        origins = {belief.origin for *_, belief in self.parts}
        return next((name for name in ("override", "posterior") if name in origins), "prior")


def arm_acceptance(situation: Situation, knowledge: Knowledge, arm: Arm) -> ArmAcceptance:
    """Return the acceptance of one arm (see ``arm_acceptances``)."""
    return arm_acceptances(situation, knowledge, (arm,))[0]


def arm_acceptances(
    situation: Situation, knowledge: Knowledge, arms: Sequence[Arm]
) -> tuple[ArmAcceptance, ...]:
    """Return the acceptance of arms, mixed over tasks and temperatures.

    Shares are shares of output tokens, so the mean that keeps time per token is the harmonic one:
    1/τ = Σ share / τ_i (sequences of one batch share the step).
    """
    workload = situation.profile.workload
    return _mixed_all(
        tuple(_question(situation, arm, workload.temperature) for arm in arms),
        tuple(_believer(situation, knowledge, arm) for arm in arms),
        tuple(verify_rule(situation, arm) for arm in arms),
    )


def lengths_over_temperature(
    situation: Situation,
    knowledge: Knowledge,
    arms: Sequence[Arm],
    temperatures: tuple[float, ...],
) -> tuple[FloatArray, ...]:
    """Return τ of each setting of each arm at each temperature, shape (settings, temperatures).

    Tasks are mixed as in ``arm_acceptances``; the profile's own temperatures do not count.
    """
    heats = tuple((heat, 1.0) for heat in temperatures)
    return _over_temperature(
        tuple(_question(situation, arm, heats) for arm in arms),
        tuple(_believer(situation, knowledge, arm) for arm in arms),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked of an arm: one query for each task and temperature, with shares."""

    arm: Arm
    #: for the first task, at temperature 0
    query: AcceptanceQuery
    tasks: tuple[tuple[Task, float], ...]
    temperatures: tuple[tuple[float, float], ...]
    #: verify rule at each temperature
    rules: tuple[VerifyRule, ...]

    @property
    def heats(self) -> tuple[tuple[float, VerifyRule], ...]:
        """Temperatures with their rules."""
        heats = zip(self.temperatures, self.rules, strict=True)
        return tuple((heat, rule) for (heat, _share), rule in heats)

    @property
    def by_task(self) -> list[AcceptanceQuery]:
        """The query of each task, at temperature 0."""
        return [replace(self.query, task=task) for task, _share in self.tasks]

    @property
    def queries(self) -> list[AcceptanceQuery]:
        """Every pair of temperature and task, task by task within a temperature."""
        return [
            replace(self.query, task=task, temperature=heat, rule=rule)
            for heat, rule in self.heats
            for task, _share in self.tasks
        ]

    @property
    def shares(self) -> list[float]:
        """Share of output tokens of each query."""
        return [
            task_share * heat_share
            for _heat, heat_share in self.temperatures
            for _task, task_share in self.tasks
        ]


def _question(
    situation: Situation, arm: Arm, temperatures: tuple[tuple[float, float], ...]
) -> _Question:
    return _Question(
        arm=arm,
        query=query_of(situation, arm),
        tasks=situation.profile.workload.task,
        temperatures=temperatures,
        rules=tuple(belief_rule(situation, arm, heat) for heat, _share in temperatures),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Believer:
    """Answers queries about one arm: α by hand, the prior, or the prior with observations."""

    knowledge: Knowledge
    observed: tuple[AcceptanceObservation, ...]
    #: α by hand
    rate: float | None
    max_k: int

    @property
    def asks_prior(self) -> bool:
        """Whether nothing but the prior answers."""
        return self.rate is None and not self.observed

    def __call__(self, query: AcceptanceQuery) -> AcceptanceBelief:
        if self.rate is not None:
            return _constant(query, self.rate, self.max_k)
        return believe(self.knowledge.acceptance, query, self.observed, max_k=self.max_k)


def _believer(situation: Situation, knowledge: Knowledge, arm: Arm) -> _Believer:
    return _Believer(
        knowledge=knowledge,
        observed=observations_of(situation, knowledge, arm),
        rate=override_for(situation.profile.overrides.acceptance_rate, arm.method),
        max_k=int(arm.draft_steps.max()),
    )


@lru_cache(maxsize=1024)
def _mixed_all(
    questions: tuple[_Question, ...],
    believers: tuple[_Believer, ...],
    rules: tuple[VerifyRule, ...],
) -> tuple[ArmAcceptance, ...]:
    """Mix beliefs; profiles that ask the same questions share the answers."""
    queries = [question.queries for question in questions]
    # what the prior alone answers is computed for all arms at once
    asked = [
        (query, believer.max_k)
        for own, believer in zip(queries, believers, strict=True)
        for query in own
        if believer.asks_prior
    ]
    prior = iter(believe_all(believers[0].knowledge.acceptance, asked) if asked else ())
    beliefs = [
        [next(prior) if believer.asks_prior else believer(query) for query in own]
        for believer, own in zip(believers, queries, strict=True)
    ]
    found: dict[int, ArmAcceptance] = {}
    for places in _alike(questions):
        own = [(questions[place], believers[place], beliefs[place]) for place in places]
        mixed = _mixed(own, [rules[place] for place in places])
        found.update(zip(places, mixed, strict=True))
    return tuple(found[place] for place in range(len(questions)))


def _alike(questions: Sequence[_Question]) -> Iterable[list[int]]:
    """Places of arms with the same settings: their arrays have one shape."""
    groups: dict[object, list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault((question.arm.lengths, question.arm.trees), []).append(place)
    return groups.values()


def _mixed(
    several: Sequence[tuple[_Question, _Believer, Sequence[AcceptanceBelief]]],
    rules: Sequence[VerifyRule],
) -> Iterator[ArmAcceptance]:
    """Mix the beliefs of arms that have the same settings."""
    arm, shares = several[0][0].arm, several[0][0].shares
    weights = np.array(shares)[:, None]
    # (arms, parts, settings, depth + 1)
    curves = _curves(arm, np.array([[one.survival for one in own] for *_, own in several]))
    spreads = np.array([[one.length_log_sd for one in own] for *_, own in several])
    spreads = spreads[..., arm.draft_steps]
    if arm.trees:
        trees = [_observed_trees(question, believer) for question, believer, _ in several]
        factors, doubts, runs = (np.array(one)[:, None] for one in zip(*trees, strict=True))
        curves = _multiplied(curves, factors)
        spreads = np.hypot(spreads, doubts)
        if len(shares) == 1:
            spreads = 1.0 / np.hypot(1.0 / spreads, 1.0 / runs)
    inverse = weights / curves[..., -1]
    tau = 1.0 / inverse.sum(axis=1)
    # Tasks and temperatures share the drafter, so their errors are taken to move together.
    log_sd = (inverse * spreads).sum(axis=1) * tau
    mixed = 1.0 / (weights[..., None] / curves).sum(axis=1)
    for place, (_, _, beliefs) in enumerate(several):
        yield ArmAcceptance(
            acceptance_length=tau[place],
            log_sd=log_sd[place],
            curves=mixed[place],
            parts=tuple(
                (belief.query.task, belief.query.temperature, share, belief)
                for belief, share in zip(beliefs, shares, strict=True)
            ),
            rule=rules[place],
        )


@lru_cache(maxsize=1024)
def _over_temperature(
    questions: tuple[_Question, ...], believers: tuple[_Believer, ...]
) -> tuple[FloatArray, ...]:
    # what the prior alone answers is computed for all arms at once
    prior = believers[0].knowledge.acceptance
    asked = [
        (query, question.heats)
        for question, believer in zip(questions, believers, strict=True)
        if believer.asks_prior
        for query in question.by_task
    ]
    deepest = max(believer.max_k for believer in believers)
    together = expected_survival(prior, asked, deepest) if asked else None
    found, start = [], 0
    for question, believer in zip(questions, believers, strict=True):
        if together is not None and believer.asks_prior:
            end = start + len(question.tasks)
            survival, start = together[:, start:end, : believer.max_k], end
        else:
            survival = _survival_by_heat(question, believer)
        curves = _curves(question.arm, survival)
        if question.arm.trees:
            curves = _multiplied(curves, _observed_trees(question, believer)[0])
        shares = np.array([share for _task, share in question.tasks])
        found.append(1.0 / np.einsum("hts,t->sh", 1.0 / curves[..., -1], shares))
    return tuple(found)


def _survival_by_heat(question: _Question, believer: _Believer) -> FloatArray:
    """Survival by temperature and task, shape (temperatures, tasks, positions)."""
    return np.array(
        [
            [
                believer(replace(query, temperature=heat, rule=rule)).survival
                for query in question.by_task
            ]
            for heat, rule in question.heats
        ]
    )


def _curves(arm: Arm, survival: FloatArray) -> FloatArray:
    """τ of each setting when cut off after 0, 1, … positions, shape (…, settings, depth + 1).

    ``survival`` has shape (…, positions).
    """
    if arm.trees:
        return tree_curves(arm.trees, conditional_of(survival))
    length = lengths_of(survival)
    cut = np.minimum(np.arange(length.shape[-1]), np.array(arm.lengths)[:, None])
    curves: FloatArray = length[..., cut]
    return curves


def _observed_trees(
    question: _Question, believer: _Believer
) -> tuple[FloatArray, FloatArray, FloatArray]:
    heat, rule = question.temperatures[0][0], question.rules[0]
    main = replace(question.query, task=question.tasks[0][0], temperature=heat, rule=rule)
    run = believer.knowledge.acceptance.run_log_sd
    return observed_factors(question.arm.trees, main, believer.observed, believer, run)


def _multiplied(curves: FloatArray, factors: FloatArray) -> FloatArray:
    """Multiply the τ of each setting, and what each depth adds to it in proportion.

    ``curves`` has shape (…, settings, depth + 1), ``factors`` (…, settings). No tree gives more
    than its depth and the bonus.
    """
    last = curves[..., -1:]
    gains = np.maximum(last * factors[..., None] - 1.0, 0.0) / np.maximum(last - 1.0, 1e-9)
    most = 1.0 + np.arange(curves.shape[-1])
    return np.clip(1.0 + (curves - 1.0) * gains, 1.0, most)


def _constant(query: AcceptanceQuery, rate: float, max_k: int) -> AcceptanceBelief:
    counts = np.arange(max_k + 1)
    return AcceptanceBelief(
        query=query,
        survival=rate ** counts[1:].astype(np.float64),
        length=expected_tokens(rate, counts),
        length_log_sd=np.zeros(max_k + 1),
        origin="override",
        evidence=("overrides.acceptance_rate",),
    )
