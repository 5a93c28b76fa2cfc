"""Fit the acceptance prior and write the table that ships with the package.

Run ``python -m scripts.fit_priors`` in the repository. The result depends on the data files alone:
no random numbers are drawn.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from scripts.acceptance_curves import (
    LONGEST,
    AcceptanceCell,
    cells_of,
    curves_by_k,
    more_rows,
)
from scripts.acceptance_implied import implied_cells
from scripts.acceptance_levels import LevelFit, fit_levels, implied_level
from scripts.acceptance_shapes import RUN_LOG_SD, fit_law
from scripts.evidence import MeasuredRow, read_measurements
from tuner.acceptance.level import is_lookup
from tuner.acceptance.positions import copied_basis, drafted_basis
from tuner.catalog.priors import acceptance_prior_document, load_cost_prior
from tuner.records.acceptance_prior import AcceptancePrior, Effect, PriorCell
from tuner.records.cost_prior import CostPrior
from tuner.records.methods import Method

OUTPUT = Path(__file__).resolve().parent.parent / "tuner/catalog/data/acceptance_prior.json"
#: Factor on predictive standard deviations; measured by ``benchmarks/acceptance.py`` so that
#: 80 % intervals hold about 80 % of the chains of left-out sources.
SPREAD_FACTOR = 0.92
#: ids listed as evidence of a cell
MOST_IDS = 8
EVIDENCE_GROUPS = ("target", "drafter", "recipe", "source", "series", "data")


def fit(
    rows: Iterable[MeasuredRow],
    *,
    exclude_sources: Collection[str] = (),
    exclude_targets: Collection[str] = (),
    curves: Sequence[AcceptanceCell] | None = None,
    focus: str | None = None,
    start: LevelFit | None = None,
    cost: CostPrior | None = None,
) -> AcceptancePrior:
    """Return the prior fitted on rows of ``measurements.csv`` and on curves of τ by K.

    ``curves`` None = those of ``data/acceptance_by_k.csv``. Sources and targets (ids or names) to
    leave out are left out of both. ``cost`` (None = the shipped table) turns speeds without counts
    into a τ with more doubt. ``focus`` weighs the shapes of one source up; ``start`` holds
    variances to keep, which makes a refit with something left out quick.
    """
    more = curves_by_k() if curves is None else curves
    rows = list(rows)
    implied = implied_cells(rows, cost or load_cost_prior())
    every = [*cells_of([*rows, *more_rows()]), *more, *implied]
    cells = [
        cell
        for cell in every
        if cell.source not in exclude_sources
        and cell.target not in exclude_targets
        and cell.target_class.target_id not in exclude_targets
        and not cell.is_random_text
    ]
    return fit_cells(cells, focus=focus, start=start)[0]


def fit_cells(
    cells: Sequence[AcceptanceCell],
    *,
    focus: str | None = None,
    start: LevelFit | None = None,
    start_from: AcceptancePrior | None = None,
) -> tuple[AcceptancePrior, LevelFit]:
    """Return the prior of chosen cells, and the posterior of all effects behind it.

    With ``start`` (variances) and ``start_from`` (laws) of nearly the same cells it is quick.
    """
    # Trees of papers and chains of engines are different things: only chains are pooled. What was
    # inferred informs levels, with its own weight, and is no evidence to show.
    every = [cell for cell in cells if not cell.is_tree]
    chains = [cell for cell in every if not cell.is_implied]
    drafted = fit_law(
        [c for c in chains if not is_lookup(c.method) and c.method is not Method.DRAFT_MODEL],
        drafted_basis(LONGEST),
        focus=focus,
        start=start_from.drafted_law if start_from else None,
    )
    standalone = fit_law(
        [c for c in chains if c.method is Method.DRAFT_MODEL],
        drafted_basis(LONGEST),
        offsets=(),
        steady=drafted,
    )
    copied = fit_law(
        [c for c in chains if is_lookup(c.method)],
        copied_basis(LONGEST),
        offsets=("method",),
        start=start_from.copied_law if start_from else None,
    )
    laws = {c.method: drafted for c in every}
    laws |= {method: copied for method in laws if is_lookup(method)}
    laws |= {Method.DRAFT_MODEL: standalone}
    levels = [implied_level(cell, laws[cell.method]) for cell in every]
    found = fit_levels(
        every,
        levels,
        rounds=15 if start is None else 8,
        variances=None if start is None else start.variances,
        residual=0.05 if start is None else start.residual,
    )
    shipped = [at for at, group in enumerate(found.groups) if group not in EVIDENCE_GROUPS]
    terms = tuple(found.names[at] for at in shipped)
    spread = {group: round(float(np.sqrt(v)), 4) for group, v in found.variances.items()}
    spread["residual"] = round(float(np.sqrt(found.residual)), 4)
    prior = AcceptancePrior(
        terms=terms,
        coefficients=found.mean[shipped],
        covariance=found.covariance[np.ix_(shipped, shipped)],
        index={name: at for at, name in enumerate(terms)},
        drafted_law=drafted,
        standalone_law=standalone,
        copied_law=copied,
        spread=spread,
        targets=_effects(found, "target"),
        drafters=_effects(found, "drafter"),
        recipes=_effects(found, "recipe"),
        series={
            name: effect
            for group in ("source", "data", "series")
            for name, effect in _effects(found, group).items()
        },
        spread_factor=SPREAD_FACTOR,
        run_log_sd=RUN_LOG_SD,
        cells=_cells(chains),
        fitted_on="measurements.csv, acceptance.csv, acceptance_by_k.csv",
        deepest_position=_deepest(chains),
    )
    return prior, found


def _effects(found: LevelFit, group: str) -> dict[str, Effect]:
    return {
        found.names[at].partition("|")[2]: Effect(
            mean=round(float(found.mean[at]), 3),
            sd=round(float(np.sqrt(found.covariance[at, at])), 3),
        )
        for at, name in enumerate(found.groups)
        if name == group
    }


def _cells(chains: Sequence[AcceptanceCell]) -> tuple[PriorCell, ...]:
    groups: dict[tuple[Method, object], list[AcceptanceCell]] = defaultdict(list)
    for cell in chains:
        groups[cell.method, None].append(cell)
        for task in cell.tasks:
            groups[cell.method, task].append(cell)
    order = sorted(groups.items(), key=lambda item: (item[0][0].value, str(item[0][1] or "")))
    return tuple(
        PriorCell(
            method=method,
            task=task,
            n_measurements=sum(len(cell.lengths) for cell in members),
            n_sources=len({cell.source for cell in members}),
            evidence=_ids(members),
            sources=tuple(sorted({cell.source for cell in members})),
        )
        for (method, task), members in order
    )


def _ids(members: Sequence[AcceptanceCell]) -> tuple[str, ...]:
    """One id of each source in turn, best trusted sources first."""
    by_source: dict[str, list[str]] = defaultdict(list)
    for cell in sorted(members, key=lambda cell: -cell.weight):
        by_source[cell.source].append(cell.ids[0])
    found: list[str] = []
    for turn in range(MOST_IDS):
        found += [ids[turn] for ids in by_source.values() if len(ids) > turn]
    return tuple(dict.fromkeys(found))[:MOST_IDS]


def _deepest(chains: Sequence[AcceptanceCell]) -> dict[Method, int]:
    deepest: dict[Method, int] = {}
    for cell in chains:
        deepest[cell.method] = max(deepest.get(cell.method, 0), *cell.lengths)
    return deepest


def main() -> None:
    """Fit on the repository's data and write the shipped table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    chosen = parser.parse_args()
    prior = fit(read_measurements())
    text = json.dumps(
        acceptance_prior_document(prior), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    chosen.output.write_text(text + "\n", encoding="utf-8")
    print(f"{chosen.output}: {len(prior.terms)} terms, {len(prior.cells)} cells, {len(text)} bytes")


if __name__ == "__main__":
    main()
