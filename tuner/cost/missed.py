"""What the equations miss, as a Gaussian process: level, stairs, and an offset of a method.

    ln(measured) = ln f(θ) + level(batch) + stairs(tokens in a pass) + offset(method, batch) + noise

*level* is the part of a setup that scales all its times. *stairs* is a rough function of the tokens
in a pass: tiles of matmul kernels, switches between kernels, padding to captured graphs. A
speculative step over batch · n tokens and a plain one over batch tokens stand on different stairs,
so their ratio is the less certain the more tokens lie between. *offset* belongs to one method in
one setup: implementation habits that no equation knows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass

FloatArray = NDArray[np.float64]

#: e-folds of batch over which level and offset stay alike (assumed)
BATCH_SCALE = 3.0
#: key of passes without a method: plain decoding and bare passes over several tokens
NO_METHOD = -1.0


class Missed(NamedTuple):
    """Standard deviations of the three parts and the correlation length of the stairs."""

    level: float
    stairs: float
    #: e-folds of tokens
    stairs_scale: float
    offset: float


@dataclass(frozen=True, slots=True)
class Places:
    """Where times were taken or are wanted, and which combination; arrays of shape (n,)."""

    log_batch: FloatArray
    #: ln(tokens of a sequence in the step)
    log_tokens: FloatArray
    #: weights of ln(step), ln(baseline) and ln(draft) in the number: (1, 0, 0) is a step,
    #: (1, −1, 0) its ratio to a plain one, (0, 0, 1) the time spent drafting
    on_step: FloatArray
    on_baseline: FloatArray
    on_draft: FloatArray
    #: which method ran, ``NO_METHOD`` for none
    method: FloatArray

    @property
    def absolute(self) -> FloatArray:
        """1 for a time, 0 for a ratio of times of the same setup."""
        return self.on_step + self.on_baseline + self.on_draft

    @property
    def has_offset(self) -> FloatArray:
        """1 where a speculative step is part of the number."""
        return np.where(self.method != NO_METHOD, self.on_step, 0.0)


def missed_covariance(missed: Missed, first: Places, second: Places) -> FloatArray:
    """Return the covariance of what is missed between two sets of places, shape (n, m)."""
    by_batch = _alike(first.log_batch, second.log_batch, BATCH_SCALE)
    level = missed.level**2 * np.outer(first.absolute, second.absolute) * by_batch
    same = first.method[:, None] == second.method[None, :]
    offset = missed.offset**2 * np.outer(first.has_offset, second.has_offset) * same * by_batch
    total: FloatArray = level + offset
    for first_weight, first_tokens in _stairs(first):
        for second_weight, second_tokens in _stairs(second):
            alike = _alike(first_tokens, second_tokens, missed.stairs_scale)
            total += missed.stairs**2 * np.outer(first_weight, second_weight) * alike
    return total


def missed_variance(missed: Missed, places: Places) -> FloatArray:
    """Return the diagonal of ``missed_covariance`` of places with themselves."""
    alike = np.exp(-places.log_tokens / missed.stairs_scale)
    stairs = (
        places.on_step**2
        + places.on_baseline**2
        + 2.0 * places.on_step * places.on_baseline * alike
    )
    total: FloatArray = (
        missed.level**2 * places.absolute**2
        + missed.offset**2 * places.has_offset**2
        + missed.stairs**2 * stairs
    )
    return total


def _stairs(places: Places) -> tuple[tuple[FloatArray, FloatArray], ...]:
    return (
        (places.on_step, places.log_batch + places.log_tokens),
        (places.on_baseline, places.log_batch),
    )


def _alike(first: FloatArray, second: FloatArray, scale: float) -> FloatArray:
    alike: FloatArray = np.exp(-np.abs(first[:, None] - second[None, :]) / scale)
    return alike
