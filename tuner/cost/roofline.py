"""From ceilings to seconds: efficiencies, a soft roofline, floors; and the exact derivatives.

    pass = softmax(softmax(weights · g(m) + experts · g(m_e), matmul) + softmax(cache, attention)
                   + scan + host + logits, layers · floor) + collectives + tokens · token overhead

where softmax(x, y) = (x^s + y^s)^(1/s) with sharpness s: s → ∞ is the hard roofline of Williams,
Waterman and Patterson (2009); finite s is what kernels do near the ridge. g(m) is the price of
leaving the single-token kernels: g(1) = 1, g(m) = 1 + jump + slope · x / (1 + x / 16) with
x = m − 1, and m_e is the number of tokens that an expert works on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.terms import PassTerms, effective_tokens, expert_coverage
from tuner.records.cost_prior import PARAMETERS

FloatArray = NDArray[np.float64]

INDEX: dict[str, int] = {name: position for position, name in enumerate(PARAMETERS)}
N_PARAMETERS = len(PARAMETERS)
_BANDWIDTH, _SHARPNESS = INDEX["bandwidth_efficiency"], INDEX["sharpness"]

#: tokens over which the price of small passes levels off: tiles of matrix units are 16 wide
#: (PTX mma.m16n8k16, AMD MFMA 16×16×16). That it levels off over one tile is assumed; its height is
#: fitted (scripts/fit_costs.py). It matters for verification at batch 1 to 4.
SLOPE_TOKENS = 16.0
#: widest pass that llama.cpp (b11434) gives to its vector kernels on GPUs, ``MMVQ_MAX_BATCH_SIZE``
VECTOR_KERNEL_TOKENS = 8.0
#: what a wider pass costs in further tokens of the vector kernels: 9 tokens take as long as 4 to 5
#: (thc1006, Qwen3.8-27B Q4_K_M on RTX 3090: step ratio 2.97 at K = 7 and 2.38 at K = 8)
MATRIX_KERNEL_TOKENS = 3.5
#: smallest time in a power, so that an absent term has a logarithm
_TINY_S = 1e-12
#: how much sharper work meets the floor of a layer than traffic meets arithmetic: a kernel fills
#: its shortest time or does not. The B300 curve is flat up to 8 tokens and rises from there; ratios
#: of sources left out err the less the sharper it is, up to about here
FLOOR_SHARPNESS = 4.0


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
        Arrays that broadcast to a shape (…, n).
    log_parameters
        Natural logarithms, shape (N_PARAMETERS,) or (N_PARAMETERS, n).
    """
    value = np.exp(log_parameters)
    bandwidth, sharpness = value[_BANDWIDTH], value[_SHARPNESS]
    matmul = value[INDEX["matmul_efficiency"]]
    traffic = _traffic(terms, value)
    reread = value[INDEX["attention_reread"]] * (terms.tokens - 1.0)
    (core, attend), (core_memory, attend_memory), by_compute, by_sharp = _soft_maximum(
        np.array((traffic.seconds, terms.kv_s / bandwidth * (1.0 + reread))),
        np.array((terms.matmul_s, terms.attention_s)) / matmul,
        sharpness,
    )
    streamed = (terms.scan_s + terms.logits_s) / bandwidth
    work = core + attend + streamed + traffic.host_s
    floor = terms.n_layers * value[INDEX["layer_floor_s"]]
    body, by_work, by_floor, by_sharpness = _soft_maximum(work, floor, FLOOR_SHARPNESS * sharpness)
    collective = terms.collective_s * value[INDEX["collective_scale"]]
    by_token = terms.batch * terms.tokens * value[INDEX["token_overhead_s"]]

    gradient = np.zeros((N_PARAMETERS, *body.shape))
    share = by_work / work
    by_traffic = share * core_memory / traffic.seconds
    gradient[_BANDWIDTH] = -share * (core_memory + attend_memory + streamed)
    gradient[INDEX["matmul_efficiency"]] = -share * by_compute.sum(axis=0)
    gradient[_SHARPNESS] = share * by_sharp.sum(axis=0) + by_sharpness
    gradient[INDEX["layer_floor_s"]] = by_floor
    gradient[INDEX["token_overhead_s"]] = by_token
    gradient[INDEX["attention_reread"]] = share * attend_memory * reread / (1.0 + reread)
    gradient[INDEX["collective_scale"]] = collective
    for name, by_parameter in traffic.gradient.items():
        gradient[INDEX[name]] = by_traffic * by_parameter
    for name, by_parameter in traffic.host_gradient.items():
        gradient[INDEX[name]] += share * by_parameter
    return PassTimes(body + collective + by_token, gradient)


class _Traffic(NamedTuple):
    """Time to move the weights of a pass, and its derivatives except by bandwidth."""

    seconds: FloatArray
    gradient: dict[str, FloatArray]
    #: experts in host memory are moved beside it
    host_s: FloatArray
    host_gradient: dict[str, FloatArray]


def _traffic(terms: PassTerms, value: FloatArray) -> _Traffic:
    jump, slope = value[INDEX["many_token_jump"]], value[INDEX["many_token_slope"]]
    vector = terms.has_vector_kernels > 0.0
    price = _small_pass_price(terms.batch * terms.tokens, vector, jump, slope)
    bandwidth = value[_BANDWIDTH]
    matrices = terms.weights_s / (bandwidth * value[INDEX["matrix_efficiency"]])
    dense = matrices * price.factor
    gradient = {
        "matrix_efficiency": -dense,
        "many_token_jump": matrices * price.by_jump,
        "many_token_slope": matrices * price.by_slope,
    }
    none = np.zeros(1)
    if not np.any(terms.experts_s) and not np.any(terms.host_experts_s):
        return _Traffic(dense + _TINY_S, gradient, none, {})

    # an expert works on the tokens that chose it, not on all tokens of the pass
    spread = np.minimum(value[INDEX["expert_spread"]], 1.0)
    evenness = np.minimum(value[INDEX["expert_evenness"]], 1.0)
    routed = effective_tokens(terms.routed_batch, terms.tokens, spread, evenness)
    coverage = expert_coverage(terms.log_miss, routed)
    chosen = -np.expm1(terms.log_miss) * terms.routed_batch * terms.tokens
    own_tokens = chosen / np.maximum(coverage, _TINY_S)
    own_price = _small_pass_price(own_tokens, vector, jump, slope)
    all_experts = terms.experts_s / (bandwidth * value[INDEX["expert_efficiency"]])
    touched = all_experts * coverage
    gradient["expert_efficiency"] = -touched * own_price.factor
    gradient["many_token_jump"] = gradient["many_token_jump"] + touched * own_price.by_jump
    gradient["many_token_slope"] = gradient["many_token_slope"] + touched * own_price.by_slope
    # by ln of the token count in the coverage; more experts leave fewer tokens to each
    by_routed = -(1.0 - coverage) * terms.log_miss * routed
    by_coverage = all_experts * (own_price.factor - own_tokens * own_price.by_token)
    further = np.maximum(terms.tokens - 1.0, 0.0) * spread
    by_spread = by_routed * evenness * further / (1.0 + further) * (spread < 1.0)
    by_evenness = by_routed * np.log(np.maximum(routed, _TINY_S)) * (evenness < 1.0)
    gradient["expert_spread"] = by_coverage * by_spread
    gradient["expert_evenness"] = by_coverage * by_evenness
    seconds = dense + touched * own_price.factor + _TINY_S
    host = terms.host_experts_s
    host_gradient = {"expert_spread": host * by_spread, "expert_evenness": host * by_evenness}
    return _Traffic(seconds, gradient, host * coverage, host_gradient)


class _Price(NamedTuple):
    """g(m) and its derivatives by ln jump, ln slope and m."""

    factor: FloatArray
    by_jump: FloatArray
    by_slope: FloatArray
    by_token: FloatArray


def _small_pass_price(
    tokens: FloatArray, vector: NDArray[np.bool_], jump: FloatArray, slope: FloatArray
) -> _Price:
    beyond = np.maximum(tokens - 1.0, 0.0)
    level = 1.0 + beyond / SLOPE_TOKENS
    is_narrow = tokens <= VECTOR_KERNEL_TOKENS
    narrow_or_matrix = np.where(is_narrow, beyond, MATRIX_KERNEL_TOKENS)
    further = np.where(vector, narrow_or_matrix, beyond / level)
    by_beyond = np.where(vector, is_narrow * 1.0, level**-2.0)
    by_jump = jump * np.minimum(beyond, 1.0)
    by_slope = slope * further
    by_token = np.where(beyond > 0.0, slope * by_beyond + jump * (beyond < 1.0), 0.0)
    return _Price(1.0 + by_jump + by_slope, by_jump, by_slope, by_token)


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
