"""Writing of a new profile: the values that are known, in the table's order, with comments."""

from __future__ import annotations

import re

from tuner.profile.nodes import Kind, Node, read_tree
from tuner.profile.table import PROFILE

HEADER = """\
# A workload for specdec-tune. What is left out has a default, and every result lists the
# defaults that it used. For help while editing: specdec-tune schema > profile.schema.json
# yaml-language-server: $schema=profile.schema.json
"""
COLUMN = 46
#: what YAML 1.1 takes for true or false
_FLAGS_OF_OLD = ("y", "n", "yes", "no", "on", "off")
#: text that YAML reads as it stands, unless it is a number, a date, true, false or null
_PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._/+@-]*[A-Za-z0-9])?")
#: sections that stand over several lines
BLOCKS = ("workload",)
#: what to say beside a value, where the table's own text is not enough
REMARKS = {
    "target": "or {config: config.json}, {gguf: model.gguf}, {params_b: 27}",
    "hardware": "or {memory_gb: 32, bandwidth_tb_s: 1.8, bf16_tflops: 210}",
    "engine": 'vllm, sglang, trtllm, llamacpp; version: "0.33.0" in quotes',
    "workload.task": "or shares of output tokens: {chat: 0.7, code: 0.3}",
    "workload.temperature": "or shares of output tokens: {0.0: 0.4, 1.0: 0.6}",
    "workload.batch": "sequences decoded together, or shares of time: {1: 0.5, 32: 0.5}",
    "objective": "latency, throughput or cost",
}
#: what a new profile shows as a hint when it is not given
HINTS = {
    "latency_target": "latency_target: {tpot_ms: 20}",
    "observed": "observed:\n#   - {method: none, batch: 8, output_tok_s: 1071.3}",
}


def render_profile(root: Node) -> str:
    """Return the text of a profile whose values are those of ``root``."""
    lines = [HEADER]
    for name in PROFILE.fields:
        if name in root.entries:
            lines += _entry(name, root.entries[name][1])
        elif name in HINTS:
            lines.append(f"# {HINTS[name]}")
    return "\n".join(lines) + "\n"


def flow(node: Node) -> str:
    """Return a value in YAML's one-line form."""
    if node.kind is Kind.MAPPING:
        inner = (f"{_scalar(key)}: {flow(value)}" for key, value in node.entries.values())
        return "{" + ", ".join(inner) + "}"
    if node.kind is Kind.SEQUENCE:
        return "[" + ", ".join(flow(item) for item in node.items) + "]"
    return _scalar(node)


def _entry(name: str, node: Node) -> list[str]:
    if name not in BLOCKS or node.kind is not Kind.MAPPING:
        return [_line(f"{name}: {flow(node)}", name)]
    lines = [f"{name}:"]
    for key, (_, value) in node.entries.items():
        lines.append(_line(f"  {key}: {flow(value)}", f"{name}.{key}"))
    return lines


def _line(text: str, key: str) -> str:
    remark = REMARKS.get(key)
    return text if remark is None else f"{text:<{COLUMN}} # {remark}"


def _scalar(node: Node) -> str:
    """Return a scalar as it stood, and text in quotes where plain text would be misread."""
    if node.kind is not Kind.TEXT:
        return node.text or "null"
    text = node.text
    is_plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _FLAGS_OF_OLD
    if is_plain and read_tree(text, "").kind is Kind.TEXT:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    """Return text in double quotes; what YAML would not read as it stands is escaped."""
    marks = []
    for mark in text:
        if mark in '"\\':
            marks.append("\\" + mark)
        elif mark.isprintable():
            marks.append(mark)
        else:
            marks.append(f"\\U{ord(mark):08x}")
    return '"' + "".join(marks) + '"'
