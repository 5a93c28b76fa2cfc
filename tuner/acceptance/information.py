"""Which K to measure next: the value of information about acceptance.

Pure functions of the belief's τ and of the step cost of each K; nothing here knows hardware.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tuner.acceptance.positions import FloatArray

#: Standard deviation of ln τ that one measured K would leave (a benchmark of some hundred prompts).
MEASURED_LOG_SD = 0.01


@lru_cache(maxsize=1)
def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss quadrature under the standard normal law, 15 points.

    Eigenvalues and first components of the Jacobi matrix of the Hermite polynomials (Golub and
    Welsch 1969); importing numpy.polynomial for it would take longer than a recommendation.
    """
    side = np.sqrt(np.arange(1.0, 15.0))
    nodes, vectors = np.linalg.eigh(np.diag(side, 1) + np.diag(side, -1))
    return nodes, vectors[0] ** 2


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
        τ, standard deviation of ln τ and step cost for K = 0 … K_max, shape (K_max + 1,); entry 0
        is 1, 0 and 1.
    measured
        The K to measure, 1 ≤ m ≤ K_max.
    """
    sd = float(length_log_sd[measured])
    if sd <= measured_log_sd:
        return 0.0
    nodes, weights = _quadrature()
    learned = np.sqrt(sd**2 - measured_log_sd**2)
    tilt = np.where(length_log_sd > 0.0, length_log_sd / sd, 0.0)
    outcomes = acceptance_length * np.exp(
        learned * nodes[:, None] * tilt - 0.5 * (learned * tilt) ** 2
    )
    length = np.clip(outcomes, 1.0, np.arange(len(acceptance_length)) + 1.0)
    speed = length / step_cost_ratio
    known = float(weights @ speed.max(axis=1))
    chosen = float((weights @ speed).max())
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
