"""What is believed about acceptance: the prior, updated by whatever was observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.acceptance.disagreement import covering, widen_disagreeing
from tuner.acceptance.evidence import Measured, add_observation
from tuner.acceptance.level import (
    beyond_training,
    design,
    drafter_key,
    group_of,
    is_lookup,
    recipe_key,
)
from tuner.acceptance.positions import FloatArray, lengths_of, logistic, survival_of
from tuner.acceptance.posterior import (
    COPIED_POSITION_SD,
    POSITION_SD,
    CurvePosterior,
    CurvePrior,
    length_gradient,
    posterior_curve,
    prior_curve,
)
from tuner.acceptance.shape import basis_of, law_at, offset_of, stacked
from tuner.acceptance.temperature import shifts_at, temperature_shifts
from tuner.records.acceptance import (
    AcceptanceBelief,
    AcceptanceObservation,
    AcceptanceQuery,
    TargetClass,
)
from tuner.records.acceptance_prior import AcceptancePrior, PriorCell, ShapeLaw
from tuner.records.methods import Engine, Method, Task, VerifyRule

IntArray = NDArray[np.int64]

#: How far acceptance of one drafter on another task may lie from the prior's expectation of the
#: difference, and the same for another temperature, in logits (fitted: "task of a target").
OTHER_TASK_SD = 0.35
OTHER_TEMPERATURE_SD = 0.15
#: What is said when rows about one setting differ by more than chance.
CONTRADICTION = (
    "observed rows about the same setting contradict each other; the interval is widened. Check "
    "that they come from the same drafter, task and temperature, and say so in their rows."
)


def believe(
    prior: AcceptancePrior,
    query: AcceptanceQuery,
    observed: Sequence[AcceptanceObservation] = (),
    *,
    max_k: int = 16,
) -> AcceptanceBelief:
    """Return the belief about a chain's acceptance for every K up to ``max_k``.

    Parameters
    ----------
    prior
        Fitted tables, ``tuner.catalog.priors.load_acceptance_prior()``.
    query
        Method, target, task, sampling and drafter that are asked about.
    observed
        Measurements of the same method and target. Rows of another method say nothing here and
        are passed over; rows at another task or temperature count with the doubt of the step.
    max_k
        Longest draft wanted, ≥ 1.

    Returns
    -------
    Survival and τ at the centre of the belief, and the standard deviation of ln τ by the delta
    method: the interval exp(ln τ ± 1.28 sd), kept inside [1, K + 1], holds about 80 %.
    """
    measured = _measured(prior, query, observed)
    if not measured:
        return believe_all(prior, [(query, max_k)])[0]
    mean, covariance, known = curve_prior(prior, query)
    striking = widen_disagreeing(measured)
    depth = max([max_k, *(row[0] for row in (*measured.lengths, *measured.rates))])
    law = law_of(prior, query.method)
    start = CurvePrior(
        mean=mean,
        covariance=covariance,
        law=law,
        offset=offset_of(law, query.method, query.task),
        basis=basis_of(query.method, depth),
    )
    found = posterior_curve(start, measured, _position_sd(query.method))
    survival, log_sd = _summary(found, max_k)
    log_sd = covering(log_sd, lengths_of(survival), striking)
    notes = _notes(prior, query, known, max_k, is_measured=True)
    notes = (CONTRADICTION, *notes) if striking.is_any else notes
    return _belief(prior, query, survival, lengths_of(survival), log_sd, "posterior", notes)


def believe_all(
    prior: AcceptancePrior, questions: Sequence[tuple[AcceptanceQuery, int]]
) -> list[AcceptanceBelief]:
    """Return what is believed before anything is observed, for several (query, longest draft).

    As ``believe`` does for one; all curves are computed together.
    """
    if not questions:
        return []
    queries = [query for query, _ in questions]
    longest = max(max_k for _, max_k in questions)
    means, covariances, knowns = curve_priors(prior, queries)
    laws = [law_of(prior, query.method) for query in queries]
    start = CurvePrior(
        mean=means,
        covariance=covariances,
        law=stacked(laws),
        offset=_offsets(laws, queries),
        basis=np.array([basis_of(query.method, longest) for query in queries]),
    )
    position_sd = np.array([_position_sd(query.method) for query in queries])
    survival, log_sd = _summary(prior_curve(start, position_sd[:, None, None]), longest)
    length = lengths_of(survival)
    found = []
    for place, (query, max_k) in enumerate(questions):
        notes = _notes(prior, query, knowns[place], max_k, is_measured=False)
        curve = survival[place, :max_k], length[place, : max_k + 1], log_sd[place, : max_k + 1]
        found.append(_belief(prior, query, *curve, "prior", notes))
    return found


def expected_survival(
    prior: AcceptancePrior,
    questions: Sequence[tuple[AcceptanceQuery, tuple[tuple[float, VerifyRule], ...]]],
    max_k: int,
) -> FloatArray:
    """Return the survival of ``believe`` for each query at (temperature, rule) in turn.

    Before anything is observed, and without the interval, which costs the most. All queries are
    asked at as many temperatures; shape (temperatures, queries, max_k).
    """
    queries = [query for query, _ in questions]
    cold = np.array([level_prior(prior, query)[0] for query in queries])
    level = np.empty((len(questions[0][1]), len(queries)))
    groups: dict[object, list[int]] = {}
    for place, (query, heats) in enumerate(questions):
        groups.setdefault((heats, query.top_p, query.top_k, query.min_p), []).append(place)
    for places in groups.values():
        query, heats = questions[places[0]]
        level[:, places] = cold[places] + shifts_at(cold[places], query, heats).T
    laws = [law_of(prior, query.method) for query in queries]
    mean, _slope = law_at(stacked(laws), level, _offsets(laws, queries))
    numbers = np.concatenate((level[..., None], mean), axis=-1)
    basis = np.array([basis_of(query.method, max_k) for query in queries])
    return survival_of(logistic((basis @ numbers[..., None])[..., 0]))


def _offsets(laws: Sequence[ShapeLaw], queries: Sequence[AcceptanceQuery]) -> FloatArray:
    pairs = zip(laws, queries, strict=True)
    return np.array([offset_of(law, query.method, query.task) for law, query in pairs])


def _belief(
    prior: AcceptancePrior,
    query: AcceptanceQuery,
    survival: FloatArray,
    length: FloatArray,
    log_sd: FloatArray,
    origin: str,
    notes: tuple[str, ...],
) -> AcceptanceBelief:
    cells = _cells(prior)
    cell = cells.get((query.method, query.task)) or cells.get((query.method, None))
    return AcceptanceBelief(
        query=query,
        survival=survival,
        length=length,
        length_log_sd=log_sd,
        coverage=_coverage(query.method, survival),
        origin=origin,
        n_measurements=cell.n_measurements if cell else 0,
        n_sources=cell.n_sources if cell else 0,
        evidence=cell.evidence if cell else (),
        notes=notes,
    )


def _position_sd(method: Method) -> float:
    return COPIED_POSITION_SD if is_lookup(method) else POSITION_SD


def law_of(prior: AcceptancePrior, method: Method) -> ShapeLaw:
    """Return the law of decay and curvature that a method follows."""
    if is_lookup(method):
        return prior.copied_law
    return prior.standalone_law if method is Method.DRAFT_MODEL else prior.drafted_law


def curve_prior(
    prior: AcceptancePrior, query: AcceptanceQuery
) -> tuple[FloatArray, FloatArray, bool]:
    """Return mean (3,) and covariance (3, 3) of (level, decay and curvature deviations).

    The third value says whether the method itself was ever measured.
    """
    means, covariances, knowns = curve_priors(prior, [query])
    return means[0], covariances[0], knowns[0]


def curve_priors(
    prior: AcceptancePrior, queries: Sequence[AcceptanceQuery]
) -> tuple[FloatArray, FloatArray, list[bool]]:
    """Return ``curve_prior`` of several queries."""
    levels = [level_prior(prior, query) for query in queries]
    numbers = np.zeros((len(queries), 3))
    numbers[:, 0] = [level for level, _, _ in levels]
    numbers[:, 0] += temperature_shifts(numbers[:, 0], queries)
    covariance = np.zeros((len(queries), 3, 3))
    covariance[:, 0, 0] = [variance * prior.spread_factor**2 for _, variance, _ in levels]
    covariance[:, 1:, 1:] = [law_of(prior, query.method).covariance for query in queries]
    return numbers, covariance, [known for _, _, known in levels]


def level_prior(prior: AcceptancePrior, query: AcceptanceQuery) -> tuple[float, float, bool]:
    """Return the level at temperature 0 in logits, its variance, and whether it was measured."""
    # what a drafter was trained on covers every shorter context alike
    context_tokens = query.context_tokens if beyond_training(query) > 0.0 else 0.0
    return _level(
        prior, query.method, query.target, query.task, query.drafter, query.draft_params,
        query.max_context, context_tokens, query.engine, query.series, query.data_set,
    )  # fmt: skip


@lru_cache(maxsize=8192)
def _level(
    prior: AcceptancePrior,
    method: Method,
    target: TargetClass,
    task: Task,
    drafter: str | None,
    draft_params: float | None,
    max_context: int | None,
    context_tokens: float,
    engine: Engine | None,
    series: str | None,
    data_set: str | None,
) -> tuple[float, float, bool]:
    query = AcceptanceQuery(
        method=method, target=target, task=task, draft_params=draft_params,
        max_context=max_context, context_tokens=context_tokens, engine=engine,
    )  # fmt: skip
    places, values, unknown = _places(prior, query)
    level = float(values @ prior.coefficients[places])
    variance = float(values @ prior.covariance[places[:, None], places] @ values) + unknown
    for name, table, group in (
        (target.target_id, prior.targets, "target"),
        (drafter_key(drafter, method, target.target_id), prior.drafters, "drafter"),
        (recipe_key(drafter, method), prior.recipes, "recipe"),
        (series, prior.series, "source"),
        (data_set, prior.series, "data"),
        (f"{series}|{data_set}" if series else None, prior.series, "series"),
    ):
        effect = table.get(name) if name else None
        if effect is not None:
            level += effect.mean
            variance += effect.sd**2
        else:
            variance += prior.spread[group] ** 2
    return level, variance + prior.spread["residual"] ** 2, f"method:{method}" in prior.index


def _places(prior: AcceptancePrior, query: AcceptanceQuery) -> tuple[IntArray, FloatArray, float]:
    """Return where a query's terms stand, their values, and the variance of terms not fitted."""
    places, values, unknown = [], [], 0.0
    for name, value in design(query):
        if name in prior.index:
            places.append(prior.index[name])
            values.append(value)
        else:
            unknown += (prior.spread.get(group_of(name), 0.0) * value) ** 2
    return np.array(places, dtype=np.int64), np.array(values), unknown


@lru_cache(maxsize=4)
def _cells(prior: AcceptancePrior) -> dict[tuple[Method, Task | None], PriorCell]:
    return {(cell.method, cell.task): cell for cell in prior.cells}


def _measured(
    prior: AcceptancePrior, query: AcceptanceQuery, observed: Sequence[AcceptanceObservation]
) -> Measured:
    measured = Measured()
    for row in observed:
        if row.method is not query.method:
            continue
        if row.drafter is not None and query.drafter is not None and row.drafter != query.drafter:
            continue
        shift, doubt = _difference(prior, query, row)
        start = len(measured.lengths), len(measured.rates)
        add_observation(
            measured,
            row,
            shift=shift,
            run_log_sd=prior.run_log_sd,
            copied=is_lookup(query.method),
        )
        if doubt:
            _widen(measured, start, doubt)
    return measured


def _difference(
    prior: AcceptancePrior, query: AcceptanceQuery, row: AcceptanceObservation
) -> tuple[float, float]:
    """Return the expected level of a row minus the query's, and the variance of that step."""
    task = query.task if row.task is None else row.task
    temperature = query.temperature if row.temperature is None else row.temperature
    if task is query.task and temperature == query.temperature:
        return 0.0, 0.0
    steps = []
    for rule in _rules_of_row(query, temperature):
        other = replace(query, task=task, temperature=temperature, rule=rule)
        here = float(curve_prior(prior, replace(query, rule=rule))[0][0])
        steps.append(float(curve_prior(prior, other)[0][0]) - here)
    doubt = OTHER_TASK_SD**2 if task is not query.task else 0.0
    doubt += (OTHER_TEMPERATURE_SD * (temperature - query.temperature)) ** 2
    return float(np.mean(steps)), doubt + float(np.var(steps))


def _rules_of_row(query: AcceptanceQuery, temperature: float) -> tuple[VerifyRule, ...]:
    """Return the rules under which a row at another temperature may have been measured.

    A row does not say whether its drafts were sampled: engines by default compare the target's
    sample with the drafter's first choice, and can be told to verify sampled drafts.
    """
    if temperature != query.temperature and query.rule is VerifyRule.RATIO:
        return VerifyRule.RATIO, VerifyRule.EXACT_MATCH
    return (query.rule,)


def _widen(measured: Measured, start: tuple[int, int], doubt: float) -> None:
    """Add the doubt about a level to rows measured elsewhere (∂ ln τ / ∂ level is about 0.3)."""
    for rows, since, factor in (
        (measured.lengths, start[0], 0.09),
        (measured.rates, start[1], 1.0),
    ):
        for place in range(since, len(rows)):
            k, seen, variance, shift = rows[place]
            rows[place] = (k, seen, variance + factor * doubt, shift)


def _summary(found: CurvePosterior, max_k: int) -> tuple[FloatArray, FloatArray]:
    """Return survival at the mode, (…, max_k), and the sd of ln τ for K = 0 … max_k."""
    survival, length, gradient = length_gradient(found.logits[..., :max_k])
    covariance = found.covariance[..., :max_k, :max_k]
    spread = ((gradient @ covariance) * gradient).sum(axis=-1)
    log_sd = np.zeros((*length.shape[:-1], max_k + 1))
    log_sd[..., 1:] = np.sqrt(np.maximum(spread, 0.0)) / length
    return survival, log_sd


def _coverage(method: Method, survival: FloatArray) -> float:
    """Share of steps with a draft: a copy is taken to start as well as it goes on (assumed)."""
    if not is_lookup(method) or len(survival) < 2 or survival[0] <= 0.0:
        return 1.0
    return float(min(1.0, survival[0] / max(survival[1] / survival[0], 1e-6)))


def _notes(
    prior: AcceptancePrior, query: AcceptanceQuery, known: bool, max_k: int, *, is_measured: bool
) -> tuple[str, ...]:
    notes = []
    if not known and not is_measured:
        lender = "n-gram lookup's" if is_lookup(query.method) else "the average of other methods"
        notes.append(
            f"no published measurement of {query.method} was used: the belief is {lender}, with a "
            "wide interval."
        )
    if beyond_training(query) > 0.0 and not is_measured:
        limit = query.max_context or 2048
        notes.append(
            f"the context of {query.context_tokens:.0f} tokens is beyond the {limit} that the "
            "drafter was trained on; such heads lose acceptance fast."
        )
    deepest = prior.deepest_position.get(query.method)
    if deepest is not None and max_k > deepest:
        notes.append(f"K above {deepest} was not measured for {query.method}: extrapolated.")
    return tuple(notes)
