"""Drafters of a wanted quality for a given target."""

from __future__ import annotations

import numpy as np

from tuner.errors import InputError
from tuner.simulate.distances import row_total_variation
from tuner.simulate.models import FloatArray, TableModel, softmax


def drafter_with_acceptance(target: TableModel, acceptance_rate: float) -> TableModel:
    """Return a drafter that the exact rule accepts with the same rate α in every context.

    The drafter mixes the target with the uniform distribution on its least likely tokens: on as
    many of them as allow the wanted distance, and just as much as makes the total variation 1 - α.

    Parameters
    ----------
    target : table of order m
    acceptance_rate : α in [0, 1]; at least the probability of each row's least likely token

    Raises
    ------
    InputError
        If α is outside [0, 1] or smaller than mixing can reach.
    """
    if not 0.0 <= acceptance_rate <= 1.0:
        raise InputError(f"α {acceptance_rate} is not possible: between 0 and 1.")
    away = _unlikely(target.rows, 1.0 - acceptance_rate)
    reach = row_total_variation(target.rows, away)
    if (reach < 1.0 - acceptance_rate).any():
        least = 1.0 - float(reach.min())
        raise InputError(
            f"α {acceptance_rate} cannot be reached for this target: {least:.3g} or more."
        )
    share = ((1.0 - acceptance_rate) / reach)[:, None]
    rows = (1.0 - share) * target.rows + share * away
    return TableModel(rows.reshape((target.vocab_size,) * (target.order + 1)))


def _unlikely(rows: FloatArray, distance: float) -> FloatArray:
    """Return uniform rows on each row's k least likely tokens, k the largest far enough away.

    With k = 1 where no k is far enough.
    """
    vocab = rows.shape[1]
    rank = np.argsort(np.argsort(rows, axis=1, kind="stable"), axis=1, kind="stable")
    away: FloatArray = (rank == 0).astype(np.float64)
    for k in range(2, vocab + 1):
        candidate = (rank < k) / k
        is_far = row_total_variation(rows, candidate) >= distance
        away[is_far] = candidate[is_far]
    return away


def perturbed(target: TableModel, magnitude: float, rng: np.random.Generator) -> TableModel:
    """Return the target with normal noise of standard deviation ``magnitude`` on its logits."""
    with np.errstate(divide="ignore"):
        logits = np.log(target.rows)
    noisy: FloatArray = logits + magnitude * rng.normal(size=logits.shape)
    return TableModel(softmax(noisy).reshape((target.vocab_size,) * (target.order + 1)))
