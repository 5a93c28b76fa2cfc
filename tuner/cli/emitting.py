"""Printing commands alone: ``--emit``, ``--baseline-command``, ``--bench-command``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tuner.advise.commands import baseline_command, bench_command
from tuner.cli.output import Output
from tuner.engines import pretty
from tuner.engines.commands import ACCEPTANCE_NOTE
from tuner.engines.config_file import READERS, config_mapping
from tuner.errors import InputError, MissingDataError
from tuner.records.decision import EngineCommand, Recommendation
from tuner.report.export import named_command_dict
from tuner.report.numbers import sentence

FORMS = ("shell", "argv", "json", "yaml")
SHELL_WIDTH = 100


def only_commands(
    output: Output, found: Sequence[Recommendation], form: str, *, baseline: bool, bench: bool
) -> None:
    """Print nothing but commands, in the form asked for (shell where none is).

    Raises
    ------
    InputError
        An unknown form, or one that the command does not have.
    MissingDataError
        A profile without a target, for which there is no command.
    """
    form = form or "shell"
    if form not in FORMS:
        raise InputError(f"--emit {form!r} is not a form: choose one of {', '.join(FORMS)}.")
    if bench and form in ("json", "yaml"):
        raise InputError(
            f"--bench-command is a client and has no configuration to write as {form}: "
            "take --emit shell or argv."
        )
    commands = [
        command for item in found for command in _wanted(item, baseline=baseline, bench=bench)
    ]
    if output.json:
        listed = [named_command_dict(command) for command in commands]
        output.emit_json({"schema_version": 1, "commands": listed})
        return
    output.text(_written(commands, form))
    for command in commands:
        _tell(output, command)


def _wanted(item: Recommendation, *, baseline: bool, bench: bool) -> list[EngineCommand]:
    asked = [baseline_command(item)] if baseline else []
    asked += [bench_command(item)] if bench else []
    commands = [command for command in asked or item.commands if command is not None]
    if not commands:
        raise MissingDataError(f"{item.profile} names no target, so there is no command to write.")
    return commands


def _written(commands: Sequence[EngineCommand], form: str) -> str:
    """Return one document; only shell commands stand one after the other."""
    if form == "shell":
        return "\n".join(pretty(command.argv, SHELL_WIDTH) for command in commands)
    if form == "yaml":
        return _yaml(commands)
    values: list[object] = [
        list(command.argv) if form == "argv" else command.config for command in commands
    ]
    return json.dumps(values if len(values) > 1 else values[0], ensure_ascii=False)


def _yaml(commands: Sequence[EngineCommand]) -> str:
    """Return the engine's configuration file, headed by what reads it."""
    if len(commands) > 1:
        raise InputError(
            f"--emit yaml writes the configuration of one server, not of {len(commands)}: "
            "name one profile and one command."
        )
    import yaml

    (command,) = commands
    text = yaml.safe_dump(config_mapping(command), sort_keys=False, allow_unicode=True)
    return f"# {READERS[command.engine]}\n{text}"


def _tell(output: Output, command: EngineCommand) -> None:
    """Say on stderr what whoever pastes the command should know."""
    for name, content in command.files.items():
        output.note(f"The command reads {name}, with this content:\n{content.rstrip()}")
    for item in command.warnings:
        if item.code == ACCEPTANCE_NOTE:
            output.note(f"{item.message}.")
        else:
            output.warn(f"{sentence(item.message)}.")
