"""An n-gram model fitted on a text: counts at every order, mixed by Witten-Bell smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tuner.errors import InputError
from tuner.simulate.models import FloatArray, IntArray, RowArray, last_tokens

#: contexts are numbered in one array up to this many (32 MB)
_MAX_DENSE = 1 << 22


class NGramModel:
    """Next-token distributions from the counts of a text.

    The distribution of order m is ``(counts + T × lower order) / (total + T)``, where T is the
    number of different tokens seen after the context (Witten and Bell 1991); order 0 is smoothed
    towards the uniform distribution. A context that was never seen has the lower order's row.

    Parameters
    ----------
    tokens : (length,) integers in [0, vocab_size)
    vocab_size : number of tokens
    order : context length m, at least 0 (an n-gram has n = m + 1)
    dtype : of the rows; single precision halves the memory that each look-up reads
    """

    def __init__(
        self,
        tokens: IntArray,
        vocab_size: int,
        order: int,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> None:
        if tokens.size == 0:
            raise InputError("an n-gram model needs a text with at least one token.")
        if vocab_size**order > np.iinfo(np.int64).max // vocab_size:
            raise InputError(f"order {order} is too long for {vocab_size} tokens.")
        self.vocab_size = vocab_size
        self.order = order
        padded = np.concatenate([np.zeros(order, dtype=np.int64), np.asarray(tokens, np.int64)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, order + 1)
        #: for each order: sorted codes of the contexts seen, and their rows (one more: unseen)
        self.levels: list[tuple[IntArray, FloatArray]] = []
        rows = np.full((1, vocab_size), 1.0 / vocab_size)
        for m in range(order + 1):
            codes = _code(windows[:, order - m : order], vocab_size)
            seen, number = np.unique(codes, return_inverse=True)
            counts = np.zeros((len(seen), vocab_size))
            np.add.at(counts, (number, windows[:, order]), 1.0)
            kinds = (counts > 0.0).sum(axis=1, keepdims=True)
            if m == 0:
                lower: FloatArray = rows
            else:
                shorter = seen % vocab_size ** (m - 1)
                lower = self._look_up(m - 1, shorter)
            rows = (counts + kinds * lower) / (counts.sum(axis=1, keepdims=True) + kinds)
            self.levels.append((seen, rows))
        self._rows = np.concatenate([rows for _, rows in self.levels]).astype(dtype)
        self._row_of: IntArray | None = None
        if vocab_size**order <= _MAX_DENSE:
            self._row_of = self._find(np.arange(vocab_size**order))

    def _look_up(self, m: int, codes: IntArray) -> FloatArray:
        """Return rows of order ``m``; every code must have been seen."""
        seen, rows = self.levels[m]
        return rows[np.searchsorted(seen, codes)]

    def probs(self, windows: IntArray) -> RowArray:
        """Return the row of the longest context seen in the text; see :class:`NextToken`."""
        codes = _code(windows, self.vocab_size)
        if self._row_of is None:
            numbers = self._find(codes.ravel()).reshape(codes.shape)
        else:
            numbers = self._row_of[codes]
        rows: RowArray = self._rows.take(numbers, axis=0)
        return rows

    def _find(self, codes: IntArray) -> IntArray:
        """Return the number of the row of each context, the longest known suffix first."""
        numbers = np.empty(codes.size, dtype=np.int64)
        open_places = np.arange(codes.size)
        first = len(self._rows)
        for m in range(self.order, -1, -1):
            seen, rows = self.levels[m]
            first -= len(rows)
            wanted = codes[open_places] % self.vocab_size**m
            at = np.minimum(np.searchsorted(seen, wanted), len(seen) - 1)
            found = seen[at] == wanted
            numbers[open_places[found]] = first + at[found]
            open_places = open_places[~found]
        return numbers


def _code(windows: IntArray, vocab_size: int) -> IntArray:
    """Return each window read as digits in base V, shape (...)."""
    place = vocab_size ** np.arange(windows.shape[-1] - 1, -1, -1, dtype=np.int64)
    return np.asarray(windows @ place, dtype=np.int64)


def text_tokens(text: str) -> tuple[IntArray, str]:
    """Return a text as character tokens, and the alphabet that they index.

    The alphabet is the sorted set of characters; token 0 is the first of them (a line break or a
    space in ordinary text), which also fills contexts that are too short.
    """
    if not text:
        raise InputError("the text is empty.")
    alphabet = "".join(sorted(set(text)))
    number = {character: index for index, character in enumerate(alphabet)}
    return np.array([number[character] for character in text], dtype=np.int64), alphabet


def text_of(tokens: IntArray, alphabet: str) -> str:
    """Return the characters of tokens."""
    return "".join(alphabet[int(token)] for token in tokens)


def windows_of(tokens: IntArray, order: int) -> IntArray:
    """Return the context before each token of a text, shape (length, order)."""
    padded = last_tokens(tokens, tokens.size + order)
    return np.lib.stride_tricks.sliding_window_view(padded, order)[: tokens.size]
