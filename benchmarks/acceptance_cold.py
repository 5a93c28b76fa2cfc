"""τ of chains with nothing observed, the target or the source left out of the fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scripts.acceptance_curves import AcceptanceCell
from scripts.acceptance_levels import LevelFit, query_of
from scripts.fit_priors import fit_cells
from tuner.acceptance.belief import believe
from tuner.acceptance.positions import FloatArray
from tuner.records.acceptance_prior import AcceptancePrior
from tuner.records.interval import Z90
from tuner.records.methods import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdScore:
    """Relative errors and 80 % intervals of one rule over left-out chains."""

    what: str
    rule: str
    chains: int
    median: float
    p90: float
    #: share of chains inside the interval: over all, and mean over sources
    coverage: float
    coverage_by_source: float
    #: mean interval score of ln τ at 80 % (Gneiting and Raftery 2007), smaller is better
    interval_score: float
    interval_score_by_source: float
    #: mean over sources of each source's median error
    median_by_source: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    source: str
    k: int
    length: float
    predicted: float
    low: float
    high: float


def score_cold(
    cells: Sequence[AcceptanceCell],
    scored: Sequence[AcceptanceCell],
    prior: AcceptancePrior,
    found: LevelFit,
    by: str,
) -> list[ColdScore]:
    """Score the prior and the median rule; ``by`` is "target" or "source".

    With the target left out the row's own series (source and data set) is known to the fit from
    its other targets, and the question may say so; with the source left out it is not.
    """
    group: Callable[[AcceptanceCell], str] = (
        (lambda cell: cell.target) if by == "target" else (lambda cell: cell.source)
    )
    groups: dict[str, list[AcceptanceCell]] = defaultdict(list)
    for cell in scored:
        groups[group(cell)].append(cell)
    ours: list[_Chain] = []
    simple: list[_Chain] = []
    for name, members in groups.items():
        rest = [cell for cell in cells if group(cell) != name]
        refitted, _ = fit_cells(rest, start=found, start_from=prior)
        for cell in members:
            ours += _predicted(refitted, cell, known_series=by == "target")
            simple += _pooled(rest, cell)
    what = f"leave one {by} out"
    return [_score(what, "this model", ours), _score(what, "median of method, task and K", simple)]


def _predicted(prior: AcceptancePrior, cell: AcceptanceCell, *, known_series: bool) -> list[_Chain]:
    lengths = sorted(cell.lengths)
    tasks = cell.tasks or (Task.CHAT,)
    inverse: FloatArray = np.zeros(len(lengths))
    log_sd: FloatArray = np.zeros(len(lengths))
    for task in tasks:
        belief = believe(prior, query_of(cell, task, known_series=known_series), max_k=lengths[-1])
        inverse += 1.0 / belief.length[lengths] / len(tasks)
        log_sd += belief.length_log_sd[lengths] / len(tasks)
    return [
        _chain(cell, k, 1.0 / inverse[at], np.exp(Z90 * log_sd[at])) for at, k in enumerate(lengths)
    ]


def _chain(cell: AcceptanceCell, k: int, length: float, spread: float) -> _Chain:
    return _Chain(
        source=cell.source,
        k=k,
        length=cell.lengths[k],
        predicted=float(length),
        low=max(1.0, float(length / spread)),
        high=min(k + 1.0, float(length * spread)),
    )


def _pooled(rest: Sequence[AcceptanceCell], cell: AcceptanceCell) -> list[_Chain]:
    """Median and 10–90 % quantiles of the nearest pool that has measurements."""
    found = []
    for k in cell.lengths:
        pools = (
            [c.lengths[k] for c in rest
             if k in c.lengths and c.method is cell.method and c.data_set == cell.data_set],
            [c.lengths[k] for c in rest if k in c.lengths and c.method is cell.method],
            [c.lengths[k] for c in rest if k in c.lengths],
            [1.0 + (length - 1.0) / max(c.lengths) * k for c in rest
             for length in c.lengths.values()],
        )  # fmt: skip
        pool = next(values for values in pools if values)
        low, middle, high = np.percentile(pool, [10, 50, 90])
        found.append(
            _Chain(
                source=cell.source,
                k=k,
                length=cell.lengths[k],
                predicted=float(middle),
                low=float(low),
                high=float(max(high, low * 1.001)),
            )
        )
    return found


def _score(what: str, rule: str, chains: Sequence[_Chain]) -> ColdScore:
    length = np.array([chain.length for chain in chains])
    error = np.abs(np.array([chain.predicted for chain in chains]) / length - 1.0)
    low = np.log([chain.low for chain in chains])
    high = np.log([chain.high for chain in chains])
    seen = np.log(length)
    inside = (seen >= low - 1e-9) & (seen <= high + 1e-9)
    missed = np.maximum(0.0, low - seen) + np.maximum(0.0, seen - high)
    interval = (high - low) + 10.0 * missed
    sources = np.array([chain.source for chain in chains])
    by_source = [sources == name for name in sorted(set(sources.tolist()))]
    return ColdScore(
        what=what,
        rule=rule,
        chains=len(chains),
        median=float(np.median(error)),
        p90=float(np.percentile(error, 90)),
        coverage=float(inside.mean()),
        coverage_by_source=float(np.mean([inside[at].mean() for at in by_source])),
        interval_score=float(interval.mean()),
        interval_score_by_source=float(np.mean([interval[at].mean() for at in by_source])),
        median_by_source=float(np.mean([np.median(error[at]) for at in by_source])),
    )
