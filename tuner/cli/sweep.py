"""``sweep``: the closed formula over a grid, or one profile over batch, temperature or K."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.files import PLOT_ENDINGS, check_out_file, write_file
from tuner.cli.options import EngineName, EngineVersion, PlotFile, SetValues
from tuner.cli.output import current_output, screen_width
from tuner.cli.ranges import read_doubling, read_reals, read_wholes
from tuner.errors import InputError
from tuner.optimize.grid import check_grid_size, sweep_formula
from tuner.records.methods import Engine
from tuner.records.sweep import FloatArray, FormulaGrid, SweepAxis
from tuner.records.workload import MOST_TEMPERATURE

DEFAULT_K = "1:10"
#: a sweep of a profile evaluates the whole main path once a value
MOST_VALUES = 512
#: how the values of an axis are written, and their limits
_AXES: dict[SweepAxis, tuple[Callable[[str, str], FloatArray], float, float]] = {
    SweepAxis.BATCH: (read_doubling, 1.0, math.inf),
    SweepAxis.TEMPERATURE: (read_reals, 0.0, MOST_TEMPERATURE),
    SweepAxis.DRAFT_TOKENS: (read_wholes, 1.0, 64.0),
}


def sweep(
    profile: Annotated[
        str | None,
        typer.Argument(metavar="PROFILE", help="Sweep this profile instead of the formula."),
    ] = None,
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
    over: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS=LIST",
            help="With a profile: batch=1:256, temperature=0:1.2:0.1 or k=1:10.",
        ),
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Also write every point as CSV.")
    ] = None,
    plot: PlotFile = None,
    engine: EngineName = None,
    engine_version: EngineVersion = None,
    set_: SetValues = None,
) -> None:
    """Evaluate a grid of α, c and K by the closed formula, or a profile over its load."""
    csv_path = check_out_file("--csv", csv) if csv is not None else None
    plot_path = check_out_file("--plot", plot, endings=PLOT_ENDINGS) if plot is not None else None
    if profile is None:
        for option, value in (("--over", over), ("--set", set_), ("--engine", engine)):
            if value:
                raise InputError(f"{option} needs a profile: specdec-tune sweep PROFILE {option} …")
        _sweep_formula(alpha, c, k, csv_path, plot_path)
        return
    for option, text in (("--alpha", alpha), ("--c", c), ("--k", k)):
        if text is not None:
            raise InputError(f"{option} belongs to the formula; a profile is swept with --over.")
    axis, values = _axis(over)
    _sweep_profile(profile, axis, values, set_, engine, engine_version, csv_path, plot_path)


def _sweep_formula(
    alpha: str | None, c: str | None, k: str | None, csv_path: Path | None, plot_path: Path | None
) -> None:
    grid = _grid(alpha, c, k)
    if plot_path is not None:
        from tuner.report.figures import formula_figure

        write_file("--plot", plot_path, [formula_figure(grid, plot_path.suffix.lower()[1:])])
    if csv_path is not None:
        from tuner.report.formula_export import formula_csv

        write_file("--csv", csv_path, (chunk.encode() for chunk in formula_csv(grid)))
    output = current_output()
    if output.json:
        from tuner.report.formula_export import formula_json

        output.has_emitted = True
        for chunk in formula_json(grid):
            sys.stdout.write(chunk)
        return
    from tuner.report.formula import render_formula_sweep

    blocks = not output.console().options.ascii_only
    output.show(*render_formula_sweep(grid, width=screen_width(), blocks=blocks))


def _grid(alpha: str | None, c: str | None, k: str | None) -> FormulaGrid:
    if alpha is None:
        raise InputError(
            "--alpha is needed, such as --alpha 0.5,0.7,0.85 or --alpha 0.5:0.95:0.05; "
            "or name a profile and --over."
        )
    rates = read_reals("--alpha", alpha)
    costs = None if c is None else read_reals("--c", c)
    counts = read_wholes("--k", DEFAULT_K if k is None else k)
    check_grid_size(len(rates), 1 if costs is None else len(costs), len(counts))
    return sweep_formula(rates, costs, counts)


def _sweep_profile(
    name: str,
    axis: SweepAxis,
    values: Sequence[float],
    sets: Sequence[str] | None,
    engine: Engine | None,
    engine_version: str | None,
    csv_path: Path | None,
    plot_path: Path | None,
) -> None:
    from tuner.advise.over import sweep_profile
    from tuner.cli.reading import read

    found = sweep_profile(read(name, sets, engine, engine_version), axis, values)
    if plot_path is not None:
        from tuner.report.recommendation_figure import profile_sweep_figure

        write_file("--plot", plot_path, [profile_sweep_figure(found, plot_path.suffix.lower()[1:])])
    if csv_path is not None:
        from tuner.report.profile_sweep_export import profile_sweep_csv

        write_file("--csv", csv_path, [profile_sweep_csv(found).encode()])
    output = current_output()
    if output.json:
        from tuner.report.profile_sweep_export import profile_sweep_document

        output.emit_json(profile_sweep_document(found))
        return
    from tuner.report.profile_sweep import render_profile_sweep

    blocks = not output.console().options.ascii_only
    output.show(*render_profile_sweep(found, width=screen_width(), blocks=blocks))


def _axis(over: str | None) -> tuple[SweepAxis, list[float]]:
    """Read "batch=1:256", "temperature=0:1.2:0.1" or "k=1:10"."""
    if over is None:
        raise InputError(
            "--over is needed with a profile: batch=1:256, temperature=0:1.2:0.1 or k=1:10."
        )
    name, equals, text = over.partition("=")
    if not equals or name.strip() not in set(SweepAxis):
        known = ", ".join(axis.value for axis in SweepAxis)
        raise InputError(f"--over: {over!r} must be one of {known}, then = and a list or range.")
    axis = SweepAxis(name.strip())
    reader, low, high = _AXES[axis]
    values = sorted({float(value) for value in reader(f"--over {axis.value}", text)})
    for value in values:
        if not low <= value <= high:
            limits = f"from {low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
            raise InputError(f"--over {axis.value}: {value:g} is not possible: {limits}.")
    if len(values) > MOST_VALUES:
        raise InputError(
            f"--over {axis.value}: {len(values):,} values; at most {MOST_VALUES}: take a larger "
            "step or a shorter range."
        )
    return axis, values
