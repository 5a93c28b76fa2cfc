"""Parameters, cache and arithmetic of a model, split by how a decoding pass uses them."""

from __future__ import annotations

from functools import lru_cache

from tuner.frozen import dataclass
from tuner.records.model import Attention, ModelShape

#: gate, up and down matrices
_GATED_MATRICES = 3.0
#: tokens whose cache a sparse layer reads in full (DeepSeek-V3.2 ``index_topk``)
SPARSE_TOKENS = 2048.0
#: bytes that the selector of a sparse layer reads for each cached token (128 values in fp8 and a
#: scale: DeepSeek-V3.2 ``index_head_dim``)
SPARSE_INDEX_BYTES = 132.0
#: cache values of one token and layer when a latent is kept but its rank is not stated:
#: 512 + 64, DeepSeek-V3's
_LATENT_VALUES = 576.0
#: rows of the recurrent state of a layer, each as wide as the attention heads together: 128 by 128
#: for a value head of gated DeltaNet, and 32 × 128 = 16 × 256 in Qwen3-Next, 48 × 128 = 24 × 256 in
#: Qwen3.6-27B
_STATE_ROWS = 128.0
#: below this size checkpoints usually tie the output head to the embedding (assumed)
_TIED_BELOW_PARAMS = 5e9
#: a shape whose computed experts exceed this share of all parameters is not a plain stack (assumed:
#: the catalog's plain stacks have up to 0.982, MiniMax-M2.7; Nemotron 3 and Kimi-K3 compute to 1.4
#: and more; Kimi-K2 at 0.989 comes out the same to 0.1 % either way). It matters for the weights
#: that a step of such a target reads.
_LARGEST_EXPERT_SHARE = 0.985
#: nor is one whose layers add up to more than this in units of the stated active size (assumed: the
#: catalog's 111 plain stacks come to 0.62 … 1.05 of it)
_LARGEST_STACK = 1.25


@dataclass(frozen=True, slots=True)
class ModelParts:
    """Counts, not bytes. One pass reads ``dense_params``, the head, and the experts it touches."""

    #: matrices that every token uses: attention, dense and shared feed-forward
    dense_params: float
    #: all routed experts of all layers
    expert_params: float
    #: experts that a token uses ÷ experts there are; 0 when dense
    expert_share: float
    #: output head, vocabulary × width
    head_params: float
    vocab_size: float
    hidden_size: float
    n_layers: float
    #: layers that read the whole past, a window of it, and a fixed state
    n_full_layers: float
    n_window_layers: float
    n_linear_layers: float
    window_tokens: float
    #: cached values of a token in one layer
    kv_values_per_layer: float
    #: devices over which one cache can be split (heads); 1 for a latent
    kv_split_limit: float
    #: multiply-adds × 2 of one token against one cached token in one layer
    attention_flops: float
    state_values_per_layer: float
    is_moe: bool
    is_latent: bool
    is_sparse: bool

    @property
    def active_params(self) -> float:
        """Matrix parameters that one token multiplies with, head excluded."""
        return self.dense_params + self.expert_params * self.expert_share


@lru_cache(maxsize=512)
def model_parts(shape: ModelShape) -> ModelParts:
    """Split ``shape``. Where the layers do not add up to the stated sizes, the sizes decide."""
    experts = _expert_params(shape)
    share = min(1.0, shape.experts_per_token / shape.n_experts) if shape.n_experts else 0.0
    head = float(shape.vocab_size) * shape.hidden_size
    n_linear = float(shape.n_linear_layers)
    attending = shape.n_layers - n_linear
    full = float(attending)
    if shape.n_full_attention_layers is not None:
        full = float(min(shape.n_full_attention_layers, attending))
    window = float(shape.sliding_window or 0)
    windowed = attending - full if window else 0.0
    is_latent = shape.attention in (Attention.MLA, Attention.SPARSE)
    return ModelParts(
        dense_params=_dense_params(shape, experts, share, head),
        expert_params=experts,
        expert_share=share,
        head_params=head,
        vocab_size=float(shape.vocab_size),
        hidden_size=float(shape.hidden_size),
        n_layers=float(shape.n_layers),
        n_full_layers=full,
        n_window_layers=windowed,
        n_linear_layers=n_linear,
        window_tokens=window,
        kv_values_per_layer=_kv_values(shape),
        kv_split_limit=1.0 if is_latent else float(max(1, shape.n_kv_heads)),
        attention_flops=_attention_flops(shape),
        state_values_per_layer=_STATE_ROWS * shape.n_heads * shape.head_dim,
        is_moe=experts > 0.0,
        is_latent=is_latent,
        is_sparse=shape.attention is Attention.SPARSE,
    )


def _expert_params(shape: ModelShape) -> float:
    if not shape.n_experts:
        return 0.0
    total = shape.total_params
    if shape.moe_intermediate_size:
        layers = shape.n_layers - shape.n_dense_layers
        one = _GATED_MATRICES * shape.hidden_size * shape.moe_intermediate_size
        stack = layers * shape.n_experts * one
        if stack < _LARGEST_EXPERT_SHARE * total:
            return stack
    if shape.active_params >= total:  # not stated
        return _LARGEST_EXPERT_SHARE * total
    share = min(0.99, shape.experts_per_token / shape.n_experts)
    return max(0.0, (total - shape.active_params) / (1.0 - share))


def _dense_params(shape: ModelShape, experts: float, share: float, head: float) -> float:
    plain_stack = shape.attention in (Attention.GQA, Attention.MHA) and not shape.is_hybrid
    if plain_stack and shape.n_kv_heads and shape.head_dim:
        stack = shape.n_layers * _attention_params(shape) + _dense_feed_forward(shape)
        used = stack + experts * share
        if 0.5 * shape.active_params < used < _LARGEST_STACK * shape.active_params:
            return stack
    embeddings = head if shape.total_params < _TIED_BELOW_PARAMS or experts else 2.0 * head
    active = min(shape.active_params, shape.total_params - experts * (1.0 - share))
    rest = active - experts * share - embeddings
    return max(rest, 0.1 * active)


def _attention_params(shape: ModelShape) -> float:
    width = float(shape.n_heads * shape.head_dim)
    cached = 2.0 * shape.n_kv_heads * shape.head_dim
    return shape.hidden_size * (2.0 * width + cached)


def _dense_feed_forward(shape: ModelShape) -> float:
    per_width = _GATED_MATRICES * shape.hidden_size
    if not shape.n_experts:
        return shape.n_layers * per_width * (shape.intermediate_size or 4 * shape.hidden_size)
    shared = shape.n_shared_experts * per_width * (shape.moe_intermediate_size or 0)
    dense = per_width * (shape.intermediate_size or 0)
    return (shape.n_layers - shape.n_dense_layers) * shared + shape.n_dense_layers * dense


def _kv_values(shape: ModelShape) -> float:
    if shape.attention in (Attention.MLA, Attention.SPARSE):
        if shape.kv_lora_rank:
            return float(shape.kv_lora_rank + (shape.qk_rope_head_dim or 0))
        return _LATENT_VALUES
    return 2.0 * max(1, shape.n_kv_heads) * shape.head_dim


def _attention_flops(shape: ModelShape) -> float:
    if shape.attention in (Attention.MLA, Attention.SPARSE):
        rank = float(shape.kv_lora_rank or 512)
        return 2.0 * shape.n_heads * (2.0 * rank + (shape.qk_rope_head_dim or 64))
    return 4.0 * shape.n_heads * shape.head_dim
