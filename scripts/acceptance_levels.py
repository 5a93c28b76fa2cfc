"""The level of acceptance as a mixed model: terms of the query plus targets, drafters, sources.

Each cell's level is the number that reproduces its τ under the law of shapes. Levels are linear in
the terms of ``tuner.acceptance.level`` with random effects of target, drafter, source, source ×
data set and data set; variances by expectation and maximisation, Student-t weights for residuals
and for sources, drafters and targets (broken pairings exist).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from scripts.acceptance_curves import LONGEST, AcceptanceCell
from tuner.acceptance.level import design, drafter_key, group_of, recipe_key
from tuner.acceptance.positions import FloatArray, logistic
from tuner.acceptance.shape import MAX_X, MIN_X, basis_of, offset_of
from tuner.acceptance.temperature import temperature_shift
from tuner.records.acceptance import AcceptanceQuery
from tuner.records.acceptance_prior import ShapeLaw
from tuner.records.methods import Engine, Method, Task, VerifyRule

TAIL = 4.0
#: Variances before the data, by group of terms. "base", "size" … have few or one member and keep
#: theirs (weakly informative, in squared logits).
START: Mapping[str, float] = {
    "base": 9.0, "method": 0.6, "kind": 0.03, "method×kind": 0.03, "task": 0.12,
    "method×task": 0.04, "engine": 0.02, "size": 0.05, "draft share": 0.1,
    "context": 0.2, "temperature": 0.02, "target": 0.05, "drafter": 0.08, "recipe": 0.05,
    "source": 0.3, "method×engine": 0.05, "series": 0.03, "data": 0.03,
}  # fmt: skip
FIXED = frozenset({"base", "size", "draft share", "context", "temperature"})
RESIDUAL_VARIANCE = 0.05
SMALLEST = 2e-3
#: Standard deviation of one run's ln τ, and how many runs of one cell count at most.
RUN_LOG_SD, MOST_RUNS = 0.02, 3.0
_GRID = np.arange(-6.0, 6.001, 0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFit:
    """Posterior of all effects."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    variances: dict[str, float]
    residual: float


def rule_of(cell: AcceptanceCell) -> VerifyRule:
    """Return the rule that the source's engine applies above temperature 0."""
    if not cell.temperature:
        return VerifyRule.GREEDY
    if cell.engine is Engine.LLAMACPP:
        return VerifyRule.EXACT_MATCH
    if cell.engine is Engine.VLLM and cell.method is Method.DSPARK:
        return VerifyRule.RATIO  # published recipes sample its drafts
    return VerifyRule.ONE_HOT if cell.engine is not None else VerifyRule.RATIO


def query_of(cell: AcceptanceCell, task: Task, *, known_series: bool = False) -> AcceptanceQuery:
    """Return the question that a cell answers, for one of its tasks."""
    return AcceptanceQuery(
        method=cell.method,
        target=replace(cell.target_class, target_id=cell.target),
        task=task,
        temperature=cell.temperature or 0.0,
        rule=rule_of(cell),
        drafter=cell.drafter,
        draft_params=cell.draft_params,
        context_tokens=cell.context_tokens,
        engine=cell.engine,
        series=cell.source if known_series else None,
        data_set=cell.data_set,
    )


def implied_level(cell: AcceptanceCell, law: ShapeLaw) -> tuple[float, float]:
    """Return the level at temperature 0 that gives a cell's τ, and its variance."""
    table = _lengths_by_level(law, cell.method, cell.task)
    total, precision, largest = 0.0, 0.0, 0.0
    for k, length in cell.lengths.items():
        column = table[:, min(k, LONGEST) - 1]
        level = float(np.interp(np.log(max(length, 1.003)), column, _GRID))
        at = int(np.clip(np.searchsorted(_GRID, level), 1, len(_GRID) - 1))
        slope = max(float(column[at] - column[at - 1]) / 0.02, 0.03)
        weight = 1.0 / ((RUN_LOG_SD / slope) ** 2 + (0.05 * np.log(k)) ** 2)
        total, precision, largest = total + weight * level, precision + weight, max(largest, weight)
    level = total / precision
    return level - shift_of(cell, level), 1.0 / min(precision, MOST_RUNS * largest)


def shift_of(cell: AcceptanceCell, level: float) -> float:
    """Return by how much a cell's temperature moved its level, which is ``level``."""
    query = query_of(cell, Task.CHAT)
    at_zero = level
    for _ in range(8):
        at_zero = level - temperature_shift(at_zero, query)
    return level - at_zero


@lru_cache(maxsize=256)
def _lengths_by_level(law: ShapeLaw, method: Method, task: Task | None) -> FloatArray:
    """Return ln τ by level (rows of the grid) and K, kept monotone in the level."""
    offset = offset_of(law, method, task)
    basis = basis_of(method, LONGEST)
    x = np.clip(_GRID - 1.0, MIN_X, MAX_X)[:, None]
    numbers = law.base + x * law.slope + x * x * law.bend + offset
    shapes = np.column_stack((_GRID, numbers))
    survival = np.cumprod(logistic(shapes @ basis.T), axis=1)
    return np.maximum.accumulate(np.log1p(np.cumsum(survival, axis=1)), axis=0)


def effects_of(cell: AcceptanceCell) -> list[tuple[str, str, float]]:
    """Return (group, name, value) of every effect that a cell carries."""
    tasks = cell.tasks or (None,)
    found: dict[tuple[str, str], float] = {}
    for task in tasks:
        for name, value in design(replace(query_of(cell, task or Task.CHAT), temperature=0.0)):
            if "task" in name.partition(":")[0] and task is None:
                continue
            group = group_of(name)
            if task is None and group in ("task", "method×task"):
                continue
            share = value / len(tasks)
            found[group, name] = found.get((group, name), 0.0) + share
    effects = [(group, name, value) for (group, name), value in found.items()]
    effects += [
        ("target", f"target|{cell.target}", 1.0),
        ("drafter", f"drafter|{drafter_key(cell.drafter, cell.method, cell.target)}", 1.0),
        ("source", f"source|{cell.source}", 1.0),
        ("series", f"series|{cell.source}|{cell.data_set}", 1.0),
        ("data", f"data|{cell.data_set}", 1.0),
    ]
    recipe = recipe_key(cell.drafter, cell.method)
    if recipe is not None:
        effects.append(("recipe", f"recipe|{recipe}", 1.0))
    if cell.temperature is None:
        effects.append(("temperature", "temperature not stated", 1.0))
    return effects


def fit_levels(
    cells: Sequence[AcceptanceCell],
    levels: Sequence[tuple[float, float]],
    *,
    rounds: int = 15,
    variances: Mapping[str, float] | None = None,
    residual: float = RESIDUAL_VARIANCE,
) -> LevelFit:
    """Return the posterior of all effects; with ``variances`` given only the weights are tuned."""
    names, groups, matrix = _matrix([effects_of(cell) for cell in cells])
    seen = np.array([level for level, _ in levels])
    noise = np.array([variance for _, variance in levels])
    trust = np.array([cell.weight for cell in cells])
    spread = dict(START if variances is None else variances)
    members = {group: np.flatnonzero(groups == group) for group in set(groups.tolist())}
    row_weight, effect_weight = np.ones(len(cells)), np.ones(len(names))
    mean, covariance = np.zeros(len(names)), np.eye(len(names))
    for turn in range(rounds):
        error = (residual / trust + noise) / row_weight
        prior = np.array([spread[group] for group in groups]) / effect_weight
        hessian = (matrix.T / error) @ matrix
        hessian[np.diag_indices_from(hessian)] += 1.0 / prior
        covariance = np.linalg.inv(hessian)
        mean = covariance @ (matrix.T @ (seen / error))
        if turn == rounds - 1:
            break
        left = seen - matrix @ mean
        second = mean**2 + np.diag(covariance)
        for group in ("source", "drafter", "recipe", "target"):
            at = members.get(group, np.array([], dtype=np.int64))
            effect_weight[at] = (TAIL + 1.0) / (TAIL + second[at] / spread[group])
        if variances is None:
            own = ((matrix @ covariance) * matrix).sum(axis=1)
            for group, at in members.items():
                if group not in FIXED:
                    spread[group] = max(SMALLEST, float((effect_weight[at] * second[at]).mean()))
            excess = row_weight * trust * (left**2 + own) - trust * noise
            residual = max(0.01, float(np.average(np.maximum(excess, 0.0))))
        row_weight = (TAIL + 1.0) / (TAIL + left**2 / (residual / trust + noise))
    return LevelFit(
        names=names,
        groups=tuple(groups.tolist()),
        mean=mean,
        covariance=covariance,
        variances=spread,
        residual=residual,
    )


def _matrix(
    effects: Sequence[Sequence[tuple[str, str, float]]],
) -> tuple[tuple[str, ...], np.ndarray, FloatArray]:
    names: dict[str, int] = {}
    groups: list[str] = []
    for row in effects:
        for group, name, _ in row:
            if name not in names:
                names[name] = len(names)
                groups.append(group)
    matrix = np.zeros((len(effects), len(names)))
    for place, row in enumerate(effects):
        for _, name, value in row:
            matrix[place, names[name]] += value
    return tuple(names), np.array(groups), matrix


def length_at_temperature(
    cell: AcceptanceCell, k: int, greedy_length: float, law: ShapeLaw
) -> float:
    """Return τ at K = ``k`` under a cell's temperature, given τ at temperature 0."""
    table = _lengths_by_level(law, cell.method, cell.task)
    column = table[:, min(k, LONGEST) - 1]
    level = float(np.interp(np.log(greedy_length), column, _GRID))
    moved = level + temperature_shift(level, query_of(cell, cell.task or Task.CHAT))
    return float(np.exp(np.interp(moved, _GRID, column)))
