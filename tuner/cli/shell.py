"""The Typer application: a group that imports a command's module only when it is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tuner import __version__
from tuner.cli.boundary import SCHEMA_VERSION, contain, usage_error
from tuner.cli.commands import COMMANDS
from tuner.cli.options import common
from tuner.cli.output import current_output, start_output
from tuner.cli.parameters import QuickCommand, read_without_pydantic
from tuner.errors import InputError
from tuner.nearest import nearest

PROGRAM = "specdec-tune"
HELP = "Tune speculative decoding: what to run, by how much it helps, and the command to paste."
CONTEXT = {"help_option_names": ["-h", "--help"]}
PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # rich would be loaded to print help
    "pretty_exceptions_enable": False,
}
#: base of what Typer raises for a wrong command line; it has no public name of its own
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class LazyGroup(TyperGroup):
    """Lists commands from a static table and loads one when it is needed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.params += _common_parameters()

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, prepared."""
        return read_without_pydantic(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command's module and build the command."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write names and help lines from the table, loading nothing."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; a misspelt one is answered with the nearest name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = nearest(name, COMMANDS)
            hint = f"Did you mean {near}?" if near else f"Known: {', '.join(COMMANDS)}."
            raise InputError(f"there is no command {name!r}. {hint}")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run inside the error boundary, so that a process and a test see the same exit code."""
        argv = list(sys.argv[1:] if args is None else args)
        start_output()
        code = contain(lambda: self.run(argv), argv)
        if standalone_mode:
            sys.exit(code)
        return code

    def run(self, argv: list[str]) -> int:
        """Parse and run one command line; what it raises is the boundary's business."""
        try:
            with self.make_context(PROGRAM, list(argv)) as context:
                self.invoke(context)
        except typer.Exit as stop:
            return stop.exit_code
        except typer.Abort:
            raise KeyboardInterrupt from None
        except UsageError as error:
            return usage_error(_sentence(error), _help_hint(error, argv), argv)
        return 0


app = typer.Typer(name=PROGRAM, cls=LazyGroup, context_settings=CONTEXT, **PLAIN)


@app.callback(invoke_without_command=True, help=HELP)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Answer what is asked of the program rather than of a command."""
    if version:
        output = current_output()
        if output.json:
            output.emit_json({"schema_version": SCHEMA_VERSION, "tool_version": __version__})
        else:
            output.text(f"{PROGRAM} {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        if not current_output().json:
            print(context.get_help(), file=sys.stderr)
        raise InputError("no command was given.")


def run_shell(argv: list[str]) -> int:
    """Run one command line and return the exit code."""
    code = get_command(app).main(args=argv, standalone_mode=False)
    return int(code)


def _load(name: str) -> Any:
    """Build the command from the function of the same name in ``tuner.cli.<name>``."""
    function = getattr(import_module(f"tuner.cli.{name}"), name)
    holder = typer.Typer(**PLAIN)
    holder.command(name, cls=QuickCommand, context_settings=CONTEXT, short_help=COMMANDS[name])(
        function
    )
    command = get_command(holder)
    command.params += _common_parameters()
    return command


@cache
def _common_parameters() -> list[Any]:
    holder = typer.Typer(**PLAIN)
    holder.command()(common)
    parameters = list(get_command(holder).params)
    for parameter in parameters:
        parameter.expose_value = False
    return parameters


def _sentence(error: Exception) -> str:
    text = str(error.format_message())  # type: ignore[attr-defined]
    return text[:1].lower() + text[1:]


def _help_hint(error: Exception, argv: list[str]) -> str:
    context = getattr(error, "ctx", None)
    named = next((word for word in argv if word in COMMANDS), None)
    path = context.command_path if context else f"{PROGRAM} {named}" if named else PROGRAM
    return f"Try '{path} --help'."
