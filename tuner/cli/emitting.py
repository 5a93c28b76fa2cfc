"""Printing commands alone: ``--emit``, ``--baseline-command``, ``--bench-command``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tuner.advise.commands import baseline_command, bench_command
from tuner.cli.output import Output
from tuner.engines import pretty
from tuner.errors import InputError
from tuner.records.decision import EngineCommand, Recommendation

FORMS = ("shell", "argv", "json", "yaml")
SHELL_WIDTH = 100


def only_commands(
    output: Output, found: Sequence[Recommendation], form: str, *, baseline: bool, bench: bool
) -> None:
    """Print nothing but commands, in the form asked for (shell where none is).

    Raises
    ------
    InputError
        An unknown form.
    """
    form = form or "shell"
    if form not in FORMS:
        raise InputError(f"--emit {form!r} is not a form: choose one of {', '.join(FORMS)}.")
    commands = [
        command for item in found for command in _wanted(item, baseline=baseline, bench=bench)
    ]
    if output.json:
        listed = [{"argv": list(command.argv), "shell": command.shell} for command in commands]
        output.emit_json({"schema_version": 1, "commands": listed})
        return
    output.text("\n".join(_written(command, form) for command in commands))


def _wanted(item: Recommendation, *, baseline: bool, bench: bool) -> list[EngineCommand]:
    asked = [baseline_command(item)] if baseline else []
    asked += [bench_command(item)] if bench else []
    return [command for command in asked if command] or list(item.commands)


def _written(command: EngineCommand, form: str) -> str:
    if form == "shell":
        return pretty(command.argv, SHELL_WIDTH)
    if form == "argv":
        return json.dumps(list(command.argv), ensure_ascii=False)
    if form == "json":
        return json.dumps(command.config, ensure_ascii=False)
    import yaml

    return yaml.safe_dump(command.config, sort_keys=False, allow_unicode=True).rstrip("\n")
