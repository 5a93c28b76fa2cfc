"""What a drafter is made of, and which passes it runs in one step."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.cost.ceilings import device_ceilings
from tuner.cost.dtypes import WeightClass, WeightFormat, kv_bytes_per_value, weight_format
from tuner.cost.parts import ModelParts, model_parts
from tuner.cost.terms import PassSetup
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.hardware import DeviceKind, Parallel
from tuner.records.methods import DraftKind, Engine, Method
from tuner.records.model import Drafter, ModelShape

FloatArray = NDArray[np.float64]

#: output vocabulary of EAGLE-3 heads (SpecForge and SafeAILab/EAGLE configs: ``draft_vocab_size``)
REDUCED_VOCABULARY = 32000.0
#: layers of block drafters where the drafter does not say (DFlash paper, section 4: 5 layers;
#: P-EAGLE heads on Hugging Face: 4)
_BLOCK_LAYERS = {Method.DFLASH: 5.0, Method.DSPARK: 5.0, Method.P_EAGLE: 4.0}
#: drafters that use the output head of the target, in its format (EAGLE, section 3; DFlash,
#: section 4; DSpark and MTP likewise)
_SHARED_HEAD = frozenset({Method.EAGLE, Method.EAGLE2, Method.DFLASH, Method.DSPARK, Method.MTP})
#: gated feed-forward of width 3 h where the target has no dense one (assumed)
_FEED_FORWARD_WIDTHS = 3.0
#: layers of a small language model of unknown shape (assumed: the catalog's 20 dense models below
#: 3.5 B have 16 to 36, median 27). It matters for drafters that state only params_b: a launch floor
#: for each layer.
_SMALL_MODEL_LAYERS = 28.0
#: positions that lookahead decoding adds for each draft token: window and pool of 7 n-grams each
#: (settings of the Spec-Bench leaderboard)
LOOKAHEAD_POSITIONS = 14.0


@lru_cache(maxsize=256)
def target_setup(setup: CostSetup) -> PassSetup:
    """Return the pass description of the target."""
    weights = weight_format(setup.dtype)
    return PassSetup(
        parts=model_parts(setup.target),
        weights=weights,
        kv_bytes_per_value=kv_bytes_per_value(setup.kv_dtype),
        ceilings=device_ceilings(setup.hardware, weights.compute),
        parallel=setup.hardware.parallel,
        cpu_expert_share=setup.hardware.cpu_expert_share,
        has_vector_kernels=_has_vector_kernels(setup, weights),
    )


@lru_cache(maxsize=1024)
def draft_setup(setup: CostSetup, plan: DraftPlan) -> PassSetup | None:
    """Return the pass description of the drafter; None where nothing is multiplied."""
    if plan.kind not in (DraftKind.SERIAL, DraftKind.PARALLEL, DraftKind.HEADS):
        return None
    drafter = plan.drafter
    is_own_layer = plan.method is Method.MTP and (drafter is None or drafter.params is None)
    dtype = setup.dtype if drafter is None or is_own_layer else drafter.dtype
    weights = weight_format(dtype)
    if plan.method in _SHARED_HEAD:
        shared = weight_format(setup.dtype).head_bytes_per_weight
        weights = replace(weights, head_bytes_per_weight=shared)
    return PassSetup(
        parts=draft_parts(plan, setup.target),
        weights=weights,
        kv_bytes_per_value=kv_bytes_per_value(setup.kv_dtype),
        ceilings=device_ceilings(setup.hardware, weights.compute),
        parallel=_draft_parallel(setup.hardware.parallel, drafter),
        has_vector_kernels=_has_vector_kernels(setup, weights),
    )


def _has_vector_kernels(setup: CostSetup, weights: WeightFormat) -> bool:
    is_gpu = setup.hardware.accelerator.kind not in (DeviceKind.CPU, DeviceKind.APPLE)
    quantised = weights.weight_class in (WeightClass.GGUF, WeightClass.GGUF_WIDE)
    return setup.engine is Engine.LLAMACPP and is_gpu and quantised


@lru_cache(maxsize=512)
def draft_parts(plan: DraftPlan, target: ModelShape) -> ModelParts:
    """Return the parts of one draft pass: stated sizes first, else the method's usual shape."""
    drafter = plan.drafter
    if drafter is not None and drafter.shape is not None:
        return model_parts(drafter.shape)
    if plan.method is Method.DRAFT_MODEL:
        return _small_model(drafter, target)
    if plan.method is Method.MTP:
        return _own_layer(target)
    if plan.kind is DraftKind.HEADS:
        return _medusa_heads(target)
    return _head(plan, target)


def verify_tokens(plan: DraftPlan, tokens: FloatArray, draft_steps: FloatArray) -> FloatArray:
    """Return the target positions of a sequence in a step: lookahead adds its own window."""
    if plan.kind is DraftKind.WINDOW:
        return tokens + LOOKAHEAD_POSITIONS * draft_steps
    return tokens


def serial_passes(plan: DraftPlan, draft_steps: FloatArray) -> FloatArray:
    """Return draft passes that follow the first one."""
    if plan.kind is DraftKind.SERIAL:
        return np.maximum(draft_steps - 1.0, 0.0)
    return np.zeros_like(draft_steps)


def first_pass_tokens(plan: DraftPlan, tokens: FloatArray, draft_steps: FloatArray) -> FloatArray:
    """Return positions of a sequence in the first draft pass.

    A serial head first runs over the tokens that the last step accepted; engines pad that to all
    verified ones. A block drafter runs over its block.
    """
    if plan.kind is DraftKind.SERIAL:
        return np.minimum(tokens, draft_steps + 1.0)
    if plan.kind is DraftKind.PARALLEL:
        return np.maximum(draft_steps, 1.0) if plan.method is Method.P_EAGLE else tokens
    return np.ones_like(tokens)


def replays_verified_tokens(plan: DraftPlan, engine: Engine | None) -> bool:
    """Whether the engine runs the drafter once more over the K + 1 tokens after each verification.

    llama.cpp b11434, ``common_speculative_process`` (``common/speculative.cpp``), for draft models.
    """
    return engine is Engine.LLAMACPP and plan.method is Method.DRAFT_MODEL


def _draft_parallel(parallel: Parallel, drafter: Drafter | None) -> Parallel:
    tensor = parallel.tensor
    if drafter is not None and drafter.tensor_parallel is not None:
        tensor = drafter.tensor_parallel
    return replace(parallel, tensor=tensor, expert=1)


def _blank(target: ModelShape, *, layers: float, dense: float, head: float) -> ModelParts:
    return ModelParts(
        dense_params=dense,
        expert_params=0.0,
        expert_share=0.0,
        head_params=head,
        vocab_size=head / target.hidden_size,
        hidden_size=float(target.hidden_size),
        n_layers=layers,
        n_full_layers=layers,
        n_window_layers=0.0,
        n_linear_layers=0.0,
        window_tokens=0.0,
        kv_values_per_layer=2.0 * max(1, target.n_kv_heads) * target.head_dim,
        kv_split_limit=float(max(1, target.n_kv_heads)),
        attention_flops=4.0 * target.n_heads * target.head_dim,
        state_values_per_layer=0.0,
        is_moe=False,
        is_latent=False,
        is_sparse=False,
    )


def _layer_params(target: ModelShape) -> float:
    """Parameters of a dense layer as wide as the target."""
    hidden = float(target.hidden_size)
    width = min(float(target.n_heads * target.head_dim), 2.0 * hidden)
    attention = hidden * (2.0 * width + 2.0 * min(target.n_kv_heads * target.head_dim, width))
    dense_width = target.intermediate_size if not target.is_moe else None
    return attention + 3.0 * hidden * (dense_width or _FEED_FORWARD_WIDTHS * hidden)


def _head(plan: DraftPlan, target: ModelShape) -> ModelParts:
    """An EAGLE-like head or a block drafter: layers as wide as the target."""
    hidden = float(target.hidden_size)
    drafter = plan.drafter
    layers = _BLOCK_LAYERS.get(plan.method, 1.0)
    if drafter is not None and drafter.n_layers:
        layers = float(drafter.n_layers)
    vocabulary = _draft_vocabulary(plan, target)
    joined = 3.0 if plan.method in (Method.EAGLE3, Method.EAGLE3_1, Method.P_EAGLE) else 2.0
    dense = layers * _layer_params(target) + joined * hidden * hidden
    if drafter is not None and drafter.params:
        # stated sizes may or may not count embeddings: believe them within a factor of two
        stated = drafter.params - vocabulary * hidden
        dense = min(max(stated, 0.5 * dense), 2.0 * dense)
    return _blank(target, layers=layers, dense=dense, head=vocabulary * hidden)


def _draft_vocabulary(plan: DraftPlan, target: ModelShape) -> float:
    drafter = plan.drafter
    if drafter is not None and drafter.vocab_size:
        return float(drafter.vocab_size)
    full = float(target.vocab_size)
    if plan.method in (Method.EAGLE3, Method.EAGLE3_1, Method.P_EAGLE):
        return min(full, REDUCED_VOCABULARY)
    return full


def _own_layer(target: ModelShape) -> ModelParts:
    """One more layer of the target, its experts included, and the target's head."""
    whole = model_parts(target)
    hidden = float(target.hidden_size)
    moe_layers = max(1.0, whole.n_layers - target.n_dense_layers)
    return replace(
        whole,
        dense_params=whole.dense_params / whole.n_layers + 2.0 * hidden * hidden,
        expert_params=whole.expert_params / moe_layers,
        n_layers=1.0,
        n_full_layers=1.0,
        n_window_layers=0.0,
        n_linear_layers=0.0,
    )


def _medusa_heads(target: ModelShape) -> ModelParts:
    """One residual block and one vocabulary matrix a head (Medusa, section 2.1.1).

    The sizes are those of a single head; ``step_plan`` runs as many as there are draft tokens.
    """
    hidden = float(target.hidden_size)
    parts = _blank(target, layers=0.25, dense=hidden * hidden, head=target.vocab_size * hidden)
    return replace(parts, n_full_layers=0.0)


def _small_model(drafter: Drafter | None, target: ModelShape) -> ModelParts:
    """A language model of which only the size is known; a tenth of the target if not even that."""
    params = drafter.params if drafter is not None and drafter.params else target.total_params / 10
    layers = _SMALL_MODEL_LAYERS
    if drafter is not None and drafter.n_layers:
        layers = float(drafter.n_layers)
    # 12 h² parameters a layer plus a tied head of the target's vocabulary
    vocabulary = float(target.vocab_size)
    hidden = (np.sqrt(vocabulary**2 + 48.0 * layers * params) - vocabulary) / (24.0 * layers)
    head = vocabulary * float(hidden)
    parts = _blank(target, layers=layers, dense=max(params - head, 0.2 * params), head=head)
    return replace(
        parts, hidden_size=float(hidden), vocab_size=vocabulary, kv_values_per_layer=512.0
    )
