"""Ctrl-C that always ends the program, once, with 130 and without a traceback.

Python drops an interrupt that happens to arrive inside a destructor or a callback of the import
system: it prints a traceback and goes on. So the interrupt is raised again, every half second,
until it gets through.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

AGAIN_S = 0.5
_interrupted = False


def watch_interrupts() -> None:
    """Take Ctrl-C over, unless the parent process asked for it to be ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    sys.unraisablehook = _hide_dropped
    signal.signal(signal.SIGINT, _raise)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _raise)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed; whatever is raised afterwards is its consequence."""
    return _interrupted


def settle() -> None:
    """Stop raising: the interrupt got through."""
    if _interrupted and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _raise(signum: int, frame: Any) -> None:
    global _interrupted
    _interrupted = True
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    raise KeyboardInterrupt


def _hide_dropped(dropped: Any) -> None:
    if not _interrupted:
        sys.__unraisablehook__(dropped)
