"""How far a drafter's distribution is from its target's, and the acceptance rate that follows."""

from __future__ import annotations

import numpy as np

from tuner.simulate.models import FloatArray, RowArray


def row_total_variation(target_rows: RowArray, draft_rows: RowArray) -> FloatArray:
    """Return half the sum of absolute differences of each pair of rows, shape (...)."""
    difference = np.asarray(target_rows, dtype=np.float64) - draft_rows
    return np.asarray(0.5 * np.abs(difference).sum(axis=-1))


def acceptance_rates(target_rows: RowArray, draft_rows: RowArray) -> FloatArray:
    """Return α of each context: 1 - total variation = sum of min(target, draft), shape (...).

    Leviathan et al. 2023, theorem 3.5.
    """
    return np.asarray(np.minimum(target_rows, draft_rows).sum(axis=-1), dtype=np.float64)


def kl_divergence(first_rows: RowArray, second_rows: RowArray) -> FloatArray:
    """Return KL(first ‖ second) of each pair of rows, in nats, shape (...); may be inf."""
    first = np.asarray(first_rows, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(first > 0.0, first * np.log(first / second_rows), 0.0)
    return np.asarray(terms.sum(axis=-1))
