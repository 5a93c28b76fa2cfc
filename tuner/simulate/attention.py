"""A small transformer in NumPy that reads a whole draft tree in one pass.

Two things make it the same as reading each path by itself: a mask under which a node sees the
prefix and its own ancestors, and position ids that count depth instead of place in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.models import BoolArray, FloatArray, IntArray, softmax
from tuner.trees.shape import DraftTree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """One layer: attention with several heads, then a two-layer network, both residual."""

    #: (D, D) each
    query: FloatArray
    key: FloatArray
    value: FloatArray
    mix: FloatArray
    #: (D, 4 D) and (4 D, D)
    widen: FloatArray
    narrow: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transformer:
    """A decoder with sinusoidal positions (Vaswani et al. 2017), random weights."""

    #: (V, D), also used to read out
    embedding: FloatArray
    layers: tuple[Layer, ...]
    heads: int

    def logits(self, tokens: IntArray, positions: IntArray, mask: BoolArray) -> FloatArray:
        """Return logits after each token, shape (L, V).

        Parameters
        ----------
        tokens, positions : (L,) integers
        mask : (L, L), row i says which tokens i may look at
        """
        state = self.embedding[tokens] + sinusoids(positions, self.embedding.shape[1])
        for layer in self.layers:
            state = state + self._attend(layer, _normed(state), mask)
            hidden = np.maximum(_normed(state) @ layer.widen, 0.0)
            state = state + hidden @ layer.narrow
        return np.asarray(_normed(state) @ self.embedding.T)

    def _attend(self, layer: Layer, state: FloatArray, mask: BoolArray) -> FloatArray:
        length, size = state.shape
        shape = (length, self.heads, size // self.heads)
        query, key, value = (
            (state @ weights).reshape(shape).transpose(1, 0, 2)
            for weights in (layer.query, layer.key, layer.value)
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(shape[2])
        weights = softmax(np.where(mask, scores, -np.inf))
        mixed = (weights @ value).transpose(1, 0, 2).reshape(length, size)
        return np.asarray(mixed @ layer.mix)


def random_transformer(
    rng: np.random.Generator,
    *,
    vocab_size: int = 32,
    size: int = 32,
    heads: int = 4,
    num_layers: int = 2,
) -> Transformer:
    """Return a transformer with normal weights."""

    def normal(*shape: int) -> FloatArray:
        return rng.normal(scale=shape[0] ** -0.5, size=shape)

    layers = tuple(
        Layer(
            query=normal(size, size),
            key=normal(size, size),
            value=normal(size, size),
            mix=normal(size, size),
            widen=normal(size, 4 * size),
            narrow=normal(4 * size, size),
        )
        for _ in range(num_layers)
    )
    return Transformer(embedding=rng.normal(size=(vocab_size, size)), layers=layers, heads=heads)


def sinusoids(positions: IntArray, size: int) -> FloatArray:
    """Return position vectors, sines and cosines of geometric wavelengths, shape (L, D)."""
    rates = 10_000.0 ** (-np.arange(0, size, 2) / size)
    angles = positions[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def _normed(state: FloatArray) -> FloatArray:
    centred = state - state.mean(axis=-1, keepdims=True)
    return np.asarray(centred / (centred.std(axis=-1, keepdims=True) + 1e-5))


def causal_mask(length: int) -> BoolArray:
    """Return the mask of ordinary decoding: each token sees itself and what came before."""
    return np.tril(np.ones((length, length), dtype=np.bool_))


def tree_mask(tree: DraftTree, prefix_length: int) -> BoolArray:
    """Return the mask of a verify pass: prefix and tree, shape (prefix + nodes,) squared.

    The tree's root is the last token of the prefix. A node sees the prefix and its ancestors.
    """
    nodes = tree.nodes
    mask = np.zeros((prefix_length + nodes, prefix_length + nodes), dtype=np.bool_)
    mask[:prefix_length, :prefix_length] = causal_mask(prefix_length)
    mask[prefix_length:, :prefix_length] = True
    mask[prefix_length:, prefix_length:] = tree.mask()[1:, 1:]
    return mask


def tree_positions(tree: DraftTree, prefix_length: int) -> IntArray:
    """Return position ids: those of the prefix, then the last one plus each node's depth."""
    return np.concatenate([np.arange(prefix_length), prefix_length - 1 + tree.depths[1:]])


def tree_logits(
    model: Transformer, prefix: IntArray, tree: DraftTree, tokens: IntArray
) -> FloatArray:
    """Return logits after the root and after each node from one pass, shape (nodes + 1, V).

    ``tokens`` holds one token for each node below the root, shape (nodes,).
    """
    length = len(prefix)
    logits = model.logits(
        np.concatenate([prefix, tokens]), tree_positions(tree, length), tree_mask(tree, length)
    )
    return logits[length - 1 :]


def path_logits(
    model: Transformer, prefix: IntArray, tree: DraftTree, tokens: IntArray
) -> FloatArray:
    """Return the same as :func:`tree_logits` by reading the path to each node on its own."""
    rows = []
    for node in range(tree.nodes + 1):
        path: list[int] = []
        while node:
            path.append(int(tokens[node - 1]))
            node = tree.parents[node]
        text = np.concatenate([prefix, np.array(path[::-1], dtype=np.int64)])
        rows.append(model.logits(text, np.arange(len(text)), causal_mask(len(text)))[-1])
    return np.stack(rows)


def longest_accepted_path(tree: DraftTree, accepted: BoolArray) -> list[int]:
    """Return the nodes of the deepest path whose nodes are all accepted, the first of equals.

    ``accepted`` says of each node whether the target keeps it after its parent, shape (nodes + 1,);
    the root's entry is not looked at.
    """
    reached = [True] * (tree.nodes + 1)
    for node in range(1, tree.nodes + 1):
        reached[node] = reached[tree.parents[node]] and bool(accepted[node])
    depths = np.where(reached, tree.depths, -1)
    node = int(depths.argmax())
    path: list[int] = []
    while node:
        path.append(node)
        node = tree.parents[node]
    return path[::-1]


def greedy_accepted(tree: DraftTree, tokens: IntArray, logits: FloatArray) -> BoolArray:
    """Return which nodes are the target's most likely token after their parent, (nodes + 1,)."""
    best = logits.argmax(axis=1)
    parents = np.array(tree.parents[1:], dtype=np.int64)
    return np.concatenate([[True], best[parents] == tokens])
