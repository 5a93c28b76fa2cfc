"""Reading of option values without Typer's own converter.

Typer 0.28 and later convert every value with pydantic, whose import costs as much as Typer's own
and would be half of what ``recommend`` needs to start. Commands here take only text, numbers,
enumerations and lists of them, so the conversion is written out; other types are left to Typer.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import partial
from typing import Any, get_args, get_origin

from typer.core import TyperCommand

from tuner.cli.help_words import word
from tuner.errors import InputError
from tuner.nearest import nearest

#: int reads no more than 4,300 digits, and float makes infinity of integers above 1e308
MAX_NUMBER_LENGTH = 60


class QuickCommand(TyperCommand):
    """A command whose parameters, the help option included, are read without pydantic."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, prepared."""
        return read_without_pydantic(super().get_params(ctx))


def read_without_pydantic(parameters: Any) -> Any:
    """Replace the conversion of every parameter whose type is simple; return them."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None:  # a Typer without pydantic
            continue
        annotation = descriptor.annotation
        kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        if kind in (bool, str, int, float) or (isinstance(kind, type) and issubclass(kind, Enum)):
            parameter.process_value = partial(_process, parameter, kind)
            if kind is not bool:
                word(parameter, kind)
    return parameters


def _process(parameter: Any, kind: type, ctx: Any, value: Any) -> Any:
    if parameter.multiple or parameter.nargs == -1:
        value = tuple(_convert(parameter, kind, item) for item in value or ())
    elif value is not None:
        value = _convert(parameter, kind, value)
    if parameter.required and parameter.value_is_missing(value):
        raise InputError(f"{_name(parameter)} is missing; see --help.")
    if parameter.callback is not None:
        value = parameter.callback(ctx, parameter, value)
    return value


def _convert(parameter: Any, kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if issubclass(kind, Enum):
        allowed = [str(member.value) for member in kind]
        if value not in allowed:
            near = nearest(str(value), allowed)
            hint = f" Did you mean {near}?" if near else ""
            raise _bad(parameter, f"{value!r} is not one of {', '.join(allowed)}.{hint}")
        return kind(value)
    return _number(parameter, kind, str(value))


def _number(parameter: Any, kind: type, text: str) -> Any:
    noun = "a whole number" if kind is int else "a number"
    if len(text) > MAX_NUMBER_LENGTH:
        raise _bad(parameter, f"'{text[:37]}…' is too long for {noun}.")
    try:
        number = kind(text)
    except ValueError:
        raise _bad(parameter, f"{text!r} is not {noun}.") from None
    if not math.isfinite(number):
        raise _bad(parameter, f"{text!r} is not a finite number.")
    lowest, highest = parameter.min, parameter.max
    if lowest is not None and number < lowest:
        raise _bad(parameter, f"{text} is not possible: at least {lowest:g}.")
    if highest is not None and number > highest:
        raise _bad(parameter, f"{text} is not possible: at most {highest:g}.")
    return number


def _bad(parameter: Any, message: str) -> InputError:
    return InputError(f"{_name(parameter)}: {message}")


def _name(parameter: Any) -> str:
    """Return how the parameter is written on the command line: its long option, or its metavar."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())
