"""Kinds of values: each reads a node, says what it allows, and writes its own JSON Schema.

One declaration serves the validator, the schema and the documentation, so they cannot differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from tuner.errors import Problem
from tuner.frozen import dataclass
from tuner.nearest import nearest
from tuner.profile.nodes import Kind, Node


class Problems(list[Problem]):
    """What is wrong with a profile, collected while it is read."""

    def note(self, node: Node, key: str, message: str) -> None:
        """Add a problem at the place of ``node``."""
        self.append(Problem(where=node.where(key), message=message))

    def refuse(self, node: Node, key: str, allowed: str, hint: str = "") -> None:
        """Add "this value is not possible: this is"."""
        self.note(node, key, f"{node.shown()} is not possible: {allowed}.{hint}")


#: Returned by a reader whose problem has been noted.
INVALID: Any = object()


class ValueKind(Protocol):
    """Anything that a field can hold."""

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        """Return the value, or note problems and return INVALID."""

    def allowed(self) -> str:
        """Return what is allowed, as the end of a sentence."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number in a range; ``above`` excludes the lower end."""

    low: float
    high: float
    above: bool = False
    whole: bool = False

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind in (Kind.WHOLE, Kind.REAL):
            number = float(node.value)  # type: ignore[arg-type]
            if self._holds(number) and (not self.whole or number.is_integer()):
                return int(number) if self.whole else number
        problems.refuse(node, key, self.allowed(), self.hint(node))
        return INVALID

    def _holds(self, value: float) -> bool:
        if not math.isfinite(value) or value > self.high:
            return False
        return value > self.low if self.above else value >= self.low

    def hint(self, node: Node) -> str:
        """Return what to do about a number in an unusual notation."""
        if node.kind is Kind.TEXT and re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", node.text):
            return " Remove the quotes."
        if node.kind is Kind.TEXT and re.match(r"[0-9]", node.text):
            return " Write the number alone."
        return " Write plain decimal digits." if node.kind is Kind.ODD else ""

    def allowed(self) -> str:
        noun = "a whole number" if self.whole else "a number"
        if self.above:
            return f"{noun} above {self.low:g}, at most {self.high:,.0f}"
        return f"{noun} from {self.low:g} to {self.high:,.0f}"

    def schema(self) -> dict[str, Any]:
        lower = "exclusiveMinimum" if self.above else "minimum"
        return {
            "type": "integer" if self.whole else "number",
            lower: self.low,
            "maximum": self.high,
        }


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is Kind.FLAG:
            return node.value
        problems.refuse(node, key, self.allowed())
        return INVALID

    def allowed(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is not blank; ``pattern`` narrows it and ``says`` describes the pattern."""

    says: str = "a text"
    pattern: str | None = None
    max_length: int = 1000

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is Kind.TEXT:
            if self._holds(node.text):
                return node.text
            problems.refuse(node, key, self.allowed())
            return INVALID
        quoted = node.kind in (Kind.WHOLE, Kind.REAL, Kind.FLAG, Kind.DATE, Kind.ODD)
        hint = f' Put it in quotes: "{node.text}".' if quoted else ""
        problems.refuse(node, key, self.allowed(), hint)
        return INVALID

    def _holds(self, text: str) -> bool:
        if not text.strip() or "\0" in text or len(text) > self.max_length:
            return False
        return self.pattern is None or re.search(self.pattern, text) is not None

    def allowed(self) -> str:
        return self.says

    def schema(self) -> dict[str, Any]:
        pattern = self.pattern or r"\S"
        return {"type": "string", "pattern": pattern, "maxLength": self.max_length}


@dataclass(frozen=True, slots=True)
class Date:
    """A day in ISO form; YAML's own date or text."""

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        from datetime import date

        if node.kind in (Kind.DATE, Kind.TEXT) and len(node.text) == 10:
            try:
                return date.fromisoformat(node.text).isoformat()
            except ValueError:
                pass
        problems.refuse(node, key, self.allowed())
        return INVALID

    def allowed(self) -> str:
        return "a date such as 2026-05-03"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words; ``words`` maps every accepted spelling to its value."""

    #: what the schema calls it among its ``$defs``
    name: str
    words: Mapping[str, Any]
    #: spellings to name in sentences; the rest are accepted silently
    shown: tuple[str, ...]

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is Kind.TEXT and node.text in self.words:
            return self.words[node.text]
        near = nearest(node.text, self.words) if node.kind is Kind.TEXT else None
        problems.refuse(node, key, self.allowed(), f" Did you mean {near}?" if near else "")
        return INVALID

    def allowed(self) -> str:
        return f"one of {', '.join(self.shown)}"

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/$defs/{self.name}"}

    def definition(self) -> dict[str, Any]:
        """Return what the reference points at."""
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one kind, without repeats unless ``repeats``."""

    item: ValueKind
    low: int = 1
    high: int = 1000
    repeats: bool = False

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is not Kind.SEQUENCE or not self.low <= len(node.items) <= self.high:
            problems.refuse(node, key, self.allowed())
            return INVALID
        values = []
        for position, item in enumerate(node.items):
            value = self.item.read(item, f"{key}[{position}]", problems)
            if value is not INVALID and not self.repeats and value in values:
                problems.note(item, f"{key}[{position}]", f"{item.shown()} is listed twice.")
                value = INVALID
            values.append(value)
        return INVALID if any(value is INVALID for value in values) else tuple(values)

    def allowed(self) -> str:
        most = f", at most {self.high:,}" if self.high < 1000 else ""
        return f"a list; each entry {self.item.allowed()}{most}"

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.low,
            "maxItems": self.high,
            **({} if self.repeats else {"uniqueItems": True}),
        }


#: shares may be rounded to three decimals; they are normalised after this check
SHARE_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Mix:
    """One value, or a mapping from values to shares that add up to 1."""

    item: ValueKind
    example: str
    #: schema of the keys as JSON text
    key_schema: dict[str, Any] = field(default_factory=dict)

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is Kind.SEQUENCE or (node.kind is Kind.MAPPING and not node.entries):
            problems.refuse(node, key, self.allowed())
            return INVALID
        if node.kind is not Kind.MAPPING:
            before = len(problems)
            value = self.item.read(node, key, problems)
            if value is INVALID:
                del problems[before:]
                problems.refuse(node, key, self.allowed(), _hint(self.item, node))
                return INVALID
            return ((value, 1.0),)
        return self._read_shares(node, key, problems)

    def _read_shares(self, node: Node, key: str, problems: Problems) -> Any:
        shares: dict[Any, float] = {}
        before = len(problems)
        for text, (key_node, share_node) in node.entries.items():
            value = self.item.read(key_node, key, problems)
            if value is INVALID:
                continue
            share = _SHARE.read(share_node, f"{key}.{text}", problems)
            if value in shares:
                problems.note(key_node, key, f"{text} is listed twice.")
            shares[value] = share
        if len(problems) > before:
            return INVALID
        total = sum(shares.values())
        if abs(total - 1.0) > SHARE_TOLERANCE:
            problems.note(node, key, f"the shares add up to {total:g}; they must add up to 1.")
            return INVALID
        return tuple((value, share / total) for value, share in shares.items() if share > 0.0)

    def allowed(self) -> str:
        return f"{self.item.allowed()}, or shares like {self.example}"

    def schema(self) -> dict[str, Any]:
        mapping = {
            "type": "object",
            "propertyNames": self.key_schema,
            "additionalProperties": _SHARE.schema(),
            "minProperties": 1,
            "description": "value: share; the shares add up to 1",
        }
        return {"anyOf": [self.item.schema(), mapping]}


_SHARE = Number(0, 1)


def _hint(item: ValueKind, node: Node) -> str:
    if isinstance(item, Number):
        return item.hint(node)
    if isinstance(item, Choice) and node.kind is Kind.TEXT:
        near = nearest(node.text, item.words)
        return f" Did you mean {near}?" if near else ""
    return ""


@dataclass(frozen=True, slots=True)
class ByMethod:
    """One number for all methods, or a mapping from methods to numbers."""

    item: Number
    methods: Choice
    example: str

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        if node.kind is not Kind.MAPPING:
            value = self.item.read(node, key, problems)
            return INVALID if value is INVALID else ((None, value),)
        result: dict[Any, float] = {}
        before = len(problems)
        if not node.entries:
            problems.refuse(node, key, self.allowed())
        for text, (key_node, value_node) in node.entries.items():
            method = self.methods.read(key_node, key, problems)
            value = self.item.read(value_node, f"{key}.{text}", problems)
            if method in result:
                problems.note(key_node, key, f"{method} is listed twice.")
            result[method] = value
        return INVALID if len(problems) > before else tuple(result.items())

    def allowed(self) -> str:
        return f"{self.item.allowed()}, or by method like {self.example}"

    def schema(self) -> dict[str, Any]:
        mapping = {
            "type": "object",
            "propertyNames": self.methods.schema(),
            "additionalProperties": self.item.schema(),
            "minProperties": 1,
        }
        return {"anyOf": [self.item.schema(), mapping]}
