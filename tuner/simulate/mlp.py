"""A small multilayer perceptron as a language model: embed the last m tokens, one hidden layer."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, eq=False)
class MLPModel:
    """Next-token distributions of a one-hidden-layer network.

    The first layer is stored per place and token: a one-hot input of ``order * V`` units times a
    matrix is the sum of ``order`` of its rows.

    Attributes
    ----------
    embedding : (order, V, H) weights of the first layer
    hidden_bias : (H,)
    output : (H, V) weights of the second layer
    output_bias : (V,)
    """

    embedding: WeightArray
    hidden_bias: WeightArray
    output: WeightArray
    output_bias: WeightArray
    #: first layer with the bias added to place 0
    _first: WeightArray = field(init=False)
    _ones: WeightArray = field(init=False)
    #: no logit is larger in absolute value
    _logit_bound: float = field(init=False)

    def __post_init__(self) -> None:
        first = self.embedding.copy()
        first[0] += self.hidden_bias
        largest = np.maximum(first.max(axis=1).sum(axis=0), 0.0)
        bound = (largest @ np.abs(self.output) + np.abs(self.output_bias)).max()
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_ones", np.ones((self.vocab_size, 1), dtype=first.dtype))
        object.__setattr__(self, "_logit_bound", float(bound))

    @property
    def order(self) -> int:
        """How many of the last tokens the network sees."""
        return int(self.embedding.shape[0])

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return int(self.output.shape[1])

    def hidden(self, windows: IntArray) -> WeightArray:
        """Return hidden activations, ReLU(sum of rows + bias), shape (..., H)."""
        total: WeightArray = self._first[0].take(windows[..., 0], axis=0)
        for place in range(1, self.order):
            total += self._first[place].take(windows[..., place], axis=0)
        return np.maximum(total, 0.0, out=total)

    def logits(self, windows: IntArray) -> WeightArray:
        """Return unnormalised log-probabilities, shape (..., V)."""
        values: WeightArray = self.hidden(windows) @ self.output
        values += self.output_bias
        return values

    def probs(self, windows: IntArray) -> RowArray:
        """Return next-token distributions; see :class:`NextToken`."""
        flat = windows.reshape(-1, self.order)
        rows = np.empty((len(flat), self.vocab_size), dtype=self.output.dtype)
        block = max(_BLOCK_PRODUCTS // self.output.size, 1)
        for start in range(0, len(flat), block):
            weights = self.logits(flat[start : start + block])
            if self._logit_bound > _SAFE_LOGIT:
                weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            np.divide(weights, weights @ self._ones, out=rows[start : start + block])
        return rows.reshape(*windows.shape[:-1], self.vocab_size)


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
