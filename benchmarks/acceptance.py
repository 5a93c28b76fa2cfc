"""Score the acceptance model on published measurements, beside simple rules.

Run ``python -m benchmarks.acceptance [--json] [--measurements FILE] [--acceptance-by-k FILE]``.
Every figure is of data that the fit behind it has not seen. ``--write`` puts the tables into
``docs/acceptance.md``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.acceptance_cold import ColdScore, score_cold
from benchmarks.acceptance_long import LongScore, score_long
from benchmarks.acceptance_table import document, tables
from benchmarks.acceptance_temperature import TemperatureScore, score_temperature
from scripts.acceptance_curves import AcceptanceCell, cells_of, curves_by_k, more_rows
from scripts.evidence import DATA, read_measurements
from scripts.fit_priors import fit_cells
from tuner.records.acceptance_prior import AcceptancePrior

ROOT = Path(__file__).resolve().parent.parent
SPECBUNDLE = "SpecBundle"


def score(
    measurements: Path, by_k: Path, *, cold: bool = True
) -> tuple[list[LongScore], list[ColdScore], list[TemperatureScore]]:
    """Return all scores; the shipped files are the training data, rows left out as scored."""
    rows = read_measurements(measurements)
    own = [*cells_of(rows), *curves_by_k(by_k)]
    more = cells_of(more_rows())
    shipped = own
    if (measurements, by_k) != (DATA / "measurements.csv", DATA / "acceptance_by_k.csv"):
        shipped = [*cells_of(read_measurements()), *curves_by_k()]
    known = {(cell.source, cell.ids) for cell in own}
    cells = [*own, *more, *(cell for cell in shipped if (cell.source, cell.ids) not in known)]
    text = [cell for cell in cells if not cell.is_random_text]
    chains = [cell for cell in text if not cell.is_tree]
    prior, found = fit_cells(text)
    long = _long(text, own, curves_by_k(by_k), prior)
    tau = {row.id for row in rows if row.metric == "tau"}
    scored = [cell for cell in chains if cell.ids[0] in tau]
    colds = (
        [
            *score_cold(chains, scored, prior, found, "target"),
            *score_cold(chains, scored, prior, found, "source"),
        ]
        if cold
        else []
    )
    return long, colds, score_temperature(text, prior)


def _long(
    cells: Sequence[AcceptanceCell],
    own: Sequence[AcceptanceCell],
    curves: Sequence[AcceptanceCell],
    prior: AcceptancePrior,
) -> list[LongScore]:
    full = [cell for cell in curves if {1, 2, 3} <= set(cell.lengths)]
    members = {cell.ids for cell in full}
    chosen = [cell for cell in cells if cell.ids in members]
    wanted = tuple(sorted({k for cell in full for k in cell.lengths if k > 3}))
    bundle = [
        cell
        for cell in own
        if cell.source.startswith(SPECBUNDLE)
        and not cell.is_tree
        and {3, 5, 7} <= set(cell.lengths)
    ]
    found = []
    if chosen and wanted:
        for by_target in (False, True):
            found.append(
                score_long(
                    "τ by K, K ≤ 3 observed, " + ("target out" if by_target else "curve out"),
                    cells, chosen, prior, observed=(1, 2, 3), wanted=wanted, by_target=by_target,
                )
            )  # fmt: skip
    if bundle:
        found.append(
            score_long(
                "SpecBundle chains, K = 3 observed, target out",
                cells, bundle, prior, observed=(3,), wanted=(5, 7),
            )
        )  # fmt: skip
    return found


def main() -> None:
    """Print tables, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, default=DATA / "measurements.csv")
    parser.add_argument("--acceptance-by-k", type=Path, default=DATA / "acceptance_by_k.csv")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="leave the cold predictions out")
    parser.add_argument("--write", action="store_true", help="write docs/acceptance.md")
    chosen = parser.parse_args()
    long, cold, temperature = score(
        chosen.measurements, chosen.acceptance_by_k, cold=not chosen.quick
    )
    if chosen.json:
        print(
            json.dumps(
                {
                    "long": [asdict(item) for item in long],
                    "cold": [asdict(item) for item in cold],
                    "temperature": [asdict(item) for item in temperature],
                },
                ensure_ascii=False,
            )
        )
    else:
        print(tables(long, cold, temperature))
    if chosen.write:
        text = document(long, cold, temperature)
        (ROOT / "docs" / "acceptance.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
