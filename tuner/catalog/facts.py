"""Typed access to a mapping that a stranger wrote: wrong types and impossible sizes are errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.errors import InputError, Where
from tuner.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """Named values of one file. The first key that is present and not null counts."""

    values: Mapping[str, Any]
    file: str

    def find(self, *keys: str) -> tuple[str, Any]:
        """Return the first key with a value, and the value; (the first key, None) without one."""
        for key in keys:
            value = self.values.get(key)
            if value is not None:
                return key, value
        return keys[0], None

    def integer(self, *keys: str, minimum: int = 1, maximum: int) -> int | None:
        """Return a whole number between the limits, or None when no key has a value."""
        key, value = self.find(*keys)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            whole = isinstance(value, float) and value.is_integer()
            if not whole:
                raise self.error(key, value, "a whole number")
            value = int(value)
        if not minimum <= value <= maximum:
            raise self.error(key, value, f"a whole number from {minimum} to {maximum}")
        return int(value)

    def required(self, *keys: str, minimum: int = 1, maximum: int) -> int:
        """Return a whole number that must be there."""
        value = self.integer(*keys, minimum=minimum, maximum=maximum)
        if value is None:
            raise InputError(
                f"no {' or '.join(keys)}: without it the shape of the model is not known. "
                "Give the config.json of a causal language model, or sizes (params_b).",
                where=Where(file=self.file, key=keys[0]),
            )
        return value

    def flag(self, *keys: str, default: bool = False) -> bool:
        """Return a truth value."""
        key, value = self.find(*keys)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, value, "true or false")
        return value

    def text(self, *keys: str) -> str | None:
        """Return a string, or None when no key has a value."""
        key, value = self.find(*keys)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(key, value, "text")
        return value

    def items(self, *keys: str) -> Sequence[Any]:
        """Return a list, empty when no key has one; a string counts as its characters."""
        key, value = self.find(*keys)
        if value is None:
            return ()
        if not isinstance(value, list | tuple | str):
            raise self.error(key, value, "a list")
        return value

    def section(self, *keys: str) -> Facts | None:
        """Return a nested mapping, or None when there is none."""
        key, value = self.find(*keys)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(key, value, "a mapping")
        return Facts(value, self.file)

    def error(self, key: str, value: Any, wanted: str) -> InputError:
        """Return the error for a value that is not what it should be."""
        shown = repr(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "…"
        return InputError(f"{shown} is not {wanted}.", where=Where(file=self.file, key=key))
