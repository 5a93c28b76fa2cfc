"""Training of small networks as drafters: on tokens, or on a target's distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.mlp import MLPModel, WeightArray, random_mlp
from tuner.simulate.models import FloatArray, IntArray, NextToken
from tuner.simulate.ngram import windows_of
from tuner.simulate.sampling import one_hot

#: Adam with its usual constants (Kingma and Ba 2015, algorithm 1)
_DECAY_1, _DECAY_2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetting:
    """How long and how fast."""

    steps: int = 600
    batch: int = 128
    learning_rate: float = 0.01


def train(
    model: MLPModel,
    windows: IntArray,
    labels: FloatArray,
    setting: TrainingSetting,
    rng: np.random.Generator,
) -> MLPModel:
    """Minimise the cross-entropy of ``labels`` under the model; constant labels apart, their KL.

    Parameters
    ----------
    model : starting point; only the last ``order`` tokens of the windows are used
    windows : (n, W) contexts, W at least the model's order
    labels : (n, V) distributions: one-hot rows for tokens, a target's rows for distillation
    setting : steps, examples a step, learning rate (falling to 0 along a cosine)
    rng : choice of examples

    Returns
    -------
    MLPModel, the trained copy
    """
    weights: list[WeightArray] = [
        model.embedding.copy(),
        model.hidden_bias.copy(),
        model.output.copy(),
        model.output_bias.copy(),
    ]
    first = [np.zeros_like(part) for part in weights]
    second = [np.zeros_like(part) for part in weights]
    seen = windows[:, windows.shape[1] - model.order :]
    for step in range(setting.steps):
        chosen = rng.integers(len(seen), size=setting.batch)
        gradients = _gradients(weights, seen[chosen], labels[chosen])
        rate = setting.learning_rate * 0.5 * (1.0 + np.cos(np.pi * step / setting.steps))
        for part, gradient, mean, square in zip(weights, gradients, first, second, strict=True):
            mean += (1.0 - _DECAY_1) * (gradient - mean)
            square += (1.0 - _DECAY_2) * (gradient**2 - square)
            corrected = mean / (1.0 - _DECAY_1 ** (step + 1))
            spread = np.sqrt(square / (1.0 - _DECAY_2 ** (step + 1)))
            part -= rate * corrected / (spread + _EPSILON)
    return MLPModel(*weights)


def _gradients(
    weights: list[WeightArray], windows: IntArray, labels: FloatArray
) -> list[WeightArray]:
    """Return the gradient of the mean cross-entropy for each array of weights."""
    embedding, hidden_bias, output, output_bias = weights
    order, vocab = embedding.shape[:2]
    before = embedding[0].take(windows[:, 0], axis=0) + hidden_bias
    for place in range(1, order):
        before += embedding[place].take(windows[:, place], axis=0)
    hidden = np.maximum(before, 0.0)
    logits = hidden @ output + output_bias
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    error = (chances - labels) / len(labels)
    back = (error @ output.T) * (hidden > 0.0)
    table = np.stack([one_hot(windows[:, place], vocab).T @ back for place in range(order)])
    return [table, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


def trained_on_tokens(
    model: MLPModel, tokens: IntArray, setting: TrainingSetting, rng: np.random.Generator
) -> MLPModel:
    """Return the model trained on which token came next in a text."""
    windows = windows_of(tokens, model.order)
    return train(model, windows, one_hot(tokens, model.vocab_size), setting, rng)


def distilled(
    model: MLPModel,
    target: NextToken,
    tokens: IntArray,
    setting: TrainingSetting,
    rng: np.random.Generator,
) -> MLPModel:
    """Return the model trained on the target's distributions at every place of a text."""
    windows = windows_of(tokens, max(model.order, target.order))
    labels = target.probs(windows[:, windows.shape[1] - target.order :])
    return train(model, windows, np.asarray(labels, dtype=np.float64), setting, rng)


def new_network(
    rng: np.random.Generator, *, vocab_size: int, order: int, hidden_size: int
) -> MLPModel:
    """Return an untrained network whose first distributions are close to uniform."""
    return random_mlp(
        rng, vocab_size=vocab_size, order=order, hidden_size=hidden_size, sharpness=0.1
    )
