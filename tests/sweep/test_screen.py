"""The screen of a formula sweep at fixed widths."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tuner.optimize.grid import sweep_formula
from tuner.records.sweep import FormulaGrid
from tuner.report.formula import render_formula_sweep


def screen(grid: FormulaGrid, width: int = 80, *, blocks: bool = True) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    for part in render_formula_sweep(grid, width=width, blocks=blocks):
        console.print(part, markup=False, crop=False)
    return stream.getvalue().splitlines()


def test_a_small_sweep_line_for_line() -> None:
    # E = 1.8, 2.44, 2.952, 3.3616 by hand; time (K/4 + 1) ÷ E.
    assert screen(sweep_formula([0.8], [0.25], range(1, 5)), 60)[:22] == [
        "",
        "  α 0.8 · c 0.25 · K 1, 2, 3, 4",
        "",
        "    K  tokens/verify  time/token  speedup",
        "    1          1.800       0.694    1.44×",
        "    2          2.440       0.615    1.63×",
        "    3          2.952       0.593    1.69×  ◂ best",
        "    4          3.362       0.595    1.68×",
        "",
        "  speedup",
        "   1.69 ┤            ▆▆▆▆▆▆▆▆▆▆▆▆████████████████████████",
        "        ┤▇▇▇▇▇▇▇▇▇▇▇▇████████████████████████████████████",
        "        ┤████████████████████████████████████████████████",
        "        ┤████████████████████████████████████████████████",
        "  0.843 ┤████████████████████████████████████████████████",
        "        ┤████████████████████████████████████████████████",
        "        ┤████████████████████████████████████████████████",
        "        ┤████████████████████████████████████████████████",
        "      0 └────────────────────────────────────────────────",
        "                                       ▲",
        "               1           2           3           4       K",
        "",
    ]


def test_the_optimum_is_marked_once() -> None:
    lines = screen(sweep_formula([0.9], [0.04], range(1, 21)))
    marked = [line for line in lines if "◂ best" in line]
    assert len(marked) == 1
    assert marked[0].split()[0] == "15"
    assert "5.09×" in marked[0]


def test_tokens_alone_for_several_rates() -> None:
    lines = screen(sweep_formula([0.5, 0.7, 0.85, 0.95], None, [4]))
    cells = [line.split() for line in lines[3:8]]
    assert cells == [
        ["α", "tokens/verify"],
        ["0.5", "1.938"],
        ["0.7", "2.773"],
        ["0.85", "3.709"],
        ["0.95", "4.524"],
    ]
    assert not any("speedup" in line for line in lines)


def test_a_long_range_is_thinned_and_keeps_the_optimum() -> None:
    lines = screen(sweep_formula([0.8], [0.05], range(1, 501)))
    assert any(line.split()[:1] == ["8"] and "◂ best" in line for line in lines)
    note = next(line for line in lines if "of 500 rows" in line)
    shown = int(note.split()[0])
    assert shown == sum(bool(re.match(r"\s+\d+ +\d\.\d{3} ", line)) for line in lines)


def test_many_pairs_become_a_matrix() -> None:
    grid = sweep_formula([n / 20 for n in range(21)], [n / 20 for n in range(11)], range(1, 9))
    lines = screen(grid)
    assert any("pairs; --csv FILE or --json has all." in line for line in lines)
    assert any("off 0.67×" in line for line in lines)


def test_a_pair_that_does_not_pay_says_so() -> None:
    lines = screen(sweep_formula([0.1, 0.9], [0.3], range(1, 5)))
    row = next(line for line in lines if line.split()[:2] == ["0.1", "0.3"])
    assert row.endswith("does not pay")
    assert "does not pay" not in next(line for line in lines if line.split()[:2] == ["0.9", "0.3"])


@pytest.mark.parametrize("blocks", [True, False])
@given(
    rates=st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=15),
    costs=st.none() | st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=15),
    first=st.integers(0, 5),
    length=st.integers(1, 60),
    width=st.sampled_from([60, 80, 120]),
)
@settings(deadline=None, derandomize=True, max_examples=25)
def test_no_line_is_wider_than_the_screen(
    blocks: bool,
    rates: list[float],
    costs: list[float] | None,
    first: int,
    length: int,
    width: int,
) -> None:
    grid = sweep_formula(rates, costs, range(first, first + length))
    lines = screen(grid, width, blocks=blocks)
    assert max(map(cell_len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_figures_are_files_of_their_kind() -> None:
    from tuner.report.figures import formula_figure

    grid = sweep_formula([0.5, 0.9], [0.05], range(1, 9))
    assert formula_figure(grid, "png").startswith(b"\x89PNG\r\n")
    drawing = formula_figure(grid, "svg")
    assert b"<svg" in drawing
    assert drawing == formula_figure(grid, "svg")
    tokens = formula_figure(sweep_formula([n / 50 for n in range(51)], None, [4]), "svg")
    assert b"<svg" in tokens
