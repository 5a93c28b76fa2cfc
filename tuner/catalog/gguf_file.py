"""Shape of a model from the metadata of a GGUF file."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from tuner.catalog.facts import Facts
from tuner.catalog.gguf_header import GgufHeader, read_header
from tuner.errors import InputError, MissingDataError, Where
from tuner.records.model import Attention, ModelShape
from tuner.records.sources import Grade, Source

_MAX_PARTS = 1_000
_MAX_LAYERS = 2_000
_MAX_WIDTH = 1_000_000


def shape_from_gguf(path: str | Path) -> ModelShape:
    """Return the shape that a GGUF file describes. Parameters are counted from its tensors.

    Raises
    ------
    MissingDataError
        The ``gguf`` package is not installed.
    InputError
        The file cannot be read, is no GGUF file, is damaged, or holds an impossible value; or a
        part of a split model is not beside it.
    """
    file = Path(path).expanduser()
    where = Where(file=str(file))
    _require_package(where)
    header = read_header(file)
    architecture = header.fields.get("general.architecture")
    if not isinstance(architecture, str):
        raise InputError("no general.architecture: not a language model.", where=where)
    prefix = f"{architecture}."
    values = {key.removeprefix(prefix): value for key, value in header.fields.items()}
    facts = Facts(values, str(file))
    for part in _other_parts(file, header):
        header.tensors |= read_header(part).tensors
    sizes = {name: math.prod(dims) for name, (dims, _) in header.tensors.items()}
    return _shape(file, facts, sizes, _dtype(header), _vocabulary(header, facts))


def _other_parts(file: Path, header: GgufHeader) -> list[Path]:
    """Return the other files of a split model: ``name-00002-of-00003.gguf`` beside the first."""
    count = header.fields.get("split.count")
    if not isinstance(count, int) or not 1 < count <= _MAX_PARTS:
        return []
    ending = f"-00001-of-{count:05d}.gguf"
    if not file.name.endswith(ending):
        raise InputError(
            f"one of {count} parts; give the first one, whose name ends in {ending}.",
            where=Where(file=str(file)),
        )
    stem = file.name.removesuffix(ending)
    return [file.with_name(f"{stem}-{n:05d}-of-{count:05d}.gguf") for n in range(2, count + 1)]


def _require_package(where: Where) -> None:
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise MissingDataError(
            "reading a GGUF file needs the gguf package: pip install 'specdec-tune[gguf]'. "
            "Or state sizes: target: {params_b: 27, active_params_b: null}.",
            where=where,
        ) from None


def _shape(
    file: Path, facts: Facts, sizes: dict[str, int], dtype: str, vocab_size: int
) -> ModelShape:
    n_layers = facts.required("block_count", maximum=_MAX_LAYERS)
    mtp = facts.integer("nextn_predict_layers", minimum=0, maximum=64) or 0
    heads = _per_layer(facts, "attention.head_count")
    if heads is None:
        raise InputError(
            "no attention.head_count: a model without attention is not supported.",
            where=Where(file=str(file), key="attention.head_count"),
        )
    kv_heads = _per_layer(facts, "attention.head_count_kv") or heads
    hidden = facts.required("embedding_length", maximum=_MAX_WIDTH)
    mla = facts.integer("attention.kv_lora_rank", maximum=_MAX_WIDTH)
    rope = facts.integer("rope.dimension_count", maximum=_MAX_WIDTH)
    key_length = facts.integer("attention.key_length_mla", "attention.key_length",
                               maximum=_MAX_WIDTH)  # fmt: skip
    value_length = facts.integer("attention.value_length_mla", "attention.value_length",
                                 maximum=_MAX_WIDTH)  # fmt: skip
    experts = facts.integer("expert_count", minimum=0, maximum=100_000) or 0
    used = facts.integer("expert_used_count", minimum=0, maximum=100_000) or 0
    total, active = _count(sizes, experts, used)
    full, linear = _attention_layers(sizes, n_layers - mtp, kv_heads)
    return ModelShape(
        model_id=str(file),
        total_params=float(total),
        active_params=float(active),
        n_layers=n_layers - mtp,
        hidden_size=hidden,
        intermediate_size=_per_layer(facts, "feed_forward_length"),
        n_heads=heads,
        n_kv_heads=kv_heads,
        head_dim=key_length or max(hidden // heads, 1),
        vocab_size=vocab_size,
        attention=_attention(mla, heads, kv_heads),
        n_experts=experts,
        experts_per_token=used,
        n_shared_experts=facts.integer("expert_shared_count", minimum=0, maximum=1_000) or 0,
        moe_intermediate_size=facts.integer("expert_feed_forward_length", minimum=0,
                                            maximum=_MAX_WIDTH) or None,
        n_dense_layers=facts.integer("leading_dense_block_count", minimum=0,
                                     maximum=_MAX_LAYERS) or 0,
        mtp_layers=mtp,
        native_dtype=dtype,
        kv_lora_rank=mla,
        qk_rope_head_dim=rope if mla else None,
        v_head_dim=value_length if value_length != key_length or mla else None,
        sliding_window=facts.integer("attention.sliding_window", minimum=0, maximum=10**9) or None,
        n_full_attention_layers=full if linear else None,
        n_linear_layers=linear,
        source=Source(
            reference=str(file),
            grade=Grade.DERIVED,
            note="metadata of the file; parameters counted from its tensors",
        ),
    )  # fmt: skip


def _attention(mla: int | None, heads: int, kv_heads: int) -> Attention:
    if mla is not None:
        return Attention.MLA
    return Attention.MHA if heads == kv_heads else Attention.GQA


def _per_layer(facts: Facts, key: str) -> int | None:
    """Return a number that is stated once or for each layer (then the largest)."""
    _, value = facts.find(key)
    if isinstance(value, list):
        numbers = [n for n in value if isinstance(n, int) and not isinstance(n, bool)]
        if not numbers or not 0 < max(numbers) <= _MAX_WIDTH:
            raise facts.error(key, value, "a list of positive whole numbers")
        return max(numbers)
    return facts.integer(key, maximum=_MAX_WIDTH)


def _count(sizes: dict[str, int], experts: int, used: int) -> tuple[int, int]:
    """Return all parameters, and those that one token uses."""
    total = sum(sizes.values())
    if not experts:
        return total, total
    routed = sum(size for name, size in sizes.items() if "_exps." in name)
    active = total - routed + routed * used // experts
    if "output.weight" in sizes:  # else the embedding is the output head as well
        active -= sizes.get("token_embd.weight", 0)
    return total, active


def _attention_layers(sizes: dict[str, int], n_layers: int, kv_heads: int) -> tuple[int, int]:
    """Return layers with softmax attention and with a linear or state-space mixer."""
    kinds: Counter[str] = Counter()
    blocks = {str(layer) for layer in range(n_layers)}
    for name in sizes:
        block, _, part = name.removeprefix("blk.").partition(".")
        if not name.startswith("blk.") or block not in blocks:
            continue
        if part in ("attn_k.weight", "attn_kv_a_mqa.weight") and kv_heads:
            kinds["full"] += 1
        elif part == "ssm_out.weight":
            kinds["linear"] += 1
    return kinds["full"], kinds["linear"]


def _dtype(header: GgufHeader) -> str:
    """Return ``gguf:TYPE``: the file's own word for its mix, else the type of most weights."""
    from gguf import GGMLQuantizationType, LlamaFileType

    stated = header.fields.get("general.file_type")
    if stated in set(LlamaFileType):
        kind, _, name = LlamaFileType(stated).name.partition("_")
        if kind in ("MOSTLY", "ALL"):
            return f"gguf:{name}"
    weights: Counter[int] = Counter()
    for dims, tensor_type in header.tensors.values():
        weights[tensor_type] += math.prod(dims)
    for tensor_type, _ in weights.most_common():
        if tensor_type in set(GGMLQuantizationType):
            return f"gguf:{GGMLQuantizationType(tensor_type).name}"
    return "gguf:F16"


def _vocabulary(header: GgufHeader, facts: Facts) -> int:
    stated = facts.integer("vocab_size", maximum=100_000_000)
    if stated is not None:
        return stated
    if tokens := header.lengths.get("tokenizer.ggml.tokens"):
        return tokens
    dims, _ = header.tensors.get("token_embd.weight", ((), 0))
    if len(dims) == 2:
        return dims[1]
    return facts.required("vocab_size", maximum=100_000_000)
