"""The entry of ``specdec-tune``.

Deliberately imports next to nothing: an interrupt that arrives while the rest is being loaded is
caught here, and ``--help`` loads only what it prints.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # the one of typing would have to be loaded
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

INTERRUPTED = 130
#: Objects made between two searches for garbage. Loading makes some 100,000, none of them garbage:
#: with the interpreter's own 700 the searches would take a tenth of a start.
COLLECT_AFTER = 100_000


def run(argv: Sequence[str]) -> int:
    """Run one command line in this process and return its exit code; never raises."""
    from tuner.cli.boundary import guarded

    return guarded(list(argv))


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    try:
        from tuner.cli.interrupts import watch_interrupts

        watch_interrupts()
        _prepare_streams()
        code = _flush(run(sys.argv[1:]))
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        # CPython remembers an interrupt inside exec() (a dataclass being made, say) even when it
        # was handled, and would end this process by signal instead of with our code.
        os._exit(code)
    gc.freeze()  # the memory goes back as a whole; a last search would only delay the exit
    sys.exit(code)


def _prepare_streams() -> None:
    """Make printing total: a closed stream swallows, and no character can fail to encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller closed the descriptor
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            is_utf8 = (stream.encoding or "").lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="backslashreplace" if is_utf8 else _ascii_fallback())


def _ascii_fallback() -> str:
    """Return the handler that writes "a" for α and "x" for ×; loaded only where it is needed."""
    from tuner.report.symbols import register

    return register()


def _flush(code: int) -> int:
    """Write out what is buffered; a reader that went away is not an error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        print(f"standard output: {error.strerror}; the answer is incomplete.", file=sys.stderr)
        return code or 2
    return code


def _discard_stdout() -> None:
    """Point the descriptor elsewhere so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
