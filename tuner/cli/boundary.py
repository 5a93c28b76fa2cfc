"""Where exceptions become sentences and exit codes; no other place prints an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from tuner.cli.interrupts import settle, was_interrupted
from tuner.errors import ExitCode, ProfileError, TunerError, Where

SCHEMA_VERSION = 1


def guarded(argv: list[str]) -> int:
    """Run the command line and return its exit code, whatever happens inside."""

    def load_and_run() -> int:
        from tuner.cli.shell import run_shell

        return run_shell(argv)

    return contain(load_and_run, argv)


def contain(action: Callable[[], int], argv: list[str]) -> int:
    """Run ``action`` and turn what escapes from it into output and an exit code."""
    try:
        return action()
    except TunerError as error:
        return report(error, argv)
    except BrokenPipeError:
        # The reader has what it wanted ("… | head"); the last flush is silenced by the caller.
        return int(ExitCode.OK)
    except KeyboardInterrupt:
        return _interrupted(argv)
    except OSError as error:
        message = f"{error.filename or 'input or output'}: {error.strerror or error}."
        return _say(argv, int(ExitCode.USAGE), [message], message, None)
    except MemoryError:
        message = "not enough memory for this request; ask for fewer points or a smaller file."
        return _say(argv, int(ExitCode.USAGE), [message], message, None)
    except Exception as error:
        return _interrupted(argv) if was_interrupted() else _bug(error, argv)


def report(error: TunerError, argv: list[str]) -> int:
    """Print an expected failure and return its exit code."""
    problems: list[dict[str, object]] | None = None
    if isinstance(error, ProfileError):
        problems = [
            {"message": problem.message, "where": _place(problem.where)}
            for problem in error.problems
        ]
    code = int(error.exit_code)
    return _say(argv, code, error.lines(), error.message, error.where, problems)


def usage_error(message: str, hint: str, argv: list[str]) -> int:
    """Print what is wrong with the command line itself."""
    return _say(argv, int(ExitCode.USAGE), [message, hint], message, None)


def is_asked(argv: list[str], flag: str) -> bool:
    """Whether a flag stands on the command line, before any ``--``."""
    return flag in (argv[: argv.index("--")] if "--" in argv else argv)


def _interrupted(argv: list[str]) -> int:
    settle()
    return _say(argv, int(ExitCode.INTERRUPTED), ["interrupted"], "interrupted", None)


def _bug(error: BaseException, argv: list[str]) -> int:
    if is_asked(argv, "--debug"):
        import traceback

        traceback.print_exception(error)
    message = (
        f"this is a defect of specdec-tune ({type(error).__name__}: {error}). "
        "Please report it with the command line and the output of --debug."
    )
    return _say(argv, int(ExitCode.BUG), [message], message, None)


def _say(
    argv: list[str],
    code: int,
    lines: list[str],
    message: str,
    where: Where | None,
    problems: list[dict[str, object]] | None = None,
) -> int:
    from tuner.cli.output import has_emitted_json

    if is_asked(argv, "--json") and not has_emitted_json():
        error: dict[str, object] = {"code": code, "message": message, "where": _place(where)}
        if problems is not None:
            error["problems"] = problems
        document = {"schema_version": SCHEMA_VERSION, "error": error}
        _print_quietly(json.dumps(document, indent=2), sys.stdout)
    else:
        _print_quietly("\n".join(line for line in lines if line), sys.stderr)
    return code


def _print_quietly(text: str, stream: object) -> None:
    """Print, and give up in silence where nobody can read it any more."""
    try:
        print(text, file=stream, flush=True)  # type: ignore[call-overload]
    except OSError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())  # type: ignore[attr-defined]


def _place(where: Where | None) -> dict[str, object] | None:
    if where is None:
        return None
    return {"file": where.file, "line": where.line, "key": where.key}
