"""A formula sweep as JSON or CSV text. Written in chunks: a million points stay affordable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tuner.records.sweep import FormulaGrid

COLUMNS = ("alpha", "c", "num_speculative_tokens", "expected_tokens", "time_per_token", "speedup")
SCHEMA_VERSION = 1


def formula_document(grid: FormulaGrid) -> dict[str, object]:
    """Return the JSON document of ``sweep``: every point, and one optimum for each (α, c)."""
    points = [dict(zip(COLUMNS, row, strict=True)) for row in _rows(grid)]
    return {"schema_version": SCHEMA_VERSION, "points": points, "optima": _optima(grid)}


def formula_csv(grid: FormulaGrid) -> Iterator[str]:
    """Yield the CSV text in chunks: a header, then one line a point; unknown cells are empty."""
    yield ",".join(COLUMNS) + "\n"
    batch: list[str] = []
    for row in _rows(grid):
        batch.append(",".join("" if cell is None else repr(cell) for cell in row))
        if len(batch) == 50_000:
            yield "\n".join(batch) + "\n"
            batch.clear()
    if batch:
        yield "\n".join(batch) + "\n"


def _rows(grid: FormulaGrid) -> Iterator[tuple[float | int | None, ...]]:
    counts = grid.num_speculative_tokens.tolist()
    if grid.draft_cost_ratio is None or grid.time_per_token is None:
        for index, alpha in enumerate(grid.acceptance_rate.tolist()):
            tokens = grid.expected_tokens[index].tolist()
            for count, expected in zip(counts, tokens, strict=True):
                yield alpha, None, count, expected, None, None
        return
    for index, alpha in enumerate(grid.acceptance_rate.tolist()):
        tokens = grid.expected_tokens[index].tolist()
        for place, cost in enumerate(grid.draft_cost_ratio.tolist()):
            times = grid.time_per_token[index, place]
            columns = (counts, tokens, times.tolist(), (1.0 / times).tolist())
            for count, expected, time, speedup in zip(*columns, strict=True):
                yield alpha, cost, count, expected, time, speedup


def _optima(grid: FormulaGrid) -> list[dict[str, object]]:
    if grid.draft_cost_ratio is None or grid.time_per_token is None or grid.best is None:
        return []
    best_times = np.take_along_axis(grid.time_per_token, grid.best[..., None], axis=-1)[..., 0]
    best_counts = grid.num_speculative_tokens[grid.best]
    return [
        {
            "alpha": float(alpha),
            "c": float(cost),
            "num_speculative_tokens": int(best_counts[index, place]),
            "speedup": float(1.0 / best_times[index, place]),
        }
        for index, alpha in enumerate(grid.acceptance_rate)
        for place, cost in enumerate(grid.draft_cost_ratio)
    ]
