"""Sections: named fields, unknown keys, and what is required."""

from __future__ import annotations

from typing import Any

from tuner.frozen import dataclass
from tuner.nearest import nearest
from tuner.profile.kinds import INVALID, Problems, Text, ValueKind
from tuner.profile.nodes import Kind, Node


@dataclass(frozen=True, slots=True)
class Field:
    """One key: what it holds, what it is when left out, and why."""

    kind: ValueKind
    doc: str
    required: bool = False
    #: the value when left out, as a reader of a profile would write it; None = see ``reason``
    default: Any = None
    #: what leaving it out means, and why
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with known keys. A key whose value is null counts as left out."""

    fields: dict[str, Field]
    what: str
    #: bare key → dotted key, for keys that people put into the wrong section
    elsewhere: dict[str, str]

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        """Return the values of the keys that are given."""
        if node.kind is not Kind.MAPPING:
            problems.refuse(node, key, self.allowed())
            return INVALID
        values: dict[str, Any] = {}
        for name, (key_node, value_node) in node.entries.items():
            field = self.fields.get(name)
            dotted = f"{key}.{name}" if key else name
            if field is None:
                self._unknown(key_node, name, key, problems)
            elif value_node.kind is Kind.NULL:
                if field.required:
                    problems.note(value_node, dotted, f"is needed: {field.kind.allowed()}.")
            else:
                values[name] = field.kind.read(value_node, dotted, problems)
        for name, field in self.fields.items():
            if field.required and name not in node.entries:
                dotted = f"{key}.{name}" if key else name
                problems.note(node, dotted, f"is missing: {field.kind.allowed()}.")
        return values

    def _unknown(self, node: Node, name: str, key: str, problems: Problems) -> None:
        dotted = f"{key}.{name}" if key else name
        if name == "<<":
            problems.note(node, dotted, "merge keys are not read; write the values out.")
            return
        near = nearest(name, self.fields)
        if near is not None:
            meant = f"{key}.{near}" if key else near
        else:
            meant = self.elsewhere.get(name, "")
        hint = f"Did you mean {meant}?" if meant else f"Known here: {', '.join(self.fields)}."
        problems.note(node, dotted, f"unknown key. {hint}")

    def allowed(self) -> str:
        """Return what is allowed, as the end of a sentence."""
        names = ", ".join(list(self.fields)[:6])
        return f"{self.what} with {names}" + (", …" if len(self.fields) > 6 else "")

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the mapping."""
        required = [name for name, field in self.fields.items() if field.required]
        return {
            "type": "object",
            "properties": {name: field_schema(field) for name, field in self.fields.items()},
            "additionalProperties": False,
            **({"required": required} if required else {}),
        }


@dataclass(frozen=True, slots=True)
class NameOr:
    """Text, or a section."""

    name: Text
    section: Section

    def read(self, node: Node, key: str, problems: Problems) -> Any:
        """Return the text or the values of the section."""
        if node.kind is Kind.MAPPING:
            return self.section.read(node, key, problems)
        if node.kind is Kind.SEQUENCE:
            problems.refuse(node, key, self.allowed())
            return INVALID
        return self.name.read(node, key, problems)

    def allowed(self) -> str:
        """Return what is allowed, as the end of a sentence."""
        return self.name.allowed()

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the two forms."""
        return {"anyOf": [self.name.schema(), self.section.schema()]}


def field_schema(field: Field) -> dict[str, Any]:
    """Return the JSON Schema of one field, its documentation and default included."""
    schema = field.kind.schema()
    text = field.doc + (f" Left out: {field.reason}." if field.reason else "")
    documented: dict[str, Any] = {"description": text}
    if field.default is not None:
        documented["default"] = field.default
    return {**documented, **(schema if field.required else _or_null(schema))}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow null, which counts as left out."""
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
