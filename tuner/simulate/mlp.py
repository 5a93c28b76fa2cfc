"""A small multilayer perceptron as a language model: embed the last m tokens, one hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.simulate.models import IntArray, RowArray

#: double precision for proofs, single precision for speed: everything follows the weights' own
WeightArray = NDArray[Any]

#: exp of it times any vocabulary stays far from overflow in single precision (e^88)
_SAFE_LOGIT = 60.0
#: products of one matrix multiplication: more than 2^18 and OpenBLAS starts threads, which cost
#: more than they give at this size (measured here: 5 ms instead of 0.3 ms on two busy cores)
_BLOCK_PRODUCTS = 1 << 18
#: rows of a table that covers several places
_MAX_TABLE_ROWS = 4096


class MLPModel:
    """Next-token distributions of a one-hidden-layer network.

    The first layer is linear in one-hot inputs, so it is a sum of table rows; tables of
    neighbouring places are added up beforehand as far as memory allows.

    Parameters
    ----------
    embedding : (order, V, H) weights of the first layer, by place and token
    hidden_bias : (H,)
    output : (H, V) weights of the second layer
    output_bias : (V,)
    """

    def __init__(
        self,
        embedding: WeightArray,
        hidden_bias: WeightArray,
        output: WeightArray,
        output_bias: WeightArray,
    ) -> None:
        self.embedding = embedding
        self.hidden_bias = hidden_bias
        self.output = output
        self.output_bias = output_bias
        self.order = int(embedding.shape[0])
        self.vocab_size = int(output.shape[1])
        largest = np.maximum((embedding.max(axis=1)).sum(axis=0) + hidden_bias, 0.0)
        bound = float((largest @ np.abs(output) + np.abs(output_bias)).max())
        self._needs_shift = bound > _SAFE_LOGIT
        # One more hidden unit that is always 1 carries the output bias.
        self._read_out = np.concatenate([output, output_bias[None]])
        self._groups = _grouped(embedding, hidden_bias)
        self._ones = np.ones((self.vocab_size, 1), dtype=output.dtype)

    def hidden(self, windows: IntArray) -> WeightArray:
        """Return hidden activations, ReLU(sum of rows + bias), shape (..., H)."""
        flat = windows.reshape(-1, self.order)
        active: WeightArray = self._activations(flat)[:, :-1]
        return active.reshape(*windows.shape[:-1], -1)

    def logits(self, windows: IntArray) -> WeightArray:
        """Return unnormalised log-probabilities, shape (..., V)."""
        flat = self._activations(windows.reshape(-1, self.order))
        values: WeightArray = flat @ self._read_out
        return values.reshape(*windows.shape[:-1], self.vocab_size)

    def probs(self, windows: IntArray) -> RowArray:
        """Return next-token distributions; see :class:`NextToken`."""
        flat = windows.reshape(-1, self.order)
        rows = np.empty((len(flat), self.vocab_size), dtype=self.output.dtype)
        block = max(_BLOCK_PRODUCTS // self._read_out.size, 1)
        for start in range(0, len(flat), block):
            weights = rows[start : start + block]
            np.matmul(self._activations(flat[start : start + block]), self._read_out, out=weights)
            if self._needs_shift:
                weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights @ self._ones
        return rows.reshape(*windows.shape[:-1], self.vocab_size)

    def _activations(self, windows: IntArray) -> WeightArray:
        """Return hidden activations with the unit that is always 1, shape (B, H + 1)."""
        total: WeightArray | None = None
        for start, stop, table in self._groups:
            number = windows[:, start]
            for place in range(start + 1, stop):
                number = number * self.vocab_size + windows[:, place]
            rows = table.take(number, axis=0)
            total = rows if total is None else np.add(total, rows, out=total)
        assert total is not None
        return np.maximum(total, 0.0, out=total)


def _grouped(
    embedding: WeightArray, hidden_bias: WeightArray
) -> list[tuple[int, int, WeightArray]]:
    """Return tables that cover neighbouring places (start, stop), shape (V ** places, H + 1)."""
    order, vocab, size = embedding.shape
    groups: list[tuple[int, int, WeightArray]] = []
    start = 0
    while start < order:
        table = np.zeros((1, size + 1), dtype=embedding.dtype)
        if start == 0:
            table[0, :size], table[0, size] = hidden_bias, 1.0
        stop = start
        while stop < order and (stop == start or len(table) * vocab <= _MAX_TABLE_ROWS):
            place = np.concatenate([embedding[stop], np.zeros((vocab, 1), table.dtype)], axis=1)
            table = (table[:, None] + place[None]).reshape(-1, size + 1)
            stop += 1
        groups.append((start, stop, table))
        start = stop
    return groups


def random_mlp(
    rng: np.random.Generator,
    *,
    vocab_size: int,
    order: int,
    hidden_size: int,
    sharpness: float = 1.0,
    dtype: type[np.floating[Any]] = np.float64,
) -> MLPModel:
    """Return a network with normal weights; ``sharpness`` is about the logits' deviation."""

    def normal(scale: float, *shape: int) -> WeightArray:
        return rng.normal(scale=scale, size=shape).astype(dtype)

    return MLPModel(
        embedding=normal(order**-0.5, order, vocab_size, hidden_size),
        hidden_bias=np.zeros(hidden_size, dtype=dtype),
        # ReLU of a unit normal has mean square 1/2
        output=normal(sharpness * (2.0 / hidden_size) ** 0.5, hidden_size, vocab_size),
        output_bias=np.zeros(vocab_size, dtype=dtype),
    )


def perturbed_mlp(model: MLPModel, magnitude: float, rng: np.random.Generator) -> MLPModel:
    """Return the network with normal noise on its output weights, relative to their deviation."""
    noise = rng.normal(size=model.output.shape)
    scale = magnitude * float(model.output.std())
    return MLPModel(
        model.embedding,
        model.hidden_bias,
        (model.output + scale * noise).astype(model.output.dtype),
        model.output_bias,
    )
