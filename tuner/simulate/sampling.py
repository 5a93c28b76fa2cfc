"""Temperature, top-k and top-p, applied to target and drafter alike.

Speculative sampling is exact for whatever distribution it is given, so the transforms are part of
the model: wrap both with the same setting and the loop need not know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.errors import InputError
from tuner.simulate.models import FloatArray, IntArray, NextToken, RowArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSetting:
    """How a distribution is reshaped before a token is drawn."""

    #: 0 = greedy: all mass on the most likely token, the first of equals
    temperature: float = 1.0
    #: keep the k most likely tokens; None = all
    top_k: int | None = None
    #: keep the smallest set of most likely tokens with at least this mass
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < float("inf"):
            raise InputError(f"temperature {self.temperature} is not possible: 0 or more.")
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"top_k {self.top_k} is not possible: 1 or more.")
        if not 0.0 < self.top_p <= 1.0:
            raise InputError(f"top_p {self.top_p} is not possible: above 0, at most 1.")

    @property
    def changes_nothing(self) -> bool:
        """Whether distributions stay as they are."""
        return self.temperature == 1.0 and self.top_k is None and self.top_p == 1.0


def reshape_rows(rows: RowArray, setting: SamplingSetting) -> FloatArray:
    """Return distributions after temperature, then top-k, then top-p, as engines do.

    Parameters
    ----------
    rows : (..., V) distributions
    setting : what to apply

    Returns
    -------
    (..., V) distributions
    """
    shaped = np.asarray(rows, dtype=np.float64)
    if setting.temperature == 0.0:
        return one_hot(shaped.argmax(axis=-1), shaped.shape[-1])
    if setting.temperature != 1.0:
        shaped = _tempered(shaped, setting.temperature)
    if setting.top_k is not None and setting.top_k < shaped.shape[-1]:
        shaped = np.where(_rank(shaped) < setting.top_k, shaped, 0.0)
    if setting.top_p < 1.0:
        shaped = _nucleus(shaped, setting.top_p)
    normal: FloatArray = shaped / shaped.sum(axis=-1, keepdims=True)
    return normal


def one_hot(tokens: IntArray, vocab_size: int) -> FloatArray:
    """Return point masses, shape (..., V)."""
    return np.asarray(np.arange(vocab_size) == np.asarray(tokens)[..., None], dtype=np.float64)


def _tempered(rows: FloatArray, temperature: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        logits = np.log(rows) / temperature  # log 0 = -inf stays impossible
    weights: FloatArray = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights


def _rank(rows: FloatArray) -> IntArray:
    """Return 0 for the most likely token of each row, 1 for the next; ties by token number."""
    order = np.argsort(-rows, axis=-1, kind="stable")
    return np.argsort(order, axis=-1, kind="stable")


def _nucleus(rows: FloatArray, top_p: float) -> FloatArray:
    order = np.argsort(-rows, axis=-1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=-1)
    mass = ordered.cumsum(axis=-1)
    before = mass - ordered  # a token stays while the mass before it is short of top_p
    kept = np.where(before < top_p * mass[..., -1:], ordered, 0.0)
    back = np.argsort(order, axis=-1, kind="stable")
    return np.take_along_axis(kept, back, axis=-1)


class Reshaped:
    """A model behind a sampling setting."""

    def __init__(self, model: NextToken, setting: SamplingSetting) -> None:
        self.vocab_size = model.vocab_size
        self.order = model.order
        self.setting = setting
        self._model = model

    def probs(self, windows: IntArray) -> RowArray:
        """Return reshaped distributions; see :class:`NextToken`."""
        rows = self._model.probs(windows)
        return rows if self.setting.changes_nothing else reshape_rows(rows, self.setting)
