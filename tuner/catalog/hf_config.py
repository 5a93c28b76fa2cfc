"""Shape of a model from its Hugging Face ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.catalog.facts import Facts
from tuner.catalog.json_file import read_json_object
from tuner.catalog.layer_kinds import (
    LayerKinds,
    dense_layers,
    layer_kinds,
    layer_names,
    mean_block_width,
)
from tuner.catalog.param_count import (
    Dimensions,
    count_params,
    gated_delta_net_params,
    kimi_delta_params,
    mamba2_params,
)
from tuner.catalog.quantization import native_dtype
from tuner.errors import InputError, Where
from tuner.records.model import Attention, ModelShape
from tuner.records.sources import Grade, Source

#: limits that no transformer comes near; beyond them a file is taken for broken
MAX_LAYERS = 2_000
MAX_WIDTH = 1_000_000
MAX_EXPERTS = 100_000

_NESTED = ("text_config", "llm_config", "language_config", "text_model_config")

#: families whose output head is the input embedding unless the file says otherwise
_TIED = ("gemma", "cohere", "gpt2", "opt", "bloom", "mpt", "gpt_bigcode", "smollm3")

#: families with a plain feed-forward block of two matrices
_PLAIN_MLP = {
    "gpt2", "gptj", "gpt_neo", "gpt_neox", "opt", "bloom", "falcon", "phi", "starcoder2", "mpt",
    "nemotron", "nemotron_h", "gpt_bigcode", "codegen",
}  # fmt: skip


def shape_from_config(path: str | Path) -> ModelShape:
    """Return the shape that a ``config.json`` describes; a folder stands for the file in it.

    The parameters are counted from the dimensions (weights; biases, norms and multi-token
    prediction layers left out). ``model_id`` is the folder of a ``config.json``, which is
    what an engine is given.

    Raises
    ------
    InputError
        The file cannot be read, is no model configuration, or holds an impossible value; the
        error names the file and the key.
    """
    file = Path(path).expanduser()
    if file.is_dir():
        file = file / "config.json"
    values = read_json_object(file)
    beside = file.with_name("hf_quant_config.json")  # where ModelOpt keeps the number format
    if "quantization_config" not in values and beside.is_file():
        values["quantization_config"] = read_json_object(beside).get("quantization")
    return shape_from_mapping(values, model_id=_model_id(file), file=str(file))


def shape_from_mapping(values: Mapping[str, Any], *, model_id: str, file: str) -> ModelShape:
    """Return the shape that the values of a ``config.json`` describe."""
    outer = Facts(values, file)
    facts = _language_part(outer)
    if facts.flag("is_encoder_decoder") or outer.flag("is_encoder_decoder"):
        raise InputError(
            "an encoder-decoder model: only decoder-only language models are supported.",
            where=Where(file=file, key="is_encoder_decoder"),
        )
    n_layers = _n_layers(facts)
    kinds = layer_kinds(facts, n_layers)
    dims = _dimensions(outer, facts, n_layers, kinds)
    count = count_params(dims)
    windowed = kinds.window > 0
    return ModelShape(
        model_id=model_id,
        total_params=float(count.total),
        active_params=float(count.active),
        n_layers=n_layers,
        hidden_size=dims.hidden_size,
        intermediate_size=dims.intermediate_size or None,
        n_heads=dims.n_heads,
        n_kv_heads=dims.n_kv_heads,
        head_dim=dims.head_dim,
        vocab_size=dims.vocab_size,
        attention=_attention(facts, dims),
        n_experts=dims.n_experts,
        experts_per_token=dims.experts_per_token,
        n_shared_experts=_shared_experts(facts, dims),
        moe_intermediate_size=dims.moe_intermediate_size or None,
        n_dense_layers=n_layers - dims.n_expert_layers if dims.n_experts else 0,
        mtp_layers=_mtp_layers(facts),
        native_dtype=native_dtype(outer, facts),
        kv_lora_rank=dims.kv_lora_rank,
        qk_rope_head_dim=dims.qk_rope_head_dim,
        v_head_dim=dims.v_head_dim,
        sliding_window=_window(facts) if windowed else None,
        n_full_attention_layers=kinds.full if kinds.full != n_layers else None,
        n_linear_layers=kinds.linear,
        source=Source(
            reference=file,
            grade=Grade.DERIVED,
            note="dimensions as stated; parameters counted from them",
        ),
    )


def _model_id(file: Path) -> str:
    # Guard: _name_or_path is often the parent of a fine-tune or a path of another machine
    if file.name != "config.json":
        return str(file)
    folder = file.parent
    return str(folder if folder != Path() else folder.resolve())


def _language_part(outer: Facts) -> Facts:
    for key in _NESTED:
        if inner := outer.section(key):
            return _language_part(inner)
    if thinker := outer.section("thinker_config"):
        return _language_part(thinker)
    return outer


def _n_layers(facts: Facts) -> int:
    keys = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    stated = facts.integer(*keys, maximum=MAX_LAYERS)
    listed = len(layer_names(facts))
    if stated is None and 0 < listed <= MAX_LAYERS:
        return listed
    return stated if stated is not None else facts.required(*keys, maximum=MAX_LAYERS)


def _dimensions(outer: Facts, facts: Facts, n_layers: int, kinds: LayerKinds) -> Dimensions:
    hidden = facts.required("hidden_size", "n_embd", "d_model", maximum=MAX_WIDTH)
    heads = facts.required("num_attention_heads", "n_head", "n_heads", "attn_num_heads",
                           maximum=MAX_WIDTH)  # fmt: skip
    model_type = facts.text("model_type") or outer.text("model_type") or ""
    plain = model_type in _PLAIN_MLP or facts.text("mlp_hidden_act") == "relu2"
    rope, value = _width(facts, "qk_rope_head_dim"), _width(facts, "v_head_dim")
    mla = _width(facts, "kv_lora_rank")
    nope = facts.integer("qk_nope_head_dim", minimum=0, maximum=MAX_WIDTH)
    head_dim = _width(facts, "head_dim", "attention_head_dim") or max(hidden // heads, 1)
    if mla is not None and nope is not None:
        head_dim = nope + (rope or 0)
    latent = mla is None and _width(facts, "o_lora_rank") is not None
    experts = _experts(facts, n_layers, kinds, model_type)
    dense = n_layers - experts["n_expert_layers"]
    if kinds.plain_blocks is not None:
        dense = kinds.plain_blocks
    return Dimensions(
        hidden_size=hidden,
        vocab_size=facts.required("vocab_size", "padded_vocab_size", maximum=100_000_000),
        tied_embeddings=outer.flag(
            "tie_word_embeddings",
            default=facts.flag("tie_word_embeddings", default=model_type.startswith(_TIED)),
        ),
        n_heads=heads,
        n_kv_heads=_kv_heads(facts, heads),
        head_dim=head_dim,
        v_head_dim=value,
        n_attention_layers=kinds.full + kinds.window,
        n_linear_layers=kinds.linear,
        linear_layer_params=_linear_params(facts, hidden) if kinds.linear else 0,
        kv_lora_rank=mla,
        q_lora_rank=_width(facts, "q_lora_rank"),
        qk_rope_head_dim=rope,
        o_lora_rank=_width(facts, "o_lora_rank") if latent else None,
        o_groups=facts.integer("o_groups", maximum=MAX_WIDTH) or 1,
        gated_output=facts.flag(
            "attn_output_gate", "mla_use_output_gate", default=model_type == "qwen3_next"
        ),
        shared_kv=latent,
        mlp_matrices=2 if plain else 3,
        n_dense_layers=dense,
        intermediate_size=_dense_width(facts, model_type, hidden),
        **experts,
    )


def _experts(facts: Facts, n_layers: int, kinds: LayerKinds, model_type: str) -> dict[str, Any]:
    count = facts.integer("num_experts", "n_routed_experts", "num_local_experts",
                          "moe_num_experts", minimum=0, maximum=MAX_EXPERTS)  # fmt: skip
    if not count or count == 1:
        return {"n_expert_layers": 0}
    chosen = facts.integer("num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                           "top_k_experts", "moe_topk", "moe_top_k", maximum=count)  # fmt: skip
    width = _width(facts, "moe_intermediate_size", "expert_intermediate_size",
                   "moe_ffn_hidden_size", "intermediate_size")  # fmt: skip
    if chosen is None or width is None:
        raise InputError(
            "a mixture of experts without num_experts_per_tok or an expert width.",
            where=Where(file=facts.file, key="num_experts_per_tok"),
        )
    if kinds.expert_blocks is not None:
        layers = kinds.expert_blocks
    else:
        layers = n_layers - min(dense_layers(facts, n_layers), n_layers)
    return {
        "n_expert_layers": layers,
        "n_experts": count,
        "experts_per_token": chosen,
        "moe_intermediate_size": width,
        "expert_hidden_size": _width(facts, "routed_expert_hidden_size", "moe_latent_size"),
        "shared_expert_width": _shared_width(facts, width, model_type),
    }


def _shared_width(facts: Facts, expert_width: int, model_type: str) -> int:
    stated = facts.integer("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                           "share_expert_dim", "shared_intermediate_size",
                           minimum=0, maximum=MAX_WIDTH)  # fmt: skip
    if stated is not None:
        return stated
    number = facts.integer("n_shared_experts", "num_shared_experts", minimum=0, maximum=10_000)
    if number is None and model_type.startswith("llama4"):
        number = 1
    return (number or 0) * expert_width


def _shared_experts(facts: Facts, dims: Dimensions) -> int:
    number = facts.integer("n_shared_experts", "num_shared_experts", minimum=0, maximum=10_000)
    return number or (1 if dims.shared_expert_width else 0)


def _dense_width(facts: Facts, model_type: str, hidden: int) -> int:
    width = _width(facts, "intermediate_size_mlp", "dense_intermediate_size", "intermediate_size",
                   "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff")  # fmt: skip
    if width is None and model_type in _PLAIN_MLP:
        width = 4 * hidden
    return width or mean_block_width(facts, hidden) or 0


def _linear_params(facts: Facts, hidden: int) -> int:
    """Return the parameters of one linear or state-space layer, as far as the family is known."""
    kernel = facts.integer("linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv",
                           maximum=1_000) or 4  # fmt: skip
    if key_heads := _width(facts, "linear_num_key_heads"):
        return gated_delta_net_params(
            hidden, key_heads, _width(facts, "linear_key_head_dim") or 128,
            _width(facts, "linear_num_value_heads") or key_heads,
            _width(facts, "linear_value_head_dim") or 128, kernel,
        )  # fmt: skip
    if kimi := facts.section("linear_attn_config"):
        kimi_heads = _width(kimi, "num_heads") or _width(facts, "num_attention_heads") or 1
        return kimi_delta_params(hidden, kimi_heads, _width(kimi, "head_dim") or 128, kernel)
    heads = _width(facts, "mamba_num_heads", "mamba_n_heads")
    head_dim = _width(facts, "mamba_head_dim", "mamba_d_head")
    if heads and head_dim:
        groups = _width(facts, "n_groups", "mamba_n_groups") or 1
        state = _width(facts, "ssm_state_size", "mamba_d_state") or 128
        return mamba2_params(hidden, heads, head_dim, groups, state, kernel)
    return 4 * hidden * hidden  # assumed: projections as wide as the model


def _kv_heads(facts: Facts, heads: int) -> int:
    if facts.flag("multi_query") and not facts.flag("new_decoder_architecture"):
        return 1
    stated = facts.integer("num_key_value_heads", "num_kv_heads", "n_head_kv",
                           "multi_query_group_num", maximum=MAX_WIDTH)  # fmt: skip
    if stated is not None:
        return stated
    for block in facts.items("block_configs"):
        attention = block.get("attention") if isinstance(block, dict) else None
        group = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        if isinstance(group, int) and group > 0:
            return max(heads // group, 1)
    return heads


def _attention(facts: Facts, dims: Dimensions) -> Attention:
    if facts.integer("index_topk", minimum=0, maximum=10**9):
        return Attention.SPARSE
    if dims.kv_lora_rank is not None:
        return Attention.MLA
    return Attention.MHA if dims.n_kv_heads == dims.n_heads else Attention.GQA


def _mtp_layers(facts: Facts) -> int:
    # Guard: MiniMax-M2 states num_mtp_modules, but no engine is known to run them: not counted
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "mtp_num_layers")
    return facts.integer(*keys, minimum=0, maximum=64) or 0


def _window(facts: Facts) -> int | None:
    return facts.integer("sliding_window", "sliding_window_size", "attention_chunk_size",
                         maximum=10**9)  # fmt: skip


def _width(facts: Facts, *keys: str) -> int | None:
    return facts.integer(*keys, maximum=MAX_WIDTH)
