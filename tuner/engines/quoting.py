"""Argument vectors as text that POSIX shells and zsh read back unchanged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tuner.errors import InputError

#: Characters that no shell treats specially. ``=`` is left out at the start of a word: zsh expands
#: ``=name`` to the path of a command (zshexpn, "= expansion").
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*", re.ASCII)

CONTINUED = " \\\n"
INDENT = "  "
#: spaces and the backslash that ends a line
MARGIN = 2


def quote(word: str) -> str:
    """Return one word, in single quotes unless no shell would touch it."""
    if "\0" in word:
        raise InputError(f"{word!r} holds a NUL character, which no argument can carry.")
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def shell_line(argv: Sequence[str]) -> str:
    """Return the command on one line (a newline inside a word stays inside its quotes)."""
    return " ".join(map(quote, argv))


def pretty(argv: Sequence[str], width: int = 80) -> str:
    """Return the command over several lines, each option with its value.

    A quoted word that is too long for a line (the JSON of ``--speculative-config``) goes on in the
    first column of the next line: shells join ``'a'\\``, newline, ``'b'`` into one word only when
    nothing, not even a blank, stands between them.
    """
    lines: list[str] = []
    line = ""
    for group in _groups(argv):
        text = shell_line(group)
        if line and len(line) + 1 + len(text) + MARGIN <= width and "\n" not in text:
            line = f"{line} {text}"
            continue
        indent = INDENT if line else ""
        if line:
            lines.append(line)
        line = indent + text
        if len(line) + MARGIN > width:
            line = indent + _folded(group, width - MARGIN, len(indent))
    return CONTINUED.join([*lines, line])


def _groups(argv: Sequence[str]) -> list[list[str]]:
    """Split before each option, so that an option and its values stay together."""
    groups: list[list[str]] = []
    for word in argv:
        if not groups or word.startswith("-"):
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _folded(group: Sequence[str], width: int, indent: int) -> str:
    """Return an option whose last word is cut into quoted pieces, where it can be cut."""
    *head, last = group
    before = "".join(quote(word) + " " for word in head)
    pieces: list[str] = []
    current = ""
    room = width - indent - len(before)
    for part in re.split(r"(?<=, )(?=[\"\[])", last):
        if current and len(quote(current + part)) > room:
            pieces.append(quote(current))
            current, room = part, width
        else:
            current += part
    return before + "\\\n".join([*pieces, quote(current)])
