"""Bytes on one device of the group, and how many sequences fit beside the weights."""

from __future__ import annotations

import math
from functools import lru_cache

from tuner.cost.drafters import draft_setup, target_setup
from tuner.cost.dtypes import weight_format
from tuner.cost.parts import model_parts
from tuner.cost.terms import PassSetup, dense_bytes_per_weight
from tuner.frozen import dataclass
from tuner.records.cost import CostSetup, DraftPlan, MemoryFit
from tuner.records.hardware import DeviceKind
from tuner.records.methods import DraftKind, Engine, Method
from tuner.records.model import ModelShape

#: share of device memory that the engine takes: vLLM ``gpu_memory_utilization`` 0.9, SGLang
#: ``mem_fraction_static`` about 0.88 (computed from the card), TensorRT-LLM 0.9 of what is free;
#: llama.cpp takes what it needs, and a twentieth is left to others (assumed)
MEMORY_SHARE: dict[Engine | None, float] = {
    Engine.VLLM: 0.90,
    Engine.SGLANG: 0.88,
    Engine.TRTLLM: 0.90,
    Engine.LLAMACPP: 0.95,
    None: 0.90,
}
#: driver context and communication buffers that exist before the engine starts (assumed)
CONTEXT_BYTES = 0.7e9
#: share of Apple's unified memory that a GPU process may hold (macOS default, about three quarters)
_UNIFIED_SHARE = 0.75
#: prompt tokens in one pass: vLLM ``max_num_batched_tokens`` and SGLang ``chunked_prefill_size``
#: default to 8192 on large cards; llama.cpp's physical batch is 512
_CHUNK_TOKENS: dict[Engine | None, float] = {
    Engine.VLLM: 8192.0,
    Engine.SGLANG: 8192.0,
    Engine.TRTLLM: 8192.0,
    Engine.LLAMACPP: 512.0,
    None: 2048.0,
}
#: live activations of one token in units of width × bytes: residual, normalised input, gate and up
#: outputs (assumed)
_LIVE_WIDTHS = 12.0
_ACTIVATION_BYTES = 2.0
_LOGIT_BYTES = 4.0
#: copies of the logits that the sampler holds: raw and probabilities (assumed)
_LOGIT_COPIES = 2.0
#: device memory of captured graphs for each layer and captured batch size (assumed; vLLM reports
#: 0.5–1 GB for 80 layers and 67 sizes)
_GRAPH_BYTES_PER_LAYER_AND_SIZE = 0.15e6
_CAPTURED_SIZES: dict[Engine | None, float] = {
    Engine.VLLM: 67.0,
    Engine.SGLANG: 36.0,
    Engine.TRTLLM: 32.0,
    Engine.LLAMACPP: 0.0,
    None: 0.0,
}
#: sequences that a schedule can hold when memory is not the limit
_NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Needs:
    """What a plan in a setup takes on a device, whatever the load; bytes unless named otherwise."""

    weights: float
    drafter: float
    usable: float
    activation: float
    graphs: float
    graphs_plain: float
    #: of one cached token: as it is stated, and what full and window layers keep of a sequence
    kv_token: float
    kv_full: float
    kv_window: float
    window_tokens: float
    draft_kv_token: float
    #: of one recurrent state, and whether each verified position keeps one
    state: float
    keeps_states: bool
    #: logits of one position
    logits: float
    replicas: int


@lru_cache(maxsize=1024)
def _needs(setup: CostSetup, plan: DraftPlan) -> _Needs:
    target, parallel = target_setup(setup), setup.hardware.parallel
    drafter = draft_setup(setup, plan) if plan.kind is not DraftKind.NONE else None
    kv_token, state = _cache(target, parallel.pipeline)
    kv_layer = _layer_cache(target, parallel.pipeline)
    return _Needs(
        weights=_target_weights(setup, target),
        drafter=_drafter_weights(plan, drafter),
        usable=_usable(setup),
        activation=_activation(setup, target),
        graphs=_graphs(setup, target, plan),
        graphs_plain=_graphs(setup, target, None),
        kv_token=kv_token,
        kv_full=target.parts.n_full_layers * kv_layer,
        kv_window=target.parts.n_window_layers * kv_layer,
        window_tokens=target.parts.window_tokens,
        draft_kv_token=_cache(drafter, 1)[0] if drafter is not None else 0.0,
        state=state,
        keeps_states=plan.kind is not DraftKind.NONE,
        logits=_logits(target),
        replicas=parallel.data,
    )


def memory_fit(
    setup: CostSetup, plan: DraftPlan, *, context_tokens: float, batch: float, verify_tokens: int
) -> MemoryFit:
    """Return what the setup takes on its fullest device and how many sequences fit.

    Parameters
    ----------
    context_tokens
        Tokens that one sequence holds at its longest, prompt and output.
    batch
        Sequences over all replicas that are wanted.
    verify_tokens
        Target positions of a sequence in one step, root included.

    Notes
    -----
    Pipeline stages hold equal shares of layers. ``max_batch`` counts all replicas.
    """
    needs = _needs(setup, plan)
    windowed = min(context_tokens, needs.window_tokens)
    states = float(verify_tokens) if needs.keeps_states else 1.0
    sequence = needs.kv_full * context_tokens + needs.kv_window * windowed + needs.state * states
    drafted = sequence + needs.draft_kv_token * context_tokens + needs.logits * verify_tokens
    room = needs.usable - needs.weights - needs.activation
    plain = _count(room - needs.graphs_plain, sequence + needs.logits) * needs.replicas
    most = _count(room - needs.graphs - needs.drafter, drafted) * needs.replicas
    return MemoryFit(
        weights_bytes=needs.weights,
        drafter_bytes=needs.drafter,
        kv_bytes_per_token=needs.kv_token,
        draft_kv_bytes_per_token=needs.draft_kv_token,
        activation_bytes=needs.activation,
        logits_bytes=math.ceil(batch / needs.replicas) * needs.logits * verify_tokens,
        graph_bytes=needs.graphs,
        usable_bytes=needs.usable,
        max_batch=most,
        max_batch_plain=plain,
        fits=batch <= most,
    )


def weights_bytes(shape: ModelShape, dtype: str) -> float:
    """Return the bytes of all weights of a model, embeddings included, over all devices."""
    parts, fmt = model_parts(shape), weight_format(dtype)
    rest = max(shape.total_params - parts.expert_params - parts.dense_params, parts.head_params)
    dense = 2.0 if parts.is_moe and fmt.compute == "fp4" else fmt.bytes_per_weight
    return (
        parts.expert_params * fmt.bytes_per_weight
        + parts.dense_params * dense
        + min(rest, 2.0 * parts.head_params) * fmt.head_bytes_per_weight
    )


def _target_weights(setup: CostSetup, target: PassSetup) -> float:
    parts, parallel = target.parts, setup.hardware.parallel
    experts = parts.expert_params * target.weights.bytes_per_weight
    experts *= 1.0 - setup.hardware.cpu_expert_share
    everything = weights_bytes(setup.target, setup.dtype)
    dense = everything - parts.expert_params * target.weights.bytes_per_weight
    expert_split = parallel.tensor * (parallel.data if parallel.expert > 1 else 1)
    return (dense / parallel.tensor + experts / expert_split) / parallel.pipeline


def _drafter_weights(plan: DraftPlan, drafter: PassSetup | None) -> float:
    if drafter is None:
        return 0.0
    parts, split = drafter.parts, drafter.parallel.tensor
    experts = parts.expert_params * drafter.weights.bytes_per_weight
    dense = parts.dense_params * dense_bytes_per_weight(drafter)
    own_head = plan.method in (Method.EAGLE3, Method.EAGLE3_1, Method.DRAFT_MODEL)
    head = parts.head_params * drafter.weights.head_bytes_per_weight if own_head else 0.0
    return (experts + dense + head) / split


def _usable(setup: CostSetup) -> float:
    accelerator = setup.hardware.accelerator
    share = MEMORY_SHARE[setup.engine]
    if accelerator.kind is DeviceKind.APPLE:
        share = min(share, _UNIFIED_SHARE)
    return max(accelerator.memory_bytes * share - CONTEXT_BYTES, 0.0)


def _activation(setup: CostSetup, target: PassSetup) -> float:
    live = _LIVE_WIDTHS * target.parts.hidden_size * _ACTIVATION_BYTES
    return _CHUNK_TOKENS[setup.engine] * live / setup.hardware.parallel.tensor


def _graphs(setup: CostSetup, target: PassSetup, plan: DraftPlan | None) -> float:
    layers = target.parts.n_layers / setup.hardware.parallel.pipeline
    if plan is not None and plan.kind in (DraftKind.SERIAL, DraftKind.PARALLEL):
        layers += 2.0
    return layers * _CAPTURED_SIZES[setup.engine] * _GRAPH_BYTES_PER_LAYER_AND_SIZE


def _cache(model: PassSetup, pipeline: int) -> tuple[float, float]:
    """Return bytes a cached token and bytes of recurrent state a sequence, on one device."""
    parts = model.parts
    token = (parts.n_full_layers + parts.n_window_layers) * _layer_cache(model, pipeline)
    state = parts.n_linear_layers * parts.state_values_per_layer * _LOGIT_BYTES
    return token, state / model.parallel.tensor / pipeline


def _layer_cache(model: PassSetup, pipeline: int) -> float:
    """Bytes of a cached token in one layer; window layers keep only their window."""
    split = min(float(model.parallel.tensor), model.parts.kv_split_limit) * pipeline
    return model.parts.kv_values_per_layer * model.kv_bytes_per_value / split


def _logits(target: PassSetup) -> float:
    return target.parts.vocab_size * _LOGIT_BYTES * _LOGIT_COPIES / target.parallel.tensor


def _count(room: float, each: float) -> int:
    if room <= 0.0:
        return 0
    return min(int(room / each), _NO_LIMIT) if each > 0.0 else _NO_LIMIT
