"""Options that several commands share, defined once, and the four that all have."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.cli.output import current_output
from tuner.records.methods import CostBackend, Engine


def _set_json(value: bool) -> None:
    current_output().json |= value


def _set_quiet(value: bool) -> None:
    current_output().quiet |= value


def _set_no_color(value: bool) -> None:
    current_output().no_color |= value


def _set_debug(value: bool) -> None:
    current_output().debug |= value


def common(
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document.", callback=_set_json)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No warnings, no progress.", callback=_set_quiet)
    ] = False,
    no_color: Annotated[
        bool,
        typer.Option("--no-color", help="No colour (also NO_COLOR).", callback=_set_no_color),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks.", callback=_set_debug)
    ] = False,
) -> None:
    """Carry the options that the shell adds to every command."""


ProfilePath = Annotated[
    str,
    typer.Argument(metavar="PROFILE", help="A profile: a YAML file, or the name of a shipped one."),
]

ProfilePaths = Annotated[
    list[str],
    typer.Argument(
        metavar="PROFILE...", help="Profiles: YAML files, or the names of shipped ones."
    ),
]

SetValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a value of the profile, such as workload.batch=8; repeatable.",
    ),
]

EngineName = Annotated[
    Engine | None,
    typer.Option("--engine", help="Serve with this engine instead of the profile's."),
]

CostModelName = Annotated[
    CostBackend,
    typer.Option(
        "--cost-model",
        help="Plain step times: the built-in model, or aiconfigurator where it is installed.",
    ),
]

EngineVersion = Annotated[
    str | None,
    typer.Option(
        "--engine-version", metavar="X.Y.Z", help="Version of the engine (default: newest known)."
    ),
]

PlotFile = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help="Also draw to a .png or .svg file."),
]

Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")]
