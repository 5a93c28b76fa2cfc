"""From the acceptance of a chain to acceptance by rank, for trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuner.errors import InputError

FloatArray = NDArray[np.float64]

#: Chance that the child of rank r is the accepted one, r = 1 … 32 (Infini-AI-Lab/Sequoia,
#: acceptance-rate-vector.pt: Llama-2-7B with a 68M draft, CNN/DM, T = 0.6; measured).
SEQUOIA: FloatArray = np.array(
    [
        *(0.63418293, 0.10794602, 0.05697151, 0.02248876, 0.01949026, 0.0149925, 0.00449775),
        *(0.0029985, 0.011994, 0.00449775, 0.00749625, 0.00449775, 0.005997, 0.0029985),
        *(0.00149925, 0.0029985, 0.00149925, 0.0029985, 0.0, 0.0029985, 0.0029985, 0.0029985),
        *(0.0, 0.00149925, 0.0, 0.00149925, 0.0, 0.0, 0.0, 0.00149925, 0.00149925, 0.00149925),
    ]
)
#: Of what rank 1 misses, the share that each further rank catches.
TAIL: FloatArray = SEQUOIA[1:] / (1.0 - SEQUOIA[0])
TOP_5 = 4
#: Share of rank 1's misses that ranks 2 … 5 catch, as a line in rank 1's acceptance: least squares
#: over Medusa's 15 heads on Vicuna-7B, 13B and 33B (FasterDecoding/Medusa, assets/medusa_acc.csv,
#: top-1 and top-5 accuracy) and Sequoia's vector; no point is off by more than 0.017. Measured for
#: acceptances of 0.12 to 0.63.
CATCH_INTERCEPT = 0.132
CATCH_SLOPE = 0.686


def rank_acceptance(conditional: ArrayLike, ranks: int) -> FloatArray:
    """Return acceptance by depth and rank, shape (…, depth, ranks); rows sum to 1 at most.

    Parameters
    ----------
    conditional
        Conditional acceptance of chains by position, α_1 … α_depth, each in [0, 1]: what rank 1
        catches. Shape (…, depth).
    ranks
        Ranks wanted, at least 1.

    Notes
    -----
    What rank 1 misses, the further ranks catch in Sequoia's proportions, scaled by how much of the
    misses drafters of that strength catch in their top five. Depth alone changes the row: that a
    sibling of a wrong guess sits in a harder context is not in the data. Above an acceptance of
    0.63 the line is carried on; there rank 1 misses little, so little hangs on it.
    """
    chain = np.atleast_1d(np.asarray(conditional, dtype=np.float64))
    if not ((chain >= 0.0) & (chain <= 1.0)).all():
        raise InputError("conditional acceptance by position must be a list of chances, 0 to 1.")
    if ranks < 1:
        raise InputError(f"ranks {ranks}: at least one.")
    table = np.zeros((*chain.shape, ranks))
    table[..., 0] = chain
    further = min(ranks - 1, len(TAIL))
    caught = (CATCH_INTERCEPT + CATCH_SLOPE * chain) / TAIL[:TOP_5].sum()
    # all of the tail together catches no more than there is
    caught = np.minimum(caught, 1.0 / TAIL.sum())
    table[..., 1 : further + 1] = ((1.0 - chain) * caught)[..., None] * TAIL[:further]
    return table
