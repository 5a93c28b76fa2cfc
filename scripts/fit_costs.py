"""Fit the step-time prior from the data files of the repository.

    python -m scripts.fit_costs [--out tuner/catalog/data/cost_prior.json]

Deterministic: the same rows give the same table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scripts.cost_assumed import (
    ASSUMED_LEVELS,
    ASSUMED_MEAN,
    ASSUMED_SD,
    LEVEL_SD,
    SPREAD_FLOOR,
)
from scripts.cost_files import file_rows
from scripts.cost_rows import FitRow, fit_rows
from scripts.cost_solver import Fitted, level_shifts, solve
from scripts.evidence_rows import DATA, MeasuredRow, read_measurements
from tuner.cost.levels import BOTH
from tuner.cost.missed import Missed
from tuner.records.cost_prior import PARAMETERS, CostLevel, CostPrior

OUT = Path(__file__).resolve().parent.parent / "tuner" / "catalog" / "data" / "cost_prior.json"
#: what the equations miss; chosen so that 80 % intervals of left-out sources cover (see docs)
MISSED = Missed(level=0.12, stairs=0.05, stairs_scale=0.7, offset=0.09)
#: … and by how much more on an engine and kind of device that no source measured; likewise chosen
UNMEASURED_OFFSET = 0.6
#: shifts smaller than this are not told from none
_SMALLEST_SHIFT = 0.01
_ITERATIONS = 14
_ITERATIONS_FROM_START = 4
_MEASUREMENT_NOISE = 0.02


def fit(
    rows: Sequence[MeasuredRow],
    *,
    exclude_sources: frozenset[str] = frozenset(),
    exclude_targets: frozenset[str] = frozenset(),
    start: Fitted | None = None,
) -> CostPrior:
    """Return the prior learned from ``rows`` and the other data files.

    Parameters
    ----------
    rows
        Published measurements.
    exclude_sources, exclude_targets
        Sources and model ids to leave out, of ``rows`` and of the other files alike.
    start
        An earlier fit to start from; a few steps then suffice.
    """
    prior, _ = fit_with_state(
        rows, exclude_sources=exclude_sources, exclude_targets=exclude_targets, start=start
    )
    return prior


def fit_with_state(
    rows: Sequence[MeasuredRow],
    *,
    exclude_sources: frozenset[str] = frozenset(),
    exclude_targets: frozenset[str] = frozenset(),
    start: Fitted | None = None,
) -> tuple[CostPrior, Fitted]:
    """Return the prior and the state from which a fit on fewer rows can start."""
    used = all_rows(rows, exclude_sources=exclude_sources, exclude_targets=exclude_targets)
    return fit_from(used, start=start)


def all_rows(
    rows: Sequence[MeasuredRow],
    *,
    exclude_sources: frozenset[str] = frozenset(),
    exclude_targets: frozenset[str] = frozenset(),
) -> list[FitRow]:
    """Return the rows of the fit."""
    found = [*fit_rows(rows), *file_rows(DATA, exclude=exclude_sources)]
    return [
        row
        for row in found
        if row.source.partition(":")[0] not in exclude_sources and row.target not in exclude_targets
    ]


def fit_from(used: Sequence[FitRow], *, start: Fitted | None = None) -> tuple[CostPrior, Fitted]:
    """Return the prior and the state for rows that are ready."""
    fitted = solve(
        used,
        np.log([ASSUMED_MEAN[name] for name in PARAMETERS]),
        np.array([ASSUMED_SD[name] for name in PARAMETERS]),
        np.array([LEVEL_SD[name] for name in PARAMETERS]),
        {level: _vector(shift) for level, shift in ASSUMED_LEVELS.items()},
        start,
        spread=np.array([SPREAD_FLOOR[name] for name in PARAMETERS]),
        iterations=_ITERATIONS if start is None else _ITERATIONS_FROM_START,
        missed=MISSED,
    )
    return _prior(fitted, used), fitted


def _vector(factors: dict[str, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.log([factors.get(name, 1.0) for name in PARAMETERS])


def _prior(fitted: Fitted, used: Sequence[FitRow]) -> CostPrior:
    spread = np.sqrt(fitted.source_variance + fitted.setup_variance)
    spread = np.maximum(spread, [SPREAD_FLOOR[name] for name in PARAMETERS])
    shifts = level_shifts(fitted)
    for name, factors in ASSUMED_LEVELS.items():  # levels that nobody measured
        shifts.setdefault(name, _vector(factors))
    levels = {
        name: CostLevel(
            shift=tuple(np.round(shift, 4)),
            n_measurements=sum(len(row.ids) for row in used if name in row.levels),
            n_sources=len({row.source for row in used if name in row.levels}),
        )
        for name, shift in sorted(shifts.items())
        if name.startswith(BOTH) or np.any(np.abs(shift) >= _SMALLEST_SHIFT)
    }
    return CostPrior(
        mean=tuple(np.round(fitted.beta[: len(PARAMETERS)], 4)),
        spread=tuple(np.round(spread, 4)),
        levels=levels,
        discrepancy=MISSED.stairs,
        discrepancy_scale=MISSED.stairs_scale,
        plain_discrepancy=MISSED.level,
        method_offset=MISSED.offset,
        unmeasured_offset=UNMEASURED_OFFSET,
        measurement_noise=_MEASUREMENT_NOISE,
        evidence=tuple(sorted({row.source for row in used})),
    )


def document_of(prior: CostPrior) -> dict[str, Any]:
    """Return the prior as it is written: parameters by name."""
    return {
        "mean": dict(zip(PARAMETERS, map(float, prior.mean), strict=True)),
        "spread": dict(zip(PARAMETERS, map(float, prior.spread), strict=True)),
        "levels": {
            name: {
                "shift": {
                    key: float(value)
                    for key, value in zip(PARAMETERS, level.shift, strict=True)
                    if abs(value) >= _SMALLEST_SHIFT
                },
                "n_measurements": level.n_measurements,
                "n_sources": level.n_sources,
            }
            for name, level in prior.levels.items()
        },
        "noise": {
            "discrepancy": prior.discrepancy,
            "discrepancy_scale": prior.discrepancy_scale,
            "plain_discrepancy": prior.plain_discrepancy,
            "method_offset": prior.method_offset,
            "unmeasured_offset": prior.unmeasured_offset,
            "measurement_noise": prior.measurement_noise,
            "widening": prior.widening,
        },
        "evidence": list(prior.evidence),
    }


def main() -> None:
    """Write the table that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    prior = fit(read_measurements())
    options.out.write_text(json.dumps(document_of(prior), indent=1) + "\n", encoding="utf-8")
    print(f"{len(prior.levels)} levels from {len(prior.evidence)} sources → {options.out}")


if __name__ == "__main__":
    main()
