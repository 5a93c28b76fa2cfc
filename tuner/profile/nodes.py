"""YAML text → a small tree of values with their lines. No object is ever constructed.

Only the composer of libyaml runs: it knows lines and resolves plain scalars, and has no
constructor that could be abused. Limits hold before anything is looked at in detail.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

import yaml

from tuner.errors import InputError, Problem, ProfileError, Where

MAX_BYTES = 1 << 20
MAX_DEPTH = 16
MAX_NODES = 20_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})\Z")
_REAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")


class Kind(StrEnum):
    """What a node is, as YAML reads it."""

    MAPPING = "a mapping"
    SEQUENCE = "a list"
    NULL = "nothing"
    FLAG = "true or false"
    WHOLE = "a whole number"
    REAL = "a number"
    TEXT = "text"
    DATE = "a date"
    ODD = "a number in an unusual notation"


@dataclass(slots=True)
class Node:
    """One value with its place. ``text`` is how a scalar stands in the file."""

    kind: Kind
    line: int | None
    file: str | None
    text: str = ""
    value: str | float | bool | None = None
    items: list[Node] = field(default_factory=list)
    #: key text → (key, value) of a mapping
    entries: dict[str, tuple[Node, Node]] = field(default_factory=dict)

    def where(self, key: str) -> Where:
        """Return the place for an error about ``key``."""
        return Where(file=self.file, line=self.line, key=key or None)

    def shown(self) -> str:
        """Return the value as a sentence can show it, shortened."""
        if self.kind is Kind.MAPPING:
            return "{…}" if self.entries else "{}"
        if self.kind is Kind.SEQUENCE:
            return "[…]" if self.items else "[]"
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        if self.kind is Kind.TEXT or not text.isprintable():
            return repr(text)
        return text or "null"


def read_tree(text: str, file: str) -> Node:
    """Compose ``text`` and return its tree.

    Raises
    ------
    ProfileError
        Not one YAML document, or tags, duplicate keys or limits; all that were found.
    """
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, file) from None
    except yaml.YAMLError as error:
        raise _not_text(error, text, file) from None
    except RecursionError:
        raise InputError("nested too deeply.", where=Where(file=file)) from None
    if root is None:
        raise InputError("is empty; a profile names at least a target.", where=Where(file=file))
    walker = _Walker(file)
    tree = walker.walk(root, "", 0)
    if walker.problems:
        raise ProfileError(walker.problems)
    return tree


class _Walker:
    """Turns composer nodes into ours, within limits; an alias counts each time it is used."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.problems: list[Problem] = []

    def walk(self, node: yaml.Node, path: str, depth: int) -> Node:
        self.count += 1
        line = node.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise self.limit(line, f"nested more than {MAX_DEPTH} deep")
        if self.count > MAX_NODES:
            raise self.limit(line, f"more than {MAX_NODES:,} values, aliases written out")
        tag = node.tag
        if not tag.startswith(_PREFIX) or tag[len(_PREFIX) :] not in _KNOWN_TAGS:
            name = tag.replace(_PREFIX, "!!")
            self.problem(line, path, f"the YAML tag {name} is not read; write a plain value.")
            return Node(Kind.NULL, line, self.file)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth, line)
        if isinstance(node, yaml.SequenceNode):
            items = [
                self.walk(item, f"{path}[{position}]", depth + 1)
                for position, item in enumerate(node.value)
            ]
            return Node(Kind.SEQUENCE, line, self.file, items=items)
        return _scalar(cast("yaml.ScalarNode", node), line, self.file)

    def mapping(self, node: yaml.MappingNode, path: str, depth: int, line: int) -> Node:
        result = Node(Kind.MAPPING, line, self.file)
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_line, path, "a key must be a single word, not a list or mapping.")
                continue
            key = self.walk(key_node, path, depth + 1)
            name = key.text
            dotted = f"{path}.{name}" if path else name
            if name in result.entries:
                first = result.entries[name][0].line
                self.problem(key_line, dotted, f"given twice (first in line {first}); keep one.")
                continue
            result.entries[name] = (key, self.walk(value_node, dotted, depth + 1))
        return result

    def problem(self, line: int, key: str, message: str) -> None:
        where = Where(file=self.file, line=line, key=key or None)
        self.problems.append(Problem(where=where, message=message))

    def limit(self, line: int, what: str) -> InputError:
        return InputError(f"{what}; a profile is small.", where=Where(file=self.file, line=line))


_KNOWN_TAGS = frozenset(
    ("map", "seq", "null", "bool", "int", "float", "str", "timestamp", "merge", "value")
)


def _scalar(node: yaml.ScalarNode, line: int | None, file: str | None) -> Node:
    """Return a scalar as YAML resolved it; numbers only in plain decimal notation."""
    text = node.value
    tag = node.tag[len(_PREFIX) :]
    is_quoted = node.style in ("'", '"', "|", ">")
    if tag == "str" and (is_quoted or not _REAL.match(text)):
        return Node(Kind.TEXT, line, file, text, text)
    if tag in ("int", "float", "str"):
        return _number(text, line, file)
    if tag == "bool":
        return _flag(text, line, file)
    if tag == "null":
        return Node(Kind.NULL, line, file, text)
    if tag == "timestamp":
        return Node(Kind.DATE, line, file, text, text)
    return Node(Kind.TEXT, line, file, text, text)


def _number(text: str, line: int | None, file: str | None) -> Node:
    if _INTEGER.match(text):
        return Node(Kind.WHOLE, line, file, text, int(text))
    has_point = any(mark in text for mark in ".eE")
    if has_point and _REAL.match(text):
        return Node(Kind.REAL, line, file, text, float(text))
    if _NOT_FINITE.match(text):
        value = math.nan if text.lower().endswith("nan") else math.inf
        return Node(Kind.REAL, line, file, text, -value if text.startswith("-") else value)
    return Node(Kind.ODD, line, file, text)


def _flag(text: str, line: int | None, file: str | None) -> Node:
    """Only true and false: yes, no, on and off are flags in YAML 1.1 and text in 1.2."""
    if text.lower() in ("true", "false"):
        return Node(Kind.FLAG, line, file, text, text.lower() == "true")
    return Node(Kind.TEXT, line, file, text, text)


def _not_yaml(error: yaml.MarkedYAMLError, text: str, file: str) -> InputError:
    """Say in plain words what the composer stumbled over, at the line where it began."""
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "cannot be read"
    context = error.context or ""
    if "end of stream" in problem or "expected ',' or" in problem:
        mark = error.context_mark or mark
        what = "quote" if "quoted" in context else "bracket"
        problem = f"the {what} that opens here is not closed"
    elif "node content" in problem:
        problem = "a value is missing, or a bracket is not closed"
    elif "another document" in problem:
        problem = "a second document starts here; a profile is one document"
    elif "mapping values are not allowed" in problem:
        problem = "a second ': ' in one line; put text that contains one in quotes"
    elif "nesting depth" in problem:
        problem = "nested too deeply"
    elif mark is not None and "\t" in _indentation(text, mark.line):
        problem = "a tab indents this line; YAML allows only spaces there"
    elif "cannot start any token" in problem:
        problem = "a value cannot start with @, ` or %; put it in quotes"
    elif context:
        problem = f"{problem}, {context}"
    return InputError(
        f"not YAML: {problem}.", where=Where(file=file, line=mark.line + 1 if mark else None)
    )


def _indentation(text: str, line: int) -> str:
    lines = text.splitlines()
    found = lines[line] if line < len(lines) else ""
    return found[: len(found) - len(found.lstrip())]


def _not_text(error: yaml.YAMLError, text: str, file: str) -> InputError:
    position = getattr(error, "position", 0)
    line = text.count("\n", 0, position) + 1
    reason = getattr(error, "reason", None) or str(error)
    return InputError(f"not YAML: {reason}.", where=Where(file=file, line=line))
