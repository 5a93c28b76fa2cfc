"""A drafter that feeds on its own state: trained on the target's states, or on its own.

The drafter keeps a state. Its first draft starts from the target's hidden state, every further one
from the state that the drafter itself made: what it reads while drafting is not what it read in
training, unless training unrolls the same steps.

References
----------
Bengio et al. 2015, "Scheduled Sampling" (arXiv:1506.03099); Li et al. 2024, "EAGLE"
(arXiv:2401.15077), feature regression; Li et al. 2025, "EAGLE-3" (arXiv:2503.01840),
training-time test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.batched import draw_each
from tuner.simulate.mlp import MLPModel
from tuner.simulate.models import FloatArray, IntArray, softmax
from tuner.simulate.rules import acceptance_probability


@dataclass(slots=True)
class StateDrafter:
    """state' = ReLU(state A + token row B + bias); next token from state' times a read-out."""

    carry: FloatArray
    token: FloatArray
    bias: FloatArray
    read_out: FloatArray

    def parts(self) -> list[FloatArray]:
        """Return the arrays of weights."""
        return [self.carry, self.token, self.bias, self.read_out]

    def advance(self, state: FloatArray, tokens: IntArray) -> FloatArray:
        """Return the state after one more token, shape (B, H)."""
        return np.maximum(state @ self.carry + self.token[tokens] + self.bias, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureSetting:
    """How the drafter is trained."""

    #: steps that training unrolls on the drafter's own states; 1 = only on the target's
    unrolled: int = 1
    #: weight of making the state like the target's (EAGLE's feature regression)
    state_weight: float = 0.0
    steps: int = 400
    batch: int = 128
    learning_rate: float = 0.005


def new_drafter(rng: np.random.Generator, *, vocab_size: int, size: int) -> StateDrafter:
    """Return an untrained drafter."""
    return StateDrafter(
        carry=rng.normal(scale=size**-0.5, size=(size, size)),
        token=rng.normal(scale=0.3, size=(vocab_size, size)),
        bias=np.zeros(size),
        read_out=rng.normal(scale=0.1 * size**-0.5, size=(size, vocab_size)),
    )


def target_states(target: MLPModel, text: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the target's hidden state and distribution after each place of texts.

    Parameters
    ----------
    target : network of order m
    text : (B, L) tokens

    Returns
    -------
    states : (B, L - m + 1, H)
    rows : (B, L - m + 1, V)
    """
    windows = np.lib.stride_tricks.sliding_window_view(text, target.order, axis=1)
    flat = windows.reshape(-1, target.order)
    shape = windows.shape[:2]
    states = target.hidden(flat).astype(np.float64)
    rows = np.asarray(target.probs(flat), dtype=np.float64)
    return states.reshape(*shape, -1), rows.reshape(*shape, -1)


def train_drafter(
    drafter: StateDrafter,
    target: MLPModel,
    text: IntArray,
    setting: ExposureSetting,
    rng: np.random.Generator,
) -> StateDrafter:
    """Train on texts of the target: cross-entropy to its distributions, unrolled (B, L).

    At each example the drafter starts from the target's state and reads the text's next tokens;
    after the first step its state is its own.
    """
    states, rows = target_states(target, text)
    first_token = target.order
    trained = StateDrafter(*(part.copy() for part in drafter.parts()))
    parts = trained.parts()
    means = [np.zeros_like(part) for part in parts]
    squares = [np.zeros_like(part) for part in parts]
    last = states.shape[1] - setting.unrolled
    for step in range(setting.steps):
        sequence = rng.integers(len(text), size=setting.batch)
        place = rng.integers(last, size=setting.batch)
        read = [text[sequence, first_token + place + i] for i in range(setting.unrolled)]
        wanted_rows = [rows[sequence, place + 1 + i] for i in range(setting.unrolled)]
        wanted_states = [states[sequence, place + 1 + i] for i in range(setting.unrolled)]
        gradients = _gradients(
            trained, states[sequence, place], read, wanted_rows, wanted_states, setting
        )
        rate = setting.learning_rate * 0.5 * (1.0 + np.cos(np.pi * step / setting.steps))
        for part, gradient, mean, square in zip(parts, gradients, means, squares, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            corrected = mean / (1.0 - 0.9 ** (step + 1))
            part -= rate * corrected / (np.sqrt(square / (1.0 - 0.999 ** (step + 1))) + 1e-8)
    return trained


def _gradients(
    drafter: StateDrafter,
    start: FloatArray,
    read: list[IntArray],
    wanted_rows: list[FloatArray],
    wanted_states: list[FloatArray],
    setting: ExposureSetting,
) -> list[FloatArray]:
    """Return gradients of the summed loss by going back through the unrolled steps."""
    inputs, outputs = [start], []
    for tokens in read:
        outputs.append(drafter.advance(inputs[-1], tokens))
        inputs.append(outputs[-1])
    carry, token, bias, read_out = (np.zeros_like(part) for part in drafter.parts())
    back = np.zeros_like(start)
    size = len(start)
    for i in reversed(range(len(read))):
        state = outputs[i]
        error = (softmax(state @ drafter.read_out) - wanted_rows[i]) / size
        read_out += state.T @ error
        back = back + error @ drafter.read_out.T
        back = back + setting.state_weight * (state - wanted_states[i]) / size
        back = back * (state > 0.0)
        carry += inputs[i].T @ back
        np.add.at(token, read[i], back)
        bias += back.sum(axis=0)
        back = back @ drafter.carry.T
    return [carry, token, bias, read_out]


def acceptance_by_position(
    drafter: StateDrafter,
    target: MLPModel,
    text: IntArray,
    num_speculative_tokens: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return conditional acceptance α_i of real drafting from the ends of texts, shape (N,).

    ``text`` holds contexts, shape (B, L) with L above the target's order. The drafter starts one
    token before the end: from the target's state there and the last token.
    """
    states, _ = target_states(target, text[:, :-1])
    state = drafter.advance(states[:, -1], text[:, -1])
    seen = text
    rates = []
    for _ in range(num_speculative_tokens):
        draft_rows = softmax(state @ drafter.read_out)
        target_rows = np.asarray(target.probs(seen[:, -target.order :]), dtype=np.float64)
        tokens = draw_each(draft_rows, rng)
        sequence = np.arange(len(seen))
        keep = acceptance_probability(target_rows[sequence, tokens], draft_rows[sequence, tokens])
        is_kept = rng.random(size=len(keep)) < keep
        rates.append(float(keep.mean()))
        seen = np.column_stack([seen, tokens])[is_kept]
        state = drafter.advance(state[is_kept], tokens[is_kept])
    return np.array(rates)
