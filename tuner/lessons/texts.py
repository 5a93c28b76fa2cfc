"""The text that comes with the program, for n-gram models and training."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from tuner.simulate.models import IntArray
from tuner.simulate.ngram import text_tokens

# The text: Shakespeare, "Coriolanus", from the beginning to act II, scene 3; public domain. 60,000
# characters, as they stand at the beginning of karpathy/char-rnn@d1d7aa3,
# data/tinyshakespeare/input.txt.
#: folds case and punctuation so that 32 characters are left
_FOLD = str.maketrans({";": ",", ":": ",", "!": ".", "-": " "})


def fold(text: str) -> str:
    """Return the text in lower case with fewer punctuation marks."""
    return text.lower().translate(_FOLD)


@lru_cache(maxsize=1)
def shipped_text() -> str:
    """Return the shipped text, folded to 32 different characters."""
    return fold(files("tuner.lessons").joinpath("text/coriolanus.txt").read_text("utf-8"))


@lru_cache(maxsize=1)
def shipped_tokens() -> tuple[IntArray, str]:
    """Return the shipped text as tokens, and its alphabet."""
    return text_tokens(shipped_text())
