"""``sweep``: the closed formula over a grid of α, c and K."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tuner.cli.files import PLOT_ENDINGS, check_out_file, write_file
from tuner.cli.options import PlotFile
from tuner.cli.output import current_output, screen_width
from tuner.cli.ranges import read_reals, read_wholes
from tuner.errors import InputError
from tuner.optimize.grid import check_grid_size, sweep_formula
from tuner.records.sweep import FormulaGrid

DEFAULT_K = "1:10"


def sweep(
    alpha: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Acceptance rates: 0.5,0.7 or 0.5:0.95:0.05."),
    ] = None,
    c: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Draft pass ÷ plain step; without it E[tokens] alone."),
    ] = None,
    k: Annotated[
        str | None, typer.Option(metavar="LIST", help=f"Draft tokens; {DEFAULT_K} if left out.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Also write every point as CSV.")
    ] = None,
    plot: PlotFile = None,
) -> None:
    """Evaluate the closed formula over a grid of α, c and K, and show where it is best."""
    csv_path = check_out_file("--csv", csv) if csv is not None else None
    plot_path = check_out_file("--plot", plot, endings=PLOT_ENDINGS) if plot is not None else None
    grid = _grid(alpha, c, k)
    if plot_path is not None:
        from tuner.report.figures import formula_figure

        write_file("--plot", plot_path, [formula_figure(grid, plot_path.suffix.lower()[1:])])
    if csv_path is not None:
        from tuner.report.formula_export import formula_csv

        write_file("--csv", csv_path, (chunk.encode() for chunk in formula_csv(grid)))
    _show(grid)


def _grid(alpha: str | None, c: str | None, k: str | None) -> FormulaGrid:
    if alpha is None:
        raise InputError(
            "--alpha is needed, such as --alpha 0.5,0.7,0.85 or --alpha 0.5:0.95:0.05."
        )
    rates = read_reals("--alpha", alpha)
    costs = None if c is None else read_reals("--c", c)
    counts = read_wholes("--k", DEFAULT_K if k is None else k)
    check_grid_size(len(rates), 1 if costs is None else len(costs), len(counts))
    return sweep_formula(rates, costs, counts)


def _show(grid: FormulaGrid) -> None:
    output = current_output()
    if output.json:
        from tuner.report.formula_export import formula_json

        output.has_emitted = True
        for chunk in formula_json(grid):
            sys.stdout.write(chunk)
        return
    from tuner.report.formula import render_formula_sweep

    console = output.console()
    blocks = not console.options.ascii_only
    output.show(*render_formula_sweep(grid, width=screen_width(), blocks=blocks))
