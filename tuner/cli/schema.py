"""``specdec-tune schema``: the JSON Schemas of the profile and of what commands print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from tuner.cli.output import current_output
from tuner.errors import InputError
from tuner.nearest import nearest


def schema(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="profile, error, or a command with --json.")
    ] = "profile",
) -> None:
    """Print a JSON Schema (draft 2020-12).

    Without a name: the schema of a profile, for editors and checks.
    """
    known = _schemas()
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}."
        raise InputError(f"there is no schema {name!r}; {hint}")
    current_output().emit_json(known[name]())


def _schemas() -> dict[str, Callable[[], dict[str, Any]]]:
    from tuner.cli import output_schemas
    from tuner.profile.schema import profile_schema

    return {
        "profile": profile_schema,
        "recommend": output_schemas.recommend_schema,
        "predict": output_schemas.predict_schema,
        "why": output_schemas.why_schema,
        "sweep": output_schemas.sweep_schema,
        "tree": output_schemas.tree_schema,
        "simulate": output_schemas.simulate_schema,
        "verify": output_schemas.verify_schema,
        "lesson": output_schemas.lesson_schema,
        "catalog": output_schemas.catalog_schema,
        "skill": output_schemas.skill_schema,
        "init": output_schemas.init_schema,
        "error": output_schemas.error_schema,
    }
