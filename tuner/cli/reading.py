"""Profiles as commands read them: changed by ``--set``, ``--engine`` and ``--engine-version``."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.profile import read_profile
from tuner.records.methods import Engine
from tuner.records.workload import Profile


def read(
    name: str,
    sets: Sequence[str] | None,
    engine: Engine | None = None,
    engine_version: str | None = None,
) -> Profile:
    """Read a profile with the command line's changes applied before it is validated."""
    changes = list(sets or ())
    if engine is not None:
        changes.append(f"engine.name={engine}")
        if engine_version is None:
            # The profile's version belongs to the profile's engine.
            changes.append("engine.version=null")
    if engine_version is not None:
        changes.append(f"engine.version={_quoted(engine_version)}")
    return read_profile(name, sets=changes)


def _quoted(text: str) -> str:
    """As a YAML string: a version is text, however much it looks like a number."""
    return "'" + text.replace("'", "''") + "'"
