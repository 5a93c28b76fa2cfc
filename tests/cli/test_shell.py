"""The shell around the commands: help, version, error boundary, what is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from tuner import __version__
from tuner.cli import boundary, schema, shell
from tuner.cli.app import run
from tuner.cli.commands import COMMANDS
from tuner.cli.output import Output, current_output, screen_width, start_output
from tuner.errors import (
    ExitCode,
    FindingError,
    InfeasibleError,
    InputError,
    MissingDataError,
    Where,
)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    start_output()
    yield
    start_output()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"specdec-tune {__version__}\n"


def test_version_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version", "--json"]) == 0
    expected = {"schema_version": 1, "tool_version": __version__}
    assert json.loads(capsys.readouterr().out) == expected


@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_lists_every_command_on_a_line_of_its_own(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.split("\n")
    assert max(map(len, lines)) <= 80
    for name, text in COMMANDS.items():
        assert any(line.split() == [name, *text.split()] for line in lines), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_common_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--json", "--quiet", "--no-color", "--debug", "--help"):
        assert option in out
    assert f"Usage: specdec-tune {name}" in out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no"), 2),
        (InfeasibleError("no"), 3),
        (MissingDataError("no"), 4),
        (FindingError("no"), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("no"), 70),
        (RecursionError("no"), 70),
        (BrokenPipeError(), 0),
        (MemoryError(), 2),
        (PermissionError(13, "Permission denied", "x.json"), 2),
    ],
)
def test_each_failure_has_its_exit_code(error: BaseException, code: int) -> None:
    def fail() -> int:
        raise error

    assert boundary.contain(fail, []) == code


def test_the_place_comes_before_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    boundary.report(InputError("is odd.", where=Where(file="a.yaml", line=3, key="b.c")), [])
    assert capsys.readouterr().err == "a.yaml:3: b.c: is odd.\n"


def test_a_defect_shows_its_traceback_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ZeroDivisionError("division by zero")

    assert boundary.contain(fail, []) == ExitCode.BUG
    plain = capsys.readouterr().err
    assert plain.startswith("this is a defect of specdec-tune (ZeroDivisionError")
    assert "Traceback" not in plain
    boundary.contain(fail, ["--debug"])
    assert "Traceback" in capsys.readouterr().err


def test_a_gate_that_fails_after_the_document_adds_nothing_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> int:
        current_output().emit_json({"schema_version": 1})
        raise FindingError("the gate does not hold.")

    assert boundary.contain(fail, ["--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == {"schema_version": 1}
    assert err == "the gate does not hold.\n"


def test_what_stands_after_a_double_dash_is_no_option() -> None:
    assert boundary.is_asked(["recommend", "--json"], "--json")
    assert not boundary.is_asked(["recommend", "--", "--json"], "--json")


def test_the_runner_of_typer_sees_the_same_exit_code() -> None:
    result = CliRunner().invoke(shell.app, ["schema", "nonsense"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no schema 'nonsense'" in result.stderr


def test_common_options_may_stand_before_or_after_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for line in (["--quiet", "schema", "error"], ["schema", "error", "--quiet"]):
        assert run(line) == 0
        assert current_output().quiet
    capsys.readouterr()


def test_one_run_does_not_inherit_options_from_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["schema", "error", "--json", "--quiet"])
    assert run(["schema", "error"]) == 0
    assert not current_output().quiet
    capsys.readouterr()


def test_nan_has_no_place_in_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Output().emit_json({"value": float("nan")})


def test_warnings_go_to_stderr_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    Output().warn("old data.")
    Output(quiet=True).warn("unseen.")
    assert capsys.readouterr() == ("", "warning: old data.\n")


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("120", 120), ("7", 40), ("9999", 160), ("x", 100)]
)
def test_width_follows_columns_and_is_100_in_a_pipe(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen_width() == width


def test_every_command_is_a_function_of_the_name_of_its_module() -> None:
    for name in COMMANDS:
        command = shell.LazyGroup(name="x").get_command(None, name)
        assert isinstance(command.name, str)
        assert command.help
    assert callable(schema.schema)


def loaded_by(*argv: str) -> set[str]:
    code = (
        "import sys; from tuner.cli.app import run; run(sys.argv[1:]); "
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("line", [["--help"], ["--version"], ["recommend", "--help"]])
def test_help_loads_neither_numbers_nor_screens(line: list[str]) -> None:
    loaded = loaded_by(*line)
    assert loaded.isdisjoint({"numpy", "scipy", "rich", "yaml", "pydantic", "matplotlib"})


def test_recommend_loads_nothing_that_it_does_not_use() -> None:
    loaded = loaded_by("recommend", "chat-llama-3.3-70b")
    assert {"numpy", "yaml", "rich"} <= loaded
    unused = {"scipy", "matplotlib", "pydantic", "jsonschema", "gguf", "pandas", "click"}
    assert loaded.isdisjoint(unused)
    assert loaded.isdisjoint({"tuner.simulate", "tuner.cli.sweep", "tuner.report.plots"})


def test_a_typer_without_converter_is_left_alone() -> None:
    from tuner.cli.parameters import read_without_pydantic

    class Old:
        """A parameter of a Typer that converts by itself."""

    parameter = Old()
    assert read_without_pydantic([parameter]) == [parameter]
    assert not hasattr(parameter, "process_value")
    assert issubclass(shell.UsageError, Exception)
    assert issubclass(typer.BadParameter, shell.UsageError)
