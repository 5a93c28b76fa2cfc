"""How ``--help`` names what an option takes: in words, not in Python's types."""

from __future__ import annotations

from typing import Any

WORDS: dict[type, str] = {int: "N", float: "NUMBER", str: "TEXT"}


def word(parameter: Any, kind: type) -> None:
    """Give a parameter its words; one whose Typer has no such hooks keeps its own."""
    if not hasattr(parameter, "display_type_rich"):
        return
    if parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: ""
        parameter._usage_display_name = lambda: _usage(parameter)
    elif parameter.metavar is None and kind in WORDS:
        parameter.metavar = WORDS[kind]
    parameter._get_number_range_help_str = lambda: _range(parameter)


def _usage(parameter: Any) -> str:
    """Return the name as it stands in the usage line: in brackets where it may be left out."""
    name = str(parameter.metavar or parameter.name.upper()).strip("[]")
    return name if parameter.required else f"[{name}]"


def _range(parameter: Any) -> str | None:
    low, high = parameter.min, parameter.max
    if low is None and high is None:
        return None
    if high is None:
        return f"{low:g} or more"
    return f"at most {high:g}" if low is None else f"{low:g} to {high:g}"
