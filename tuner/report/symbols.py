"""What to write instead of α, × or ▸ on a stream whose encoding cannot carry them.

Tables and paragraphs are rewritten before they are laid out, so a replacement may be a word. What
is written past them (plots, help, an ellipsis in a shortened name) meets the codec's error handler.
"""

from __future__ import annotations

import codecs

ERROR_HANDLER = "specdec-ascii"

_REPLACEMENTS = {
    "α": "alpha",
    "τ": "tau",
    "×": "x",
    "±": "+-",
    "÷": "/",
    "–": "-",
    "−": "-",
    "—": "-",
    "…": "...",
    "▸": ">",
    "◂": "<",
    "▲": "^",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "²": "2",
    "Σ": "sum",
    "✓": "y",
    "’": "'",
    "“": '"',
    "”": '"',
    "\u00a0": " ",
    "\u202f": " ",
}


def encodable(text: str, encoding: str) -> str:
    """Return ``text`` in characters that the encoding has; known symbols become words."""
    if text.isascii() or encoding.lower().replace("-", "") == "utf8":
        return text
    return text.encode(encoding, register()).decode(encoding)


def to_ascii(text: str) -> str:
    """Return ``text`` with every known symbol replaced; other characters become "?".

    A dot between spaces separates and becomes a bar; any other dot multiplies.
    """
    text = text.replace(" · ", " | ").replace("·", "*")
    return "".join(char if char.isascii() else _REPLACEMENTS.get(char, "?") for char in text)


def replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Serve as a codec error handler: write the replacement of what cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    start, end = error.start, error.end
    if error.object[max(start - 1, 0) : end + 1] == " · ":
        return "|", end
    return to_ascii(error.object[start:end]), end


def register() -> str:
    """Register the handler and return its name, for ``stream.reconfigure(errors=…)``."""
    codecs.register_error(ERROR_HANDLER, replace_unencodable)
    return ERROR_HANDLER
