"""Times of one decoding pass at the ceilings of the device: physics without free parameters.

Every term is an array in seconds, for one device of the group that works on the pass together.
``tuner.cost.roofline`` weighs the terms with efficiencies and adds floors.
"""

from __future__ import annotations

import math
from functools import lru_cache
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
#: bytes of one value of a recurrent state: float32 (mamba_ssm_dtype in the configs of Qwen3.5 and
#: Qwen3.8). A state is read and written once a pass, and written again for each further token so
#: that a rejected draft can be undone
_STATE_BYTES = 4.0


class PassTerms(NamedTuple):
    """Passes over ``tokens`` positions of each of ``batch`` sequences; arrays that broadcast."""

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
    #: sequences whose tokens choose among the same experts
    routed_batch: FloatArray
    tokens: FloatArray


class PassConstants(NamedTuple):
    """What a model on its devices adds to the terms; floats, or arrays with one entry a pass."""

    weights_s: FloatArray
    experts_s: FloatArray
    host_experts_s: FloatArray
    log_miss: FloatArray
    #: by own token: matrices of all tokens, and the experts of the tokens that meet there
    matmul_s: FloatArray
    #: by sequence and token in the cache: full layers, and what a selector reads of it
    kv_full_s: FloatArray
    kv_index_s: FloatArray
    kv_window_s: FloatArray
    #: time to read all memory that the weights leave, and devices that can hold parts of a cache
    #: which heads do not split
    kv_room_s: FloatArray
    kv_shards: FloatArray
    #: what each device reads more when attention is split by sequences; infinite where it is not
    kv_sequences_s: FloatArray
    #: by sequence and token in the cache, arithmetic of one position
    attention_full_s: FloatArray
    attention_window_s: FloatArray
    #: longest cache that full and window layers read
    full_tokens: FloatArray
    window_tokens: FloatArray
    #: by state that is read or written
    scan_s: FloatArray
    collective_fixed_s: FloatArray
    collective_s: FloatArray
    logits_s: FloatArray
    n_layers: FloatArray
    has_vector_kernels: FloatArray
    replicas: FloatArray
    #: replicas whose tokens meet at the same experts
    expert_replicas: FloatArray


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


@lru_cache(maxsize=1024)
def pass_constants(setup: PassSetup) -> PassConstants:
    """Return the constants of one model on its devices.

    Experts are split over all devices, everything else over the tensor-parallel group.
    """
    parts, ceilings = setup.parts, setup.ceilings
    replicas, split = float(setup.parallel.data), float(setup.parallel.tensor)
    meeting = replicas if setup.parallel.expert > 1 else 1.0
    expert_split = split * meeting
    bandwidth = ceilings.bandwidth_bytes_per_s
    expert_bytes = parts.expert_params * setup.weights.bytes_per_weight
    dense = parts.dense_params * dense_bytes_per_weight(setup)
    head = parts.head_params * setup.weights.head_bytes_per_weight
    flops = 2.0 * (parts.dense_params + parts.head_params) / split
    flops += 2.0 * parts.expert_params * parts.expert_share * meeting / expert_split
    kv_split = min(split, parts.kv_split_limit) * bandwidth
    # caches of heads are split over the group, and copied where there are fewer heads than devices,
    # while the copies fit. A latent is copied to every device until attention is quicker split by
    # sequences ("data-parallel attention"), for which every device reads all dense matrices
    room = ceilings.memory_bytes - (dense + head) / split - expert_bytes / expert_split
    kv_token = parts.kv_values_per_layer * setup.kv_bytes_per_value / kv_split
    attention = parts.attention_flops / split / ceilings.bf16_flops_per_s
    state = parts.state_values_per_layer * parts.n_linear_layers * _STATE_BYTES
    is_split = split > 1.0
    collectives = COLLECTIVES_PER_LAYER * parts.n_layers * is_split
    ring = 2.0 * (split - 1.0) / split * parts.hidden_size * _ACTIVATION_BYTES
    numbers = (
        (dense + head) / split / bandwidth,
        (1.0 - setup.cpu_expert_share) * expert_bytes / expert_split / bandwidth,
        setup.cpu_expert_share * expert_bytes / ceilings.host_bandwidth_bytes_per_s,
        math.log1p(-min(parts.expert_share, 1.0 - 1e-9)),
        flops / ceilings.matmul_flops_per_s,
        parts.n_full_layers * kv_token,
        parts.n_full_layers * SPARSE_INDEX_BYTES / kv_split if parts.is_sparse else 0.0,
        parts.n_window_layers * kv_token,
        math.inf if parts.is_latent else max(room, 0.0) / bandwidth,
        split / min(split, parts.kv_split_limit),
        dense * (1.0 - 1.0 / split) / bandwidth if parts.is_latent else math.inf,
        parts.n_full_layers * attention,
        parts.n_window_layers * attention,
        SPARSE_TOKENS if parts.is_sparse else math.inf,
        parts.window_tokens,
        state / split / bandwidth,
        collectives * ceilings.link_latency_s,
        collectives * ring / ceilings.link_bytes_per_s,
        parts.vocab_size * LOGIT_BYTES / split / bandwidth,
        parts.n_layers,
        float(setup.has_vector_kernels),
        replicas,
        meeting,
    )
    return PassConstants(*np.array(numbers, dtype=np.float64)[:, None])


def pass_terms(
    constants: PassConstants, batch: FloatArray, tokens: FloatArray, context: FloatArray
) -> PassTerms:
    """Return the terms of passes.

    Parameters
    ----------
    constants
        Of one pass, or of several as columns.
    batch
        Sequences over all replicas, ≥ 0.
    tokens
        Positions of each sequence in the pass, ≥ 1.
    context
        Tokens that each sequence has in its cache, ≥ 0.

    Notes
    -----
    All broadcast. The cache of a sequence is read once for all its positions; the positions differ
    only in arithmetic.
    """
    own = np.maximum(batch / constants.replicas, np.minimum(batch, 1.0))
    own_tokens = own * tokens
    full = np.minimum(context, constants.full_tokens)
    window = np.minimum(context, constants.window_tokens)
    cached = (
        full * constants.kv_full_s + context * constants.kv_index_s + window * constants.kv_window_s
    )
    scored = full * constants.attention_full_s + window * constants.attention_window_s
    copied = own * cached
    sharded = copied / constants.kv_shards
    kv_s = np.maximum(np.minimum(copied, constants.kv_room_s), sharded)
    kv_s = np.minimum(kv_s, sharded + constants.kv_sequences_s)
    return PassTerms(
        weights_s=constants.weights_s,
        experts_s=constants.experts_s,
        host_experts_s=constants.host_experts_s,
        log_miss=constants.log_miss,
        matmul_s=own_tokens * constants.matmul_s,
        kv_s=kv_s,
        attention_s=own_tokens * scored,
        scan_s=(own + own_tokens) * constants.scan_s,
        collective_s=constants.collective_fixed_s + own_tokens * constants.collective_s,
        logits_s=own_tokens * constants.logits_s,
        n_layers=constants.n_layers,
        has_vector_kernels=constants.has_vector_kernels,
        batch=own,
        routed_batch=own * constants.expert_replicas,
        tokens=tokens,
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
