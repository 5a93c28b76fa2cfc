"""Score step times against measured and modelled ones.

    python -m benchmarks.cost [--json] [--leave-out] [--curve FILE] [--modelled FILE]
                              [--serving FILE] [--real-engine FOLDER]

The same functions stand behind the last lines of ``benchmarks.accuracy``. With ``--leave-out`` the
prior is refitted without each file before it is scored on it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.accuracy_real import recorded_runs
from benchmarks.accuracy_steps import measured_curve, modelled_table, plain_serving
from scripts.evidence import DATA, read_measurements
from scripts.fit_costs import all_rows, fit_from
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.records.cost_prior import CostPrior

Json = dict[str, object]


def scores(options: argparse.Namespace) -> dict[str, Json]:
    """Return the scores by name."""
    knowledge = shipped_knowledge()
    prior = _priors(knowledge, leave_out=options.leave_out)
    real = replace(knowledge, cost=prior("real_engine/forward_ms.csv"))
    curve, modelled = prior("cost_curve_dsv4flash_b300"), prior("step_times_modelled")
    return {
        "verify cost measured on B300": measured_curve(curve, options.curve),
        "modelled, each verified token a sequence": modelled_table(
            modelled, path=options.modelled, shared_cache=False
        ),
        "modelled, cache read once a sequence": modelled_table(
            modelled, path=options.modelled, shared_cache=True
        ),
        "plain serving": plain_serving(prior("plain_tpot_measured"), options.serving),
        "recorded real engine": recorded_runs(real, options.real_engine),
    }


def _priors(knowledge: Knowledge, *, leave_out: bool) -> Callable[[str], CostPrior]:
    """Return the prior to score a file with: the shipped one, or one that has not seen the file."""
    if not leave_out:
        return lambda _: knowledge.cost
    rows = all_rows(read_measurements())
    _, state = fit_from(rows)

    def without(source: str) -> CostPrior:
        kept = [row for row in rows if row.source.partition(":")[0] != source]
        return fit_from(kept, start=state)[0]

    return without


def _line(name: str, score: Json) -> str:
    return f"{name:44} n={score['n']:<4} median {score['median']:6.1%}   p90 {score['p90']:6.1%}"


def main() -> None:
    """Print the scores as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--curve", type=Path, default=DATA / "cost_curve_dsv4flash_b300.csv")
    parser.add_argument("--modelled", type=Path, default=DATA / "step_times_modelled.csv")
    parser.add_argument("--serving", type=Path, default=DATA / "plain_tpot_measured.csv")
    parser.add_argument("--real-engine", type=Path, default=DATA / "real_engine")
    options = parser.parse_args()
    found = scores(options)
    if options.json:
        json.dump(found, sys.stdout, indent=1)
        print()
        return
    for name, score in found.items():
        print(_line(name, score))


if __name__ == "__main__":
    main()
