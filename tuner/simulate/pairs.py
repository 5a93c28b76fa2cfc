"""Drafters of a wanted quality for a given target."""

from __future__ import annotations

import numpy as np

from tuner.errors import InputError
from tuner.simulate.distances import row_total_variation
from tuner.simulate.models import FloatArray, TableModel, softmax


def drafter_with_acceptance(target: TableModel, acceptance_rate: float) -> TableModel:
    """Return a drafter that the exact rule accepts with the same rate α in every context.

    The drafter mixes the target with a distribution on the target's least likely token, just as
    much as makes their total variation 1 - α.

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
    away = np.zeros_like(target.rows)
    away[np.arange(len(away)), target.rows.argmin(axis=1)] = 1.0
    reach = row_total_variation(target.rows, away)
    if (reach < 1.0 - acceptance_rate).any():
        least = 1.0 - float(reach.min())
        raise InputError(
            f"α {acceptance_rate} cannot be reached for this target: {least:.3g} or more."
        )
    share = ((1.0 - acceptance_rate) / reach)[:, None]
    rows = (1.0 - share) * target.rows + share * away
    return TableModel(rows.reshape((target.vocab_size,) * (target.order + 1)))


def perturbed(target: TableModel, magnitude: float, rng: np.random.Generator) -> TableModel:
    """Return the target with normal noise of standard deviation ``magnitude`` on its logits."""
    with np.errstate(divide="ignore"):
        logits = np.log(target.rows)
    noisy: FloatArray = logits + magnitude * rng.normal(size=logits.shape)
    return TableModel(softmax(noisy).reshape((target.vocab_size,) * (target.order + 1)))
