"""Times of one decoding pass at the ceilings of the device: physics without free parameters.

Every term is an array over configurations, in seconds, for one device of the group that works on
the pass together. ``tuner.cost.roofline`` weighs them with efficiencies and adds floors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.ceilings import Ceilings
from tuner.cost.dtypes import WeightFormat
from tuner.cost.parts import SPARSE_INDEX_BYTES, SPARSE_TOKENS, ModelParts
from tuner.frozen import dataclass
from tuner.records.hardware import Parallel

FloatArray = NDArray[np.float64]

#: bytes that the sampler moves for each logit: written, converted to 32 bits, read for the maximum
#: and the normaliser (assumed)
LOGIT_BYTES = 12.0
#: two all-reduces a layer (attention and feed-forward outputs), Megatron-LM's split
COLLECTIVES_PER_LAYER = 2.0
_ACTIVATION_BYTES = 2.0
#: a state is read and written once a pass, and written again for each further token so that a
#: rejected draft can be undone
_STATE_BYTES = 4.0


class PassTerms(NamedTuple):
    """One pass over ``tokens`` positions of each of ``batch`` sequences."""

    #: matrices that every token uses, and the head
    weights_s: FloatArray
    #: all routed experts; the share that is touched multiplies it
    experts_s: FloatArray
    #: the same for experts in host memory
    host_experts_s: FloatArray
    #: ln(1 − experts used ÷ experts), ≤ 0
    log_miss: FloatArray
    matmul_s: FloatArray
    kv_s: FloatArray
    attention_s: FloatArray
    scan_s: FloatArray
    collective_s: FloatArray
    logits_s: FloatArray
    n_layers: FloatArray
    #: 1 where quantised matrices go through vector kernels up to ``VECTOR_KERNEL_TOKENS``
    has_vector_kernels: FloatArray
    batch: FloatArray
    tokens: FloatArray


@dataclass(frozen=True, slots=True)
class PassSetup:
    """A model, its format and the devices that it runs on."""

    parts: ModelParts
    weights: WeightFormat
    kv_bytes_per_value: float
    ceilings: Ceilings
    parallel: Parallel
    cpu_expert_share: float = 0.0
    #: quantised matrices go through kernels for single vectors up to ``VECTOR_KERNEL_TOKENS``
    has_vector_kernels: bool = False


def stack_terms(*terms: PassTerms) -> PassTerms:
    """Join terms of several passes along the last axis."""
    return PassTerms(*(np.concatenate(column, axis=-1) for column in zip(*terms, strict=True)))


def pass_terms(
    setup: PassSetup, batch: FloatArray, tokens: FloatArray, context: FloatArray
) -> PassTerms:
    """Return the terms of one pass.

    Parameters
    ----------
    setup
        Model and devices.
    batch
        Sequences over all replicas, ≥ 0, shape (n,).
    tokens
        Positions of each sequence in the pass, ≥ 1, shape (n,).
    context
        Tokens that each sequence has in its cache, ≥ 0, shape (n,).

    Notes
    -----
    The cache of a sequence is read once for all its positions; the positions differ only in
    arithmetic. Experts are split over all devices, everything else over the tensor-parallel group.
    """
    parts, ceilings, parallel = setup.parts, setup.ceilings, setup.parallel
    replicas = float(parallel.data)
    split = float(parallel.tensor)
    expert_split = split * replicas if parallel.expert > 1 else split
    own = np.maximum(batch / replicas, np.minimum(batch, 1.0))
    own_tokens = own * tokens
    expert_tokens = batch * tokens if parallel.expert > 1 else own_tokens
    bandwidth = ceilings.bandwidth_bytes_per_s

    dense_bytes = parts.dense_params * dense_bytes_per_weight(setup)
    head_bytes = parts.head_params * setup.weights.head_bytes_per_weight
    expert_bytes = parts.expert_params * setup.weights.bytes_per_weight
    ones = np.ones_like(own_tokens)
    kv_s, attention_s = _attention(setup, own, tokens, context)
    dense_flops = 2.0 * (parts.dense_params + parts.head_params) * own_tokens / split
    expert_flops = 2.0 * parts.expert_params * parts.expert_share * expert_tokens / expert_split
    log_miss = np.log1p(-min(parts.expert_share, 1.0 - 1e-9))
    return PassTerms(
        weights_s=(dense_bytes + head_bytes) / split / bandwidth * ones,
        experts_s=(1.0 - setup.cpu_expert_share) * expert_bytes / expert_split / bandwidth * ones,
        host_experts_s=setup.cpu_expert_share
        * expert_bytes
        / ceilings.host_bandwidth_bytes_per_s
        * ones,
        log_miss=log_miss * ones,
        matmul_s=(dense_flops + expert_flops) / ceilings.matmul_flops_per_s,
        kv_s=kv_s,
        attention_s=attention_s,
        scan_s=_scan(setup, own, tokens),
        collective_s=_collectives(setup, own_tokens),
        logits_s=own_tokens * parts.vocab_size * LOGIT_BYTES / split / bandwidth,
        n_layers=parts.n_layers * ones,
        has_vector_kernels=float(setup.has_vector_kernels) * ones,
        batch=own * ones,
        tokens=tokens * ones,
    )


def dense_bytes_per_weight(setup: PassSetup) -> float:
    """Return bytes a weight outside the experts.

    Published 4-bit mixture-of-experts checkpoints (gpt-oss, NVFP4 exports) keep attention and
    other dense matrices in bfloat16.
    """
    if setup.parts.is_moe and setup.weights.compute == "fp4":
        return 2.0
    return setup.weights.bytes_per_weight


def effective_tokens(
    batch: FloatArray, tokens: FloatArray, spread: FloatArray, evenness: FloatArray
) -> FloatArray:
    """Return how many independent, evenly routed tokens would touch as many experts.

    Tokens of one sequence choose alike: ``spread`` in [0, 1] says how much of a further token of
    the same sequence counts as an independent one (1 is independent routing, 0 is the same experts
    for all draft tokens). Some experts are popular: ``evenness`` in (0, 1] is the power of the
    token count that still finds new ones.
    """
    return (batch * (1.0 + (tokens - 1.0) * spread)) ** evenness


def expert_coverage(log_miss: FloatArray, independent_tokens: FloatArray) -> FloatArray:
    """Return the share of experts that a pass touches: 1 − (1 − k/E)^m."""
    return -np.expm1(independent_tokens * log_miss)


def expert_coverage_limit(experts: float, experts_per_token: float, tokens: float) -> float:
    """Return the largest share of experts that ``tokens`` can touch: min(1, tokens · k / E)."""
    return min(1.0, tokens * experts_per_token / experts)


def _attention(
    setup: PassSetup, own: FloatArray, tokens: FloatArray, context: FloatArray
) -> tuple[FloatArray, FloatArray]:
    parts, ceilings = setup.parts, setup.ceilings
    seen = context * parts.n_full_layers
    read = seen
    if parts.is_sparse:
        read = np.minimum(context, SPARSE_TOKENS) * parts.n_full_layers
    windowed = np.minimum(context, parts.window_tokens) * parts.n_window_layers
    kv_bytes = (read + windowed) * parts.kv_values_per_layer * setup.kv_bytes_per_value
    if parts.is_sparse:
        kv_bytes = kv_bytes + seen * SPARSE_INDEX_BYTES
    kv_split = min(float(setup.parallel.tensor), parts.kv_split_limit)
    kv_s = own * kv_bytes / kv_split / ceilings.bandwidth_bytes_per_s
    flops = own * tokens * (read + windowed) * parts.attention_flops
    return kv_s, flops / setup.parallel.tensor / ceilings.bf16_flops_per_s


def _scan(setup: PassSetup, own: FloatArray, tokens: FloatArray) -> FloatArray:
    state_bytes = setup.parts.state_values_per_layer * setup.parts.n_linear_layers * _STATE_BYTES
    per_device = own * (1.0 + tokens) * state_bytes / setup.parallel.tensor
    return per_device / setup.ceilings.bandwidth_bytes_per_s


def _collectives(setup: PassSetup, own_tokens: FloatArray) -> FloatArray:
    split = float(setup.parallel.tensor)
    if split <= 1.0:
        return np.zeros_like(own_tokens)
    one = own_tokens * setup.parts.hidden_size * _ACTIVATION_BYTES
    ring = 2.0 * (split - 1.0) / split * one / setup.ceilings.link_bytes_per_s
    count = COLLECTIVES_PER_LAYER * setup.parts.n_layers
    return count * (setup.ceilings.link_latency_s + ring)
