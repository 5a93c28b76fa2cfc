"""Update of a curve's three numbers by observations: a Gaussian approximation at the mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.acceptance.positions import length_and_slope
from tuner.records.acceptance import AcceptanceObservation, AcceptanceQuery

FloatArray = np.typing.NDArray[np.float64]
#: Run-to-run standard deviation of ln τ of a stated acceptance length (assumed until fitted).
LENGTH_LOG_SD = 0.02
STEPS = 6


def shape_posterior(
    mean: FloatArray,
    covariance: FloatArray,
    query: AcceptanceQuery,
    observed: Sequence[AcceptanceObservation],
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance after the observations of this query's method."""
    lengths = [
        (row.num_speculative_tokens, row.acceptance_length)
        for row in observed
        if row.method is query.method
        and row.tree is None
        and row.acceptance_length
        and row.num_speculative_tokens > 0
    ]
    if not lengths:
        return mean, covariance
    index = np.array([k - 1 for k, _ in lengths])
    wanted = np.log(np.array([value for _, value in lengths], dtype=np.float64))
    precision = np.linalg.inv(covariance)
    at = mean.copy()
    for _ in range(STEPS):
        survival, _, slope = length_and_slope(at, int(index.max()) + 1)
        length = 1.0 + np.cumsum(survival)[index]
        jacobian = slope[index] / length[:, None] / LENGTH_LOG_SD
        residual = (wanted - np.log(length)) / LENGTH_LOG_SD
        hessian = precision + jacobian.T @ jacobian
        at = at + np.linalg.solve(hessian, jacobian.T @ residual - precision @ (at - mean))
    return at, np.linalg.inv(hessian)
