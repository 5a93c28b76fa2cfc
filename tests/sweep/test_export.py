"""JSON and CSV of a formula sweep: the documented shape, and every float read back unchanged."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tuner.cli.output_schemas import sweep_schema
from tuner.optimize.grid import sweep_formula
from tuner.records.sweep import FormulaGrid
from tuner.report.formula_export import formula_csv, formula_json


def as_json(grid: FormulaGrid) -> dict[str, list[dict[str, float]]]:
    return json.loads("".join(formula_json(grid)))


def test_one_point_as_documented() -> None:
    document = as_json(sweep_formula([0.8], [0.05], [8]))
    point = document["points"][0]
    assert point == {
        "alpha": 0.8,
        "c": 0.05,
        "num_speculative_tokens": 8,
        "expected_tokens": pytest.approx(4.328911, abs=1e-6),
        "time_per_token": pytest.approx(0.323407, abs=1e-6),
        "speedup": pytest.approx(3.09208, abs=1e-5),
    }
    assert document["optima"] == [
        {
            "alpha": 0.8,
            "c": 0.05,
            "num_speculative_tokens": 8,
            "speedup": pytest.approx(3.09208, abs=1e-5),
        }
    ]


def test_without_c_only_tokens_are_known() -> None:
    document = as_json(sweep_formula([0.5, 0.95], None, [4]))
    assert [point["expected_tokens"] for point in document["points"]] == pytest.approx(
        [1.9375, 4.52438125]
    )
    assert all(point["c"] is None and point["speedup"] is None for point in document["points"])
    assert document["optima"] == []


def test_one_optimum_for_each_pair_and_points_in_order() -> None:
    grid = sweep_formula([0.6, 0.9], [0.02, 0.1, 0.3], range(1, 9))
    document = as_json(grid)
    assert len(document["points"]) == grid.size == 48
    pairs = [(optimum["alpha"], optimum["c"]) for optimum in document["optima"]]
    assert pairs == [(a, c) for a in (0.6, 0.9) for c in (0.02, 0.1, 0.3)]
    for optimum in document["optima"]:
        mine = [
            point
            for point in document["points"]
            if (point["alpha"], point["c"]) == (optimum["alpha"], optimum["c"])
        ]
        best = max(mine, key=lambda point: point["speedup"])
        assert best["num_speculative_tokens"] == optimum["num_speculative_tokens"]
        assert best["speedup"] == optimum["speedup"]


def test_satisfies_the_published_schema() -> None:
    import jsonschema

    for cost in (None, [0.0, 0.3]):
        jsonschema.validate(as_json(sweep_formula([0.0, 1.0], cost, [0, 3])), sweep_schema())


def test_csv_says_the_same_as_json_across_chunks() -> None:
    grid = sweep_formula([n / 300 for n in range(301)], [0.05, 0.2], range(1, 51))
    assert grid.size > 20_000  # more than one chunk
    rows = list(csv.DictReader(io.StringIO("".join(formula_csv(grid)))))
    points = as_json(grid)["points"]
    assert len(rows) == len(points) == grid.size
    assert [{key: float(cell) for key, cell in row.items()} for row in rows] == points


def test_csv_leaves_unknown_cells_empty() -> None:
    text = "".join(formula_csv(sweep_formula([0.5], None, [1])))
    assert text == (
        "alpha,c,num_speculative_tokens,expected_tokens,time_per_token,speedup\n0.5,,1,1.5,,\n"
    )
