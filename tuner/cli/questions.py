"""The questions that ``init`` asks on a terminal; each answer is checked before the next."""

from __future__ import annotations

import sys
from typing import NamedTuple

from tuner.cli.init import TEXT_KEYS
from tuner.errors import InputError, TunerError
from tuner.profile.fields import NameOr, Section
from tuner.profile.kinds import Problems, ValueKind
from tuner.profile.nodes import Kind, Node
from tuner.profile.overlay import OPTION, read_value, set_value, target_node
from tuner.profile.table import PROFILE


class Question(NamedTuple):
    """One question: the key that it fills, the words, and the answer to an empty line."""

    key: str
    words: str
    default: str


QUESTIONS = (
    Question("target", "Which model (a Hugging Face id, a config.json or a .gguf file)", ""),
    Question("hardware.gpu", "Which device", "H100-SXM"),
    Question("hardware.count", "How many of them", "1"),
    Question("engine.name", "Which engine (vllm, sglang, trtllm, llamacpp)", "vllm"),
    Question("workload.task", "What is written (chat, code, math, rag, summarization …)", "chat"),
    Question("workload.temperature", "At which temperature", "1.0"),
    Question("workload.batch", "How many sequences are decoded together", "1"),
    Question("workload.prompt_tokens", "How many tokens has a prompt", "1000"),
    Question("workload.output_tokens", "How many tokens has an answer", "400"),
)


def ask_missing(root: Node) -> None:
    """Ask for what is not there yet, and put the answers into ``root``."""
    for question in QUESTIONS:
        if not _is_there(root, question.key):
            set_value(root, question.key, _ask(question))


def _ask(question: Question) -> Node:
    kind = kind_of(question.key)
    hint = f" [{question.default}]" if question.default else ""
    while True:
        print(f"{question.words}?{hint} ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)
            raise InputError("the input ended before the last question; nothing was written.")
        text = line.strip() or question.default
        problem = _problem(question.key, text, kind)
        if problem is None:
            return _node(question.key, text)
        print(f"  {problem}", file=sys.stderr)


def _problem(key: str, text: str, kind: ValueKind) -> str | None:
    if not text:
        return "An answer is needed."
    problems = Problems()
    try:
        kind.read(_node(key, text), "", problems)
    except InputError as error:
        return error.message
    return problems[0].message if problems else _unknown(key, text)


def _unknown(key: str, text: str) -> str | None:
    """Say that a model or device is not known, which is better heard here than at the end."""
    from tuner.catalog import find_accelerator, find_model

    finders = {"target": find_model, "hardware.gpu": find_accelerator}
    if key not in finders or (key == "target" and target_node(text).kind is Kind.MAPPING):
        return None
    try:
        finders[key](text)
    except TunerError as error:
        return error.message
    return None


def _node(key: str, text: str) -> Node:
    if key == "target":
        return target_node(text)
    if key in TEXT_KEYS:
        return Node(Kind.TEXT, None, OPTION, text, text)
    return read_value(text, key)


def kind_of(key: str) -> ValueKind:
    """Return what the table says about a dotted key."""
    kind: ValueKind = PROFILE
    for name in key.split("."):
        section = kind.section if isinstance(kind, NameOr) else kind
        if not isinstance(section, Section):
            raise KeyError(key)
        kind = section.fields[name].kind
    return kind


def _is_there(root: Node, key: str) -> bool:
    node = root
    for name in key.split("."):
        entry = node.entries.get(name)
        if entry is None:
            return False
        node = entry[1]
    return True
