"""Which K is best under a belief, how flat that optimum is, and which K to measure next.

Pure functions of the belief's τ and of the step cost of each K; nothing here knows hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.acceptance.positions import FloatArray

#: Speeds closer than this are one optimum: repeated runs of one setting differ by about as much
#: (assumed; the acceptance benchmark finds 0.5 to 1 % in τ alone).
NOISE = 0.01
#: Standard deviation of ln τ that one measured K would leave (a benchmark of some hundred prompts).
MEASURED_LOG_SD = 0.01
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLength:
    """The chosen K, and how much the choice matters."""

    num_speculative_tokens: int
    speedup: float
    #: K whose speed is within the noise of the best, ascending
    ties: tuple[int, ...]
    #: speed lost by one token fewer and one more, as shares; None at an end
    loss_below: float | None
    loss_above: float | None


def best_length(
    acceptance_length: FloatArray, step_cost_ratio: FloatArray, *, noise: float = NOISE
) -> BestLength:
    """Return the K with the highest τ ÷ cost; ties within the noise go to the smallest K.

    Parameters
    ----------
    acceptance_length
        τ for K = 0 … K_max, shape (K_max + 1,), entry 0 is 1.
    step_cost_ratio
        Time of a step ÷ time of a plain step for the same K, > 0; entry 0 is 1.
    noise
        Share of speed below which two K count as equal.
    """
    speed = acceptance_length / step_cost_ratio
    ties = np.flatnonzero(speed >= speed.max() * (1.0 - noise))
    best = int(ties[0])
    below = float(1.0 - speed[best - 1] / speed[best]) if best > 0 else None
    above = float(1.0 - speed[best + 1] / speed[best]) if best + 1 < len(speed) else None
    return BestLength(
        num_speculative_tokens=best,
        speedup=float(speed[best]),
        ties=tuple(int(k) for k in ties),
        loss_below=below,
        loss_above=above,
    )


def marginal_tokens(survival: FloatArray) -> FloatArray:
    """Return what each further draft token adds to τ: its survival."""
    return np.array(survival, dtype=np.float64)


def measurement_value(
    acceptance_length: FloatArray,
    length_log_sd: FloatArray,
    step_cost_ratio: FloatArray,
    measured: int,
    *,
    measured_log_sd: float = MEASURED_LOG_SD,
) -> float:
    """Return the expected gain in speed from measuring τ at one K before choosing.

    Errors of ln τ at different K move together (one level); measuring K = m at most shifts ln τ_K
    by sd_K / sd_m of what it shifts ln τ_m. The value is E[max speed after] − max E[speed], as a
    share of the best speed now; 0 means that no outcome would change the choice.

    Parameters
    ----------
    acceptance_length, length_log_sd, step_cost_ratio
        As in the belief and in ``best_length``, shape (K_max + 1,).
    measured
        The K to measure, 1 ≤ m ≤ K_max.
    """
    sd = float(length_log_sd[measured])
    if sd <= measured_log_sd:
        return 0.0
    learned = np.sqrt(sd**2 - measured_log_sd**2)
    tilt = np.where(length_log_sd > 0.0, length_log_sd / sd, 0.0)
    outcomes = acceptance_length * np.exp(
        learned * _NODES[:, None] * tilt - 0.5 * (learned * tilt) ** 2
    )
    length = np.clip(outcomes, 1.0, np.arange(len(acceptance_length)) + 1.0)
    speed = length / step_cost_ratio
    known = float(_WEIGHTS @ speed.max(axis=1))
    chosen = float((_WEIGHTS @ speed).max())
    return max(0.0, known / chosen - 1.0)


def next_length(
    acceptance_length: FloatArray, length_log_sd: FloatArray, step_cost_ratio: FloatArray
) -> tuple[int, float]:
    """Return the K whose measurement is worth most, and that value; ties go to the smallest K."""
    values = [
        measurement_value(acceptance_length, length_log_sd, step_cost_ratio, k)
        for k in range(1, len(acceptance_length))
    ]
    best = int(np.flatnonzero(np.array(values) >= max(values) - 1e-6)[0])
    return best + 1, values[best]
