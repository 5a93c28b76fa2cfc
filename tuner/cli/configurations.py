"""Reading lists of methods, draft lengths and trees from the command line."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.errors import InputError
from tuner.nearest import nearest
from tuner.records.config import TreeSetting
from tuner.records.methods import Method

#: Longest draft that a prediction is asked for; beyond it no engine default or measurement lies.
MOST_TOKENS = 64


def methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Return the methods by name."""
    found = []
    for name in names:
        known = [method.value for method in Method]
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(known)}."
            raise InputError(f"--method {name!r} is not a method: {hint}")
        found.append(Method(name))
    return tuple(found)


def draft_lengths(texts: Sequence[str]) -> tuple[int, ...]:
    """Return draft lengths from numbers and ranges ``first:last``."""
    found: set[int] = set()
    for text in texts:
        first, colon, last = text.partition(":")
        try:
            start, end = int(first), int(last if colon else first)
        except ValueError:
            raise InputError(
                f"--k {_shown(text)} is not a whole number or a range like 1:8."
            ) from None
        if not 1 <= start <= end <= MOST_TOKENS:
            raise InputError(f"--k {text!r} must lie within 1 to {MOST_TOKENS}, first before last.")
        found.update(range(start, end + 1))
    return tuple(sorted(found))


def trees(texts: Sequence[str]) -> tuple[TreeSetting, ...]:
    """Return trees from ``steps/topk/draft_tokens``."""
    found = []
    for text in texts:
        parts = text.split("/")
        # Six digits are more than any tree has, and few enough for int to read.
        if len(parts) != 3 or not all(part.isdecimal() and len(part) <= 6 for part in parts):
            raise InputError(
                f"--tree {_shown(text)} is not STEPS/TOPK/DRAFT_TOKENS, such as 5/4/8."
            )
        steps, topk, tokens = map(int, parts)
        if not (1 <= steps <= MOST_TOKENS and 1 <= topk <= MOST_TOKENS):
            raise InputError(f"--tree {text!r}: steps and topk lie within 1 to {MOST_TOKENS}.")
        if not 2 <= tokens <= 1 + topk + (steps - 1) * topk * topk:
            most = 1 + topk + (steps - 1) * topk * topk
            raise InputError(
                f"--tree {text!r}: draft tokens count the root and lie within 2 to {most} for "
                f"{steps} steps of top {topk}."
            )
        if topk == 1 and tokens != steps + 1:
            raise InputError(f"--tree {text!r}: with topk 1 the draft tokens are {steps + 1}.")
        found.append(TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens))
    return tuple(found)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"'{text[:37]}…'"
