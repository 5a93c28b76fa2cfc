"""τ at long drafts from τ at short ones, each target left out of the law of shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scripts.acceptance_curves import LONGEST, AcceptanceCell
from scripts.acceptance_levels import query_of
from scripts.acceptance_shapes import fit_law
from tuner.acceptance.belief import believe
from tuner.acceptance.level import is_lookup
from tuner.acceptance.positions import FloatArray, drafted_basis
from tuner.records.acceptance import AcceptanceObservation
from tuner.records.acceptance_prior import AcceptancePrior
from tuner.records.methods import Task

#: rule → predicted τ by K
Lengths = dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LongScore:
    """Mean and median absolute relative error by K of each rule, over the left-out curves."""

    what: str
    curves: int
    mean: dict[str, dict[int, float]]
    median: dict[str, dict[int, float]]


def score_long(
    what: str,
    cells: Sequence[AcceptanceCell],
    chosen: Sequence[AcceptanceCell],
    prior: AcceptancePrior,
    *,
    observed: tuple[int, ...],
    wanted: tuple[int, ...],
    by_target: bool = True,
) -> LongScore:
    """Predict τ at ``wanted`` from τ at ``observed`` for each chosen curve.

    The law is refitted without the curve's target (``by_target``), or without the curve itself and
    without its target in other sources. The level has a wide prior and is set by what is observed.
    """
    drafted = [c for c in cells if not c.is_tree and not is_lookup(c.method)]
    errors: dict[str, dict[int, list[float]]] = {}
    laws: dict[object, AcceptancePrior] = {}
    for cell in chosen:
        key: object = cell.target if by_target else cell.ids
        rest = [other for other in drafted if _is_apart(other, cell, by_target)]
        if key not in laws:
            law = fit_law(rest, drafted_basis(LONGEST), focus=cell.source, offsets=("task",))
            laws[key] = replace(prior, drafted_law=law, targets={}, drafters={}, series={})
        siblings = [c for c in rest if c.source == cell.source and set(wanted) <= set(c.lengths)]
        for rule, lengths in _rules(cell, siblings, laws[key], observed, wanted).items():
            kept = errors.setdefault(rule, {k: [] for k in wanted})
            for k in wanted:
                if k in cell.lengths:
                    kept[k].append(abs(lengths[k] / cell.lengths[k] - 1.0))
    return LongScore(
        what=what,
        curves=len(chosen),
        mean=_summary(errors, np.mean),
        median=_summary(errors, np.median),
    )


def _is_apart(other: AcceptanceCell, cell: AcceptanceCell, by_target: bool) -> bool:
    if other.target == cell.target and (by_target or other.source != cell.source):
        return False
    return other is not cell


def _summary(
    errors: dict[str, dict[int, list[float]]], how: Callable[[list[float]], np.floating]
) -> dict[str, dict[int, float]]:
    return {
        rule: {k: float(how(values)) for k, values in by_k.items() if values}
        for rule, by_k in errors.items()
    }


def _rules(
    cell: AcceptanceCell,
    siblings: Sequence[AcceptanceCell],
    prior: AcceptancePrior,
    observed: tuple[int, ...],
    wanted: tuple[int, ...],
) -> dict[str, Lengths]:
    seen = {k: cell.lengths[k] for k in observed}
    found = {
        "this model": _model(cell, prior, seen, wanted),
        "geometric": _geometric(seen, wanted),
    }
    if len(observed) >= 2:
        found["two-parameter fit"] = _two_parameters(seen, wanted)
    if len(observed) >= 3 and len(siblings) >= 2:
        found["two-coefficient regression"] = _regression(seen, siblings, observed, wanted)
    every = dict(cell.lengths)
    found["floor: fit of the curve to all its own K"] = _model(cell, prior, every, wanted)
    return found


def _model(
    cell: AcceptanceCell, prior: AcceptancePrior, seen: Lengths, wanted: tuple[int, ...]
) -> Lengths:
    query = replace(query_of(cell, cell.task or Task.CHAT), temperature=0.0, data_set=None)
    query = replace(query, target=replace(query.target, target_id=None), drafter=None)
    rows = [
        AcceptanceObservation(method=cell.method, num_speculative_tokens=k, acceptance_length=t)
        for k, t in seen.items()
    ]
    belief = believe(prior, query, rows, max_k=max(wanted))
    return {k: float(belief.length[k]) for k in wanted}


def _geometric(seen: Lengths, wanted: tuple[int, ...]) -> Lengths:
    """Constant α from the longest observed draft."""
    at = max(seen)
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = 0.5 * (low + high)
        low, high = (rate, high) if sum(rate**i for i in range(at + 1)) < seen[at] else (low, rate)
    return {k: sum(rate**i for i in range(k + 1)) for k in wanted}


def _two_parameters(seen: Lengths, wanted: tuple[int, ...]) -> Lengths:
    """Level and decay with ln i by least squares of ln τ, nothing learned from other curves."""
    from scipy.optimize import least_squares

    def lengths(shape: FloatArray, k: int) -> float:
        position = np.arange(1, k + 1)
        rate = 1.0 / (1.0 + np.exp(-(shape[0] + shape[1] * np.log(position))))
        return float(1.0 + np.cumprod(rate).sum())

    def residual(shape: FloatArray) -> FloatArray:
        return np.array([np.log(lengths(shape, k) / t) for k, t in seen.items()])

    best = least_squares(residual, np.array([1.0, -0.2])).x
    return {k: lengths(best, k) for k in wanted}


def _regression(
    seen: Lengths,
    siblings: Sequence[AcceptanceCell],
    observed: tuple[int, ...],
    wanted: tuple[int, ...],
) -> Lengths:
    """τ_K − τ_3 on the last two increments, fitted on the other curves of the file."""
    first, second, third = observed[-3:]

    def steps(lengths: Lengths) -> list[float]:
        return [lengths[third] - lengths[second], lengths[second] - lengths[first]]

    table = np.array([steps(cell.lengths) for cell in siblings])
    found = {}
    for k in wanted:
        gain = np.array([cell.lengths[k] - cell.lengths[third] for cell in siblings])
        weights = np.linalg.lstsq(table, gain, rcond=None)[0]
        found[k] = seen[third] + float(np.array(steps(seen)) @ weights)
    return found
