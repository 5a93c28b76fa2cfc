"""Small pieces that all adapters use to write arguments."""

from __future__ import annotations

from tuner.errors import InputError
from tuner.records.emit import EmitRequest
from tuner.records.methods import DRAFT_KIND, DraftKind
from tuner.records.sources import Warning_


def operand(name: str) -> str:
    """Return a model name that no parser can take for an option.

    No repository id starts with a dash, so one that does is a local path; ``./`` says so.
    """
    if not name.strip():
        raise InputError("the name of a model is empty.")
    return f"./{name}" if name.startswith("-") else name


def option(flag: str, value: object) -> list[str]:
    """Return an option with its value, or nothing when the value is None."""
    return [] if value is None else [flag, f"{value:g}" if isinstance(value, float) else str(value)]


def drafter_name(request: EmitRequest) -> str | None:
    """Return what the engine is given as the drafter; None where drafts need no model of their own.

    Raises
    ------
    InputError
        The method drafts with a model and none is named.
    """
    config = request.config
    name = config.drafter.path_or_id if config.drafter else None
    if name is not None:
        return operand(name)
    kind = DRAFT_KIND[config.method]
    built_in = config.method.value in ("mtp", "dspark") or kind in (
        DraftKind.LOOKUP,
        DraftKind.NONE,
    )
    if not built_in:
        raise InputError(f"method {config.method.value} needs a drafter, and none is named.")
    return None


def warning(code: str, message: str) -> Warning_:
    """Return a warning about a command."""
    return Warning_(code=code, message=message)
