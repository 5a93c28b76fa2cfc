"""How many parameters a transformer of given dimensions has. Weights only; biases and norms are
left out (below 0.1 % of any model in the catalog)."""

from __future__ import annotations

from tuner.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimensions:
    """What the count needs. Counts of layers by kind; the kinds do not have to add up."""

    hidden_size: int
    vocab_size: int
    tied_embeddings: bool
    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int | None = None
    #: layers with softmax attention (full or sliding)
    n_attention_layers: int
    #: layers with linear attention or a state-space scan, and the parameters of one
    n_linear_layers: int = 0
    linear_layer_params: int = 0
    #: low-rank attention (DeepSeek's MLA); None = not used
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    #: grouped low-rank output projection (DeepSeek V4); None = one matrix
    o_lora_rank: int | None = None
    o_groups: int = 1
    #: the query projection also makes a gate of the output
    gated_output: bool = False
    #: keys are used as values too
    shared_kv: bool = False
    #: matrices of one feed-forward block: 3 gated, 2 plain
    mlp_matrices: int = 3
    n_dense_layers: int
    intermediate_size: int = 0
    n_expert_layers: int = 0
    n_experts: int = 0
    experts_per_token: int = 0
    moe_intermediate_size: int = 0
    #: hidden size inside the routed experts (equal to ``hidden_size`` but for latent experts)
    expert_hidden_size: int | None = None
    shared_expert_width: int = 0


@dataclass(frozen=True, slots=True)
class ParamCount:
    """Parameters, without the layers for multi-token prediction."""

    total: int
    #: used for one token: chosen experts only; one row of the input embedding counts as nothing
    active: int
    #: one more layer like the last ones, as a multi-token-prediction layer has (embedding shared)
    one_layer: int


def count_params(dims: Dimensions) -> ParamCount:
    """Return the parameters of a model."""
    attention = attention_params(dims)
    dense = dims.mlp_matrices * dims.hidden_size * dims.intermediate_size
    one_expert, fixed = _expert_params(dims)
    embedding = dims.vocab_size * dims.hidden_size
    mixers = dims.n_attention_layers * attention + dims.n_linear_layers * dims.linear_layer_params
    common = mixers + dims.n_dense_layers * dense + dims.n_expert_layers * fixed
    routed = dims.n_expert_layers * one_expert
    total = common + routed * dims.n_experts + embedding * (1 if dims.tied_embeddings else 2)
    active = common + routed * dims.experts_per_token + embedding
    feed_forward = dense if not dims.n_experts else fixed + one_expert * dims.n_experts
    joined = 2 * dims.hidden_size * dims.hidden_size
    return ParamCount(
        total=total,
        active=active if dims.n_experts else total,
        one_layer=attention + feed_forward + joined,
    )


def attention_params(dims: Dimensions) -> int:
    """Return the parameters of one softmax attention layer."""
    hidden, heads = dims.hidden_size, dims.n_heads
    value = dims.v_head_dim or dims.head_dim
    query_width = heads * dims.head_dim
    query = hidden * query_width
    if dims.q_lora_rank:
        query = (hidden + query_width) * dims.q_lora_rank
    if dims.o_lora_rank:
        output = dims.o_lora_rank * (heads * value + dims.o_groups * hidden)
    else:
        output = heads * value * hidden
    gate = hidden * heads * value if dims.gated_output else 0
    if dims.kv_lora_rank is not None:
        rope = dims.qk_rope_head_dim or 0
        down = hidden * (dims.kv_lora_rank + rope)
        up = dims.kv_lora_rank * heads * (dims.head_dim - rope + value)
        return query + down + up + output + gate
    kv_width = dims.head_dim if dims.shared_kv else dims.head_dim + value
    return query + hidden * dims.n_kv_heads * kv_width + output + gate


def _expert_params(dims: Dimensions) -> tuple[int, int]:
    """Return the parameters of one routed expert, and of all else in an expert layer."""
    if not dims.n_experts:
        return 0, 0
    hidden = dims.hidden_size
    inner = dims.expert_hidden_size or hidden
    one = dims.mlp_matrices * inner * dims.moe_intermediate_size
    router = hidden * dims.n_experts
    shared = dims.mlp_matrices * hidden * dims.shared_expert_width
    latent = 2 * hidden * inner if inner != hidden else 0
    return one, router + shared + latent


def gated_delta_net_params(
    hidden: int, key_heads: int, key_dim: int, value_heads: int, value_dim: int, kernel: int
) -> int:
    """Return the parameters of a gated DeltaNet layer (Qwen3-Next and its successors)."""
    keys, values = key_heads * key_dim, value_heads * value_dim
    project = hidden * (2 * keys + 2 * values) + hidden * 2 * value_heads
    return project + kernel * (2 * keys + values) + values * hidden


def mamba2_params(
    hidden: int, heads: int, head_dim: int, groups: int, state: int, kernel: int
) -> int:
    """Return the parameters of a Mamba-2 layer."""
    inner = heads * head_dim
    mixed = inner + 2 * groups * state
    return hidden * (inner + mixed + heads) + kernel * mixed + inner * hidden


def kimi_delta_params(hidden: int, heads: int, head_dim: int, kernel: int) -> int:
    """Return the parameters of a Kimi Delta Attention layer (two low-rank gates of one head)."""
    width = heads * head_dim
    gates = 2 * head_dim * (hidden + width) + hidden * heads
    return 4 * hidden * width + gates + 3 * kernel * width
