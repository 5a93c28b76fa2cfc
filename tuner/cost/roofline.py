"""From ceilings to seconds: efficiencies, a soft roofline, floors; and the exact derivatives.

    pass = softmax(memory · g(m), matmul) + softmax(cache, attention) + scan + host
           + collectives + logits + layers · floor + tokens · token overhead

where softmax(x, y) = (x^s + y^s)^(1/s) with sharpness s: s → ∞ is the hard roofline of Williams,
Waterman and Patterson (2009); finite s is what kernels do near the ridge. g(m) is the price of
leaving the single-token kernels: g(1) = 1, g(m) = 1 + jump + slope · further tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.terms import PassTerms, expert_coverage
from tuner.records.cost_prior import PARAMETERS

FloatArray = NDArray[np.float64]

INDEX: dict[str, int] = {name: position for position, name in enumerate(PARAMETERS)}
N_PARAMETERS = len(PARAMETERS)

#: smallest time in a power, so that an absent term has a logarithm
_TINY_S = 1e-12


class PassTimes(NamedTuple):
    """Seconds of a pass, and their derivative by each parameter's logarithm."""

    seconds: FloatArray
    #: shape (N_PARAMETERS, …)
    gradient: FloatArray


def pass_times(terms: PassTerms, log_parameters: FloatArray) -> PassTimes:
    """Return the time of each pass in ``terms``.

    Parameters
    ----------
    terms
        Arrays of shape (n,).
    log_parameters
        Natural logarithms, shape (N_PARAMETERS,) or (N_PARAMETERS, n).
    """
    value = np.exp(log_parameters)
    bandwidth = value[INDEX["bandwidth_efficiency"]]
    matmul = value[INDEX["matmul_efficiency"]]
    sharpness = value[INDEX["sharpness"]]
    gradient = np.zeros((N_PARAMETERS, *terms.weights_s.shape))
    spread = np.minimum(value[INDEX["expert_spread"]], 1.0)

    coverage = expert_coverage(terms.log_miss, terms.batch, terms.tokens, spread)
    device = terms.weights_s + terms.experts_s * coverage
    small, d_jump, d_slope = _small_pass_factor(
        terms.batch * terms.tokens,
        terms.further_tokens,
        value[INDEX["many_token_jump"]],
        value[INDEX["many_token_slope"]],
    )
    core, core_memory, core_compute, core_sharp = _soft_maximum(
        device / bandwidth * small, terms.matmul_s / matmul, sharpness
    )
    reread = value[INDEX["attention_reread"]] * (terms.tokens - 1.0)
    attend, attend_memory, attend_compute, attend_sharp = _soft_maximum(
        terms.kv_s / bandwidth * (1.0 + reread), terms.attention_s / matmul, sharpness
    )
    streamed = (terms.scan_s + terms.logits_s) / bandwidth
    host = terms.host_experts_s * coverage
    collective = terms.collective_s * value[INDEX["collective_scale"]]
    floor = terms.n_layers * value[INDEX["layer_floor_s"]]
    by_token = terms.batch * terms.tokens * value[INDEX["token_overhead_s"]]

    gradient[INDEX["bandwidth_efficiency"]] = -(core_memory + attend_memory + streamed)
    gradient[INDEX["matmul_efficiency"]] = -(core_compute + attend_compute)
    gradient[INDEX["sharpness"]] = core_sharp + attend_sharp
    gradient[INDEX["layer_floor_s"]] = floor
    gradient[INDEX["token_overhead_s"]] = by_token
    gradient[INDEX["many_token_jump"]] = core_memory * d_jump / small
    gradient[INDEX["many_token_slope"]] = core_memory * d_slope / small
    gradient[INDEX["attention_reread"]] = attend_memory * reread / (1.0 + reread)
    extra = terms.batch * (terms.tokens - 1.0) * spread
    by_spread = -(1.0 - coverage) * terms.log_miss * extra
    gradient[INDEX["expert_spread"]] = by_spread * (
        core_memory * terms.experts_s / np.maximum(device, _TINY_S) + terms.host_experts_s
    )
    gradient[INDEX["collective_scale"]] = collective
    seconds = core + attend + streamed + host + collective + floor + by_token
    return PassTimes(seconds, gradient)


def _small_pass_factor(
    tokens: FloatArray, further: FloatArray, jump: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g(m) and its derivatives by ln jump and ln slope."""
    by_jump = jump * np.minimum(np.maximum(tokens - 1.0, 0.0), 1.0)
    by_slope = slope * further
    return 1.0 + by_jump + by_slope, by_jump, by_slope


def _soft_maximum(
    first: FloatArray, second: FloatArray, sharpness: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (x^s + y^s)^(1/s) and its derivatives by ln x, ln y and ln s."""
    log_first = np.log(np.maximum(first, _TINY_S))
    log_second = np.log(np.maximum(second, _TINY_S))
    larger = np.maximum(log_first, log_second)
    gap = np.abs(log_first - log_second) * sharpness
    small_share = np.exp(-gap)
    log_value = larger + np.log1p(small_share) / sharpness
    value = np.exp(log_value)
    share_of_smaller = small_share / (1.0 + small_share)
    share_first = np.where(log_first >= log_second, 1.0 - share_of_smaller, share_of_smaller)
    mean_log = share_first * log_first + (1.0 - share_first) * log_second
    return (
        value,
        value * share_first,
        value * (1.0 - share_first),
        value * (mean_log - log_value),
    )
