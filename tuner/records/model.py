"""Shapes of targets and drafters, as the cost and memory models need them."""

from __future__ import annotations

from enum import StrEnum

from tuner.frozen import dataclass
from tuner.records.methods import Method
from tuner.records.sources import Source


class Attention(StrEnum):
    """How a model keeps and reads its past."""

    MHA = "mha"
    GQA = "gqa"
    MLA = "mla"
    SPARSE = "sparse"
    """Compressed or sparse latent attention (DeepSeek V3.2 and V4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A target model. ``None`` = not known; parameters are counts, not billions."""

    model_id: str
    total_params: float
    #: parameters used for one token (equal to ``total_params`` when dense)
    active_params: float
    n_layers: int
    hidden_size: int
    intermediate_size: int | None
    n_heads: int
    n_kv_heads: int
    head_dim: int
    vocab_size: int
    attention: Attention = Attention.GQA
    #: mixture of experts; ``n_experts`` 0 = dense
    n_experts: int = 0
    experts_per_token: int = 0
    n_shared_experts: int = 0
    moe_intermediate_size: int | None = None
    #: layers without experts in a mixture-of-experts model
    n_dense_layers: int = 0
    #: trained multi-token-prediction layers in the checkpoint
    mtp_layers: int = 0
    native_dtype: str = "bfloat16"
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None
    #: tokens seen by sliding-window layers
    sliding_window: int | None = None
    #: layers with full attention; the rest are sliding-window or linear
    n_full_attention_layers: int | None = None
    #: layers with linear attention or a state-space scan (verified in sequence)
    n_linear_layers: int = 0
    year: int | None = None
    source: Source | None = None

    @property
    def is_moe(self) -> bool:
        """Whether only part of the weights is read for one token."""
        return self.n_experts > 0

    @property
    def is_hybrid(self) -> bool:
        """Whether some layers scan tokens in sequence."""
        return self.n_linear_layers > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """A published or user-given drafter for one target."""

    #: what the engine is given; None = built into the target, or no model at all
    path_or_id: str | None
    method: Method
    target_id: str | None = None
    params: float | None = None
    n_layers: int | None = None
    vocab_size: int | None = None
    dtype: str = "bfloat16"
    tensor_parallel: int | None = None
    #: longest context that it was trained on, tokens
    max_context: int | None = None
    #: most draft tokens that it was trained for (MTP depth, block size − 1)
    trained_depth: int | None = None
    #: shape, where the drafter is a language model of the catalog
    shape: ModelShape | None = None
    #: engines known to serve the pair
    engines: tuple[str, ...] = ()
    #: settings that its authors recommend, as text
    recommended: str | None = None
    licence: str | None = None
    source: Source | None = None
