"""A formula sweep as JSON or CSV text, in chunks of whole lines: a million points stay affordable.

Numbers are written so that reading them back gives the same floats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from tuner.records.sweep import FormulaGrid

SCHEMA_VERSION = 1
COLUMNS = ("alpha", "c", "num_speculative_tokens", "expected_tokens", "time_per_token", "speedup")
_CHUNK_LINES = 20_000


def formula_json(grid: FormulaGrid) -> Iterator[str]:
    """Yield the JSON document of ``sweep``: every point, and one optimum for each (α, c)."""
    yield f'{{\n  "schema_version": {SCHEMA_VERSION},\n  "points": [\n'
    form = "    {" + ", ".join(f'"{name}": %s' for name in COLUMNS) + "}"
    yield from _chunks((form % row for row in _rows(grid, "null")), ",\n")
    optima = ",\n".join(f"    {json.dumps(optimum)}" for optimum in _optima(grid))
    yield '\n  ],\n  "optima": [' + (f"\n{optima}\n  " if optima else "") + "]\n}\n"


def formula_csv(grid: FormulaGrid) -> Iterator[str]:
    """Yield the CSV text: a header, then one line a point; unknown cells are empty."""
    yield ",".join(COLUMNS) + "\n"
    yield from _chunks((",".join(row) for row in _rows(grid, "")), "\n")
    yield "\n"


def _chunks(lines: Iterable[str], separator: str) -> Iterator[str]:
    source = iter(lines)
    lead = ""
    while chunk := list(islice(source, _CHUNK_LINES)):
        yield lead + separator.join(chunk)
        lead = separator


def _rows(grid: FormulaGrid, missing: str) -> Iterator[tuple[str, ...]]:
    counts = [str(count) for count in grid.num_speculative_tokens.tolist()]
    costs = grid.draft_cost_ratio
    for index, alpha in enumerate(map(repr, grid.acceptance_rate.tolist())):
        tokens = [repr(value) for value in grid.expected_tokens[index].tolist()]
        if costs is None or grid.time_per_token is None:
            for count, expected in zip(counts, tokens, strict=True):
                yield alpha, missing, count, expected, missing, missing
            continue
        for place, cost in enumerate(map(repr, costs.tolist())):
            times = grid.time_per_token[index, place]
            gains = (1.0 / times).tolist()
            columns = zip(counts, tokens, times.tolist(), gains, strict=True)
            for count, expected, time, gain in columns:
                yield alpha, cost, count, expected, repr(time), repr(gain)


def _optima(grid: FormulaGrid) -> Iterator[dict[str, object]]:
    if grid.draft_cost_ratio is None or grid.time_per_token is None or grid.best is None:
        return
    best_times = np.take_along_axis(grid.time_per_token, grid.best[..., None], axis=-1)[..., 0]
    best_counts = grid.num_speculative_tokens[grid.best]
    for index, alpha in enumerate(grid.acceptance_rate.tolist()):
        for place, cost in enumerate(grid.draft_cost_ratio.tolist()):
            yield {
                "alpha": alpha,
                "c": cost,
                "num_speculative_tokens": int(best_counts[index, place]),
                "speedup": float(1.0 / best_times[index, place]),
            }
