"""``--set key=value``: values laid over a profile before it is validated."""

from __future__ import annotations

from tuner.errors import InputError, Where
from tuner.profile.nodes import Kind, Node, read_tree

OPTION = "--set"


def lay_over(root: Node, settings: list[str]) -> None:
    """Change ``root`` in place, one setting after the other."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise InputError(
                f"{setting!r} is not possible: KEY=VALUE, such as workload.batch=8.",
                where=Where(file=OPTION),
            )
        value = read_value(text, key.strip())
        if key.strip() == "target" and value.kind is Kind.TEXT:
            value = target_node(value.text)
        set_value(root, key.strip(), value)


def target_node(text: str) -> Node:
    """Return a model id, or the mapping that a config or GGUF file needs."""
    for ending, key in ((".json", "config"), (".gguf", "gguf")):
        if text.lower().endswith(ending):
            return Node(
                Kind.MAPPING, None, OPTION, entries={key: (text_node(key), text_node(text))}
            )
    return text_node(text)


def text_node(text: str) -> Node:
    """Return text as it stands, whatever YAML would make of it."""
    return Node(Kind.TEXT, None, OPTION, text, text)


def read_value(text: str, key: str) -> Node:
    """Return the value that ``text`` is in YAML; nothing = null."""
    if not text.strip():
        return Node(Kind.NULL, None, OPTION)
    try:
        node = read_tree(text, OPTION)
    except InputError as error:
        raise InputError(
            f"{text!r} is not a value: {error.message}", where=Where(file=OPTION, key=key)
        ) from None
    _forget_lines(node)
    return node


def _forget_lines(node: Node) -> None:
    node.line = None
    for item in node.items:
        _forget_lines(item)
    for key, value in node.entries.values():
        _forget_lines(key)
        _forget_lines(value)


def set_value(root: Node, key: str, value: Node) -> None:
    """Put ``value`` at a dotted key; sections on the way are made where they are missing."""
    parts = key.split(".")
    node = root
    for depth, part in enumerate(parts[:-1]):
        node = _step(node, part, ".".join(parts[: depth + 1]))
    last = parts[-1]
    if node.kind is Kind.SEQUENCE:
        _step(node, last, ".".join(parts))
        node.items[int(last)] = value
        return
    label = Node(Kind.TEXT, None, OPTION, last, last)
    node.entries[last] = (label, value)


def _step(node: Node, part: str, dotted: str) -> Node:
    if node.kind is Kind.SEQUENCE:
        is_place = part.isdecimal() and len(part) <= 9  # int refuses very long texts
        if not is_place or int(part) >= len(node.items):
            raise InputError(
                f"there is no entry {part[:60]!r}: the list has {len(node.items)}.",
                where=Where(file=OPTION, key=dotted),
            )
        return node.items[int(part)]
    entry = node.entries.get(part)
    inner = entry[1] if entry else None
    if inner is None or inner.kind is Kind.NULL:
        inner = Node(Kind.MAPPING, None, OPTION)
        node.entries[part] = (Node(Kind.TEXT, None, OPTION, part, part), inner)
    elif inner.kind not in (Kind.MAPPING, Kind.SEQUENCE):
        raise InputError(
            f"{inner.shown()} has no keys inside; set it as a whole.",
            where=Where(file=OPTION, key=dotted),
        )
    return inner
