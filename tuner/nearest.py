"""The nearest of some known words to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like ``word``, or None when none is near.

    A word that differs only in case, hyphens or underscores is nearest of all.
    """
    import difflib

    choices = list(known)
    plain = _plain(word[:80])
    for choice in choices:
        if _plain(choice) == plain:
            return choice
    found = difflib.get_close_matches(plain, [_plain(choice) for choice in choices], 1, 0.6)
    if not found:
        return None
    return next(choice for choice in choices if _plain(choice) == found[0])


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")
