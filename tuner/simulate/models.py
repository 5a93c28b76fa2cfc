"""Next-token distributions of a context: the only thing that the sampler knows about a model.

Every model here looks at the last ``order`` tokens; shorter contexts are filled from the left with
token 0, which plays the part of a start-of-text token.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tuner.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
RowArray = NDArray[np.floating[Any]]

#: largest allowed |sum - 1| of a distribution
SUM_TOLERANCE = 1e-6


class NextToken(Protocol):
    """A language model, as far as decoding is concerned."""

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        ...

    @property
    def order(self) -> int:
        """How many of the last tokens matter."""
        ...

    def probs(self, windows: IntArray) -> RowArray:
        """Return next-token distributions.

        Parameters
        ----------
        windows : (..., order) integers in [0, vocab_size)
            The last ``order`` tokens of each context.

        Returns
        -------
        (..., vocab_size) floats, each row non-negative with sum 1
        """
        ...


def last_tokens(context: IntArray, order: int) -> IntArray:
    """Return the last ``order`` tokens of each context, filled from the left with token 0.

    Parameters
    ----------
    context : (..., length) integers
    order : at least 0

    Returns
    -------
    (..., order) integers
    """
    tokens = np.asarray(context, dtype=np.int64)
    missing = max(order - tokens.shape[-1], 0)
    if missing:
        fill = np.zeros((*tokens.shape[:-1], missing), dtype=np.int64)
        tokens = np.concatenate([fill, tokens], axis=-1)
    return tokens[..., tokens.shape[-1] - order :]


def check_rows(rows: RowArray, name: str) -> None:
    """Raise unless every row along the last axis is a distribution."""
    if rows.shape[-1] < 1:
        raise InputError(f"{name} has an empty vocabulary; at least one token is needed.")
    if not np.isfinite(rows).all() or (rows < 0.0).any():
        raise InputError(f"{name} has a probability that is negative or not a number.")
    worst = float(np.abs(rows.sum(axis=-1) - 1.0).max())
    if worst > SUM_TOLERANCE:
        raise InputError(f"{name} has a row whose sum differs from 1 by {worst:.3g}.")


def check_pair(target: NextToken, drafter: NextToken) -> None:
    """Raise unless target and drafter speak the same vocabulary."""
    if target.vocab_size != drafter.vocab_size:
        raise InputError(
            f"the target has {target.vocab_size} tokens and the drafter {drafter.vocab_size}: "
            "the acceptance rule compares them token by token, so both need one vocabulary."
        )


class TableModel:
    """A Markov model of order m as a table of rows; order 0 is one distribution for all contexts.

    Parameters
    ----------
    rows : (V, ..., V) floats with m + 1 axes of length V
        ``rows[a, b]`` is the distribution after the two tokens ``a, b`` (order 2).

    Raises
    ------
    InputError
        If a row is not a distribution or the axes differ in length.
    """

    def __init__(self, rows: FloatArray) -> None:
        table = np.asarray(rows, dtype=np.float64)
        if table.ndim < 1 or len(set(table.shape)) != 1:
            raise InputError(f"a table needs axes of one length, not {table.shape}.")
        check_rows(table, "the table")
        self.vocab_size = int(table.shape[-1])
        self.order = table.ndim - 1
        #: one row for each window; row number = window read as digits in base V
        self.rows = np.ascontiguousarray(table.reshape(-1, self.vocab_size))
        self._place = self.vocab_size ** np.arange(self.order - 1, -1, -1, dtype=np.int64)

    def row_numbers(self, windows: IntArray) -> IntArray:
        """Return which row of the table belongs to each window, shape (...)."""
        return np.asarray(windows @ self._place, dtype=np.int64)

    def probs(self, windows: IntArray) -> RowArray:
        """Return the rows of the windows; see :class:`NextToken`."""
        rows: FloatArray = self.rows[self.row_numbers(windows)]
        return rows


def random_table(
    rng: np.random.Generator, vocab_size: int, order: int, *, sharpness: float = 1.0
) -> TableModel:
    """Return a Markov model whose logits are normal with standard deviation ``sharpness``."""
    logits = rng.normal(scale=sharpness, size=(vocab_size,) * (order + 1))
    return TableModel(softmax(logits))


def tabulate(model: NextToken) -> TableModel:
    """Return the same model as a table of all its ``vocab_size ** order`` contexts."""
    shape = (model.vocab_size,) * model.order
    count = model.vocab_size**model.order
    windows = np.indices(shape).reshape(model.order, count).T.astype(np.int64)
    rows = np.asarray(model.probs(windows), dtype=np.float64)
    return TableModel(rows.reshape(*shape, model.vocab_size))


def softmax(logits: FloatArray) -> FloatArray:
    """Return exp(logits) normalised along the last axis, safe for large logits."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normal: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return normal
