"""From what clients see (requests in flight, requests a second) to the batch that decodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Rounds of the fixed point; each round divides the error by more than two on convex step times.
_ROUNDS = 60


def batch_for_concurrency(
    concurrency: float,
    grid_batch: FloatArray,
    grid_tpot_s: FloatArray,
    *,
    output_tokens: float,
    prefill_s: float,
) -> float:
    """Return the mean number of sequences that decode when ``concurrency`` requests are in flight.

    Parameters
    ----------
    concurrency
        Requests in flight, > 0; a closed loop: a request that ends is replaced at once.
    grid_batch, grid_tpot_s
        Time per output token of one sequence over batch, shapes (n,), batch ascending.
    output_tokens
        Output tokens of a request, > 0.
    prefill_s
        Time that a request spends in prefill, ≥ 0.

    Notes
    -----
    Little's law: decoding = concurrency × decode time ÷ (prefill + decode time). Faster decoding
    shrinks the batch. Queueing before prefill is not modelled.
    """
    batch = concurrency
    for _ in range(_ROUNDS):
        decode_s = output_tokens * _tpot_at(batch, grid_batch, grid_tpot_s)
        batch = 0.5 * (batch + concurrency * decode_s / (decode_s + prefill_s))
    return max(batch, float(grid_batch[0]))


def batch_for_rate(
    request_rate: float, grid_batch: FloatArray, grid_tpot_s: FloatArray, *, output_tokens: float
) -> float | None:
    """Return the mean number of sequences that decode at ``request_rate`` arrivals a second.

    Little's law, batch = rate × output tokens × TPOT(batch), solved for its smallest solution on
    the grid. None = arrivals exceed what the grid's largest batch serves.
    """
    tokens_per_s = request_rate * output_tokens
    demand = tokens_per_s * grid_tpot_s
    served = np.flatnonzero(demand <= grid_batch)
    if served.size == 0:
        return None
    first = int(served[0])
    if first == 0:
        return float(max(demand[0], 1.0))
    low, high = float(grid_batch[first - 1]), float(grid_batch[first])
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        if tokens_per_s * _tpot_at(middle, grid_batch, grid_tpot_s) > middle:
            low = middle
        else:
            high = middle
    return high


def _tpot_at(batch: float, grid_batch: FloatArray, grid_tpot_s: FloatArray) -> float:
    return float(np.interp(batch, grid_batch, grid_tpot_s))
