"""From what clients see (requests in flight, requests a second) to the batch that decodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Rounds of the fixed point and of the bisection; each at least halves the error.
_ROUNDS = 30
#: … until a round moves no batch by more than this share of the requests in flight.
_CLOSE = 1e-6


def batch_for_concurrency(
    concurrency: float,
    grid_batch: FloatArray,
    grid_tpot_s: FloatArray,
    *,
    output_tokens: float,
    prefill_s: float,
) -> FloatArray:
    """Return the mean number of sequences that decode when ``concurrency`` requests are in flight.

    Parameters
    ----------
    concurrency
        Requests in flight, > 0; a closed loop: a request that ends is replaced at once.
    grid_batch, grid_tpot_s
        Time per output token of one sequence over batch, shapes (n,) and (n, m) for m settings,
        batch ascending.
    output_tokens
        Output tokens of a request, > 0.
    prefill_s
        Time that a request spends in prefill, ≥ 0.

    Returns
    -------
    Batch of each setting, shape (m,), at least the grid's first.

    Notes
    -----
    Little's law: decoding = concurrency × decode time ÷ (prefill + decode time). Faster decoding
    shrinks the batch. The iteration starts at ``concurrency`` and falls monotonically onto the
    largest solution, because the right side grows with the batch. Queueing before prefill is
    not modelled. Beyond the grid its last TPOT holds.
    """
    batch = np.full(grid_tpot_s.shape[1], float(concurrency))
    for _ in range(_ROUNDS):
        decode_s = output_tokens * _tpot_at(batch, grid_batch, grid_tpot_s)
        before, batch = batch, concurrency * decode_s / (decode_s + prefill_s)
        if (before - batch).max() <= _CLOSE * concurrency:
            break
    settled: FloatArray = np.maximum(batch, grid_batch[0])
    return settled


def batch_for_rate(
    request_rate: float, grid_batch: FloatArray, grid_tpot_s: FloatArray, *, output_tokens: float
) -> FloatArray:
    """Return the mean number of sequences that decode at ``request_rate`` arrivals a second.

    Little's law, batch = rate × output tokens × TPOT(batch), solved for its smallest solution on
    the grid, for each of m settings: ``grid_tpot_s`` has shape (n, m), the result (m,). NaN =
    arrivals exceed what the grid's largest batch serves.
    """
    tokens_per_s = request_rate * output_tokens
    short = tokens_per_s * grid_tpot_s > grid_batch[:, None]
    first = np.argmin(short, axis=0)
    served = ~short.all(axis=0)
    low = np.where(first > 0, grid_batch[first - 1], 0.0)
    high = grid_batch[first]
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        grows = tokens_per_s * _tpot_at(middle, grid_batch, grid_tpot_s) > middle
        low, high = np.where(grows, middle, low), np.where(grows, high, middle)
    return np.where(served, np.maximum(high, grid_batch[0]), np.nan)


def _tpot_at(batch: FloatArray, grid_batch: FloatArray, grid_tpot_s: FloatArray) -> FloatArray:
    """Linear interpolation in each column, flat beyond the ends."""
    inside = np.clip(batch, grid_batch[0], grid_batch[-1])
    right = np.clip(np.searchsorted(grid_batch, inside), 1, len(grid_batch) - 1)
    left = right - 1
    share = (inside - grid_batch[left]) / (grid_batch[right] - grid_batch[left])
    column = np.arange(grid_tpot_s.shape[1])
    return (1.0 - share) * grid_tpot_s[left, column] + share * grid_tpot_s[right, column]
