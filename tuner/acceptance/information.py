"""Which K to measure next: the value of information about acceptance.

Pure functions of the belief's τ and of the step cost of each K; nothing here knows hardware.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tuner.acceptance.positions import FloatArray

#: Standard deviation of ln τ that one measured K would leave (a benchmark of some hundred prompts).
MEASURED_LOG_SD = 0.01
#: Values of measurements above this share of the best are taken as equal (assumed).
NEARLY = 0.95


@lru_cache(maxsize=1)
def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss quadrature under the standard normal law, 15 points.

    Eigenvalues and first components of the Jacobi matrix of the Hermite polynomials (Golub and
    Welsch 1969); importing numpy.polynomial for it would take longer than a recommendation.
    """
    side = np.sqrt(np.arange(1.0, 15.0))
    nodes, vectors = np.linalg.eigh(np.diag(side, 1) + np.diag(side, -1))
    return nodes, vectors[0] ** 2


def measurement_values(
    acceptance_length: FloatArray,
    length_log_sd: FloatArray,
    step_cost_ratio: FloatArray,
    *,
    measured_log_sd: float = MEASURED_LOG_SD,
) -> FloatArray:
    """Return the expected gain in speed from measuring τ at each K before choosing K.

    Errors of ln τ at different K move together (one level), so that measuring K = m moves ln τ_K by
    sd_K / sd_m of what it moves ln τ_m. The value is E[max speed after] ÷ max E[speed] − 1; 0 means
    that no outcome would change the choice.

    Parameters
    ----------
    acceptance_length, length_log_sd, step_cost_ratio
        τ, standard deviation of ln τ and step cost for K = 0 … K_max, shape (K_max + 1,); entry 0
        is 1, 0 and 1.

    Returns
    -------
    Value of K = 1 … K_max, shape (K_max,).
    """
    nodes, weights = _quadrature()
    sd = np.maximum(length_log_sd[1:], measured_log_sd)
    # share of the doubt that measuring K = m removes, shape (m, 1, 1)
    share = np.sqrt(1.0 - (measured_log_sd / sd) ** 2)[:, None, None]
    moved = share * length_log_sd
    outcomes = acceptance_length * np.exp(nodes[:, None] * moved - 0.5 * moved**2)
    length = np.clip(outcomes, 1.0, np.arange(len(acceptance_length)) + 1.0)
    speed = length / step_cost_ratio
    known = np.einsum("n,mn->m", weights, speed.max(axis=2))
    chosen = np.einsum("n,mnk->mk", weights, speed).max(axis=1)
    values: FloatArray = np.maximum(known / chosen - 1.0, 0.0)
    return values


def next_length(
    acceptance_length: FloatArray,
    length_log_sd: FloatArray,
    step_cost_ratio: FloatArray,
    chosen: int,
) -> tuple[int, float]:
    """Return the K to measure next and its value: ``chosen`` unless another tells clearly more.

    K that are worth within 5 % of the best are taken as equal; of those the chosen one, which has
    to be run anyway, else the smallest.
    """
    values = measurement_values(acceptance_length, length_log_sd, step_cost_ratio)
    good = values >= NEARLY * values.max()
    best = chosen if good[chosen - 1] else int(np.flatnonzero(good)[0]) + 1
    return best, float(values[best - 1])
