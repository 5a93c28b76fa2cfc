"""``specdec-tune recommend``: the main job."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from tuner.cli.options import (
    CostModelName,
    EngineName,
    EngineVersion,
    PlotFile,
    ProfilePaths,
    SetValues,
)
from tuner.cli.output import current_output
from tuner.records.methods import CostBackend


def recommend(
    profiles: ProfilePaths,
    engine: EngineName = None,
    engine_version: EngineVersion = None,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Rows of the table of candidates.")
    ] = 6,
    set_: SetValues = None,
    cost_model: CostModelName = CostBackend.BUILTIN,
    allow_lossy: Annotated[
        bool,
        typer.Option(
            "--allow-lossy",
            help="Consider acceptance rules that change the output; refused where nothing was "
            "measured under them.",
        ),
    ] = False,
    emit: Annotated[
        str,
        typer.Option(
            "--emit",
            metavar="FORM",
            help="Only the command: shell; argv, a JSON list; json, the speculative settings; "
            "yaml, the file for the engine's --config.",
        ),
    ] = "",
    fail_if: Annotated[
        str,
        typer.Option("--fail-if", metavar="EXPR", help="Exit with 1 when it holds: 'speedup<1.1'."),
    ] = "",
    baseline_command: Annotated[
        bool, typer.Option("--baseline-command", help="Print the command of plain decoding.")
    ] = False,
    bench_command: Annotated[
        bool, typer.Option("--bench-command", help="Print the command that measures a server.")
    ] = False,
    plot: PlotFile = None,
) -> None:
    """Decide for each profile: what to run, why, and the command to paste."""
    from tuner.advise.knowledge import shipped_knowledge
    from tuner.advise.lossy import require_lossy_evidence
    from tuner.advise.recommend import recommend as decide
    from tuner.cli.reading import read

    output = current_output()
    gate = plot_path = None
    if fail_if:
        from tuner.advise.gates import parse_gate

        gate = parse_gate(fail_if)
    if plot:
        from tuner.cli.files import PLOT_ENDINGS, check_out_file

        plot_path = check_out_file("--plot", plot, endings=PLOT_ENDINGS)
    read_profiles = [read(name, set_, engine, engine_version) for name in profiles]
    said = [require_lossy_evidence(profile) for profile in read_profiles if allow_lossy]
    found = [decide(profile, shipped_knowledge(cost_model)) for profile in read_profiles]
    if said:
        found = [
            replace(item, warnings=(warning, *item.warnings))
            for item, warning in zip(found, said, strict=True)
        ]
    if plot_path is not None:
        from tuner.cli.recommend_plot import write_recommendation_plot

        write_recommendation_plot(plot_path, read_profiles, found)
    if emit or baseline_command or bench_command:
        from tuner.cli.emitting import only_commands

        only_commands(output, found, emit, baseline=baseline_command, bench=bench_command)
    elif output.json:
        from tuner.report.export import recommendation_document

        output.emit_json(recommendation_document(found))
    else:
        from tuner.cli.output import screen_width
        from tuner.report.recommendation import render_recommendations

        output.show(
            *render_recommendations(found, width=screen_width(), top=top, quiet=output.quiet)
        )
    if gate is not None:
        gate.check(found)
