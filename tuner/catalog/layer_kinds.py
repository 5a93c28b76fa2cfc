"""Which layers of a model attend to everything, to a window, or scan; and which have experts.

Every family writes this down in its own way; the spellings are those of the configuration classes
in transformers 5.24 and of the published config.json files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.catalog.facts import Facts
from tuner.frozen import dataclass

#: single letters of Nemotron-H patterns
_LETTERS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
_LINEAR = ("linear", "mamba", "conv", "recurrent", "delta", "kda")
_WINDOW = ("sliding", "chunked", "local", "swa")

#: every so many layers one attends to everything, where the file does not say (configuration
#: classes Gemma2Config, Gemma3TextConfig and Llama4TextConfig)
_FULL_EVERY = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "llama4_text": 4}


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """Counts of layers; the last two only where mixers and feed-forward blocks are layers apart."""

    full: int
    window: int
    linear: int
    #: feed-forward blocks with and without experts
    expert_blocks: int | None = None
    plain_blocks: int | None = None


def layer_names(facts: Facts) -> list[str]:
    """Return the kind of each layer in words, as far as the file lists them."""
    listed = facts.items("layer_types", "layers_block_type", "hybrid_override_pattern")
    return [_LETTERS.get(str(name), str(name).casefold()) for name in listed]


def layer_kinds(facts: Facts, n_layers: int) -> LayerKinds:
    """Return how many layers do what."""
    if names := layer_names(facts):
        return _from_names(facts, names[:n_layers])
    if pattern := facts.items("hybrid_layer_pattern"):
        full = sum(1 for flag in pattern if flag == 0)
        return LayerKinds(full=full, window=n_layers - full, linear=0)
    if linear := facts.section("linear_attn_config"):
        full = len(linear.items("full_attn_layers"))
        return LayerKinds(full=full, window=0, linear=len(linear.items("kda_layers")))
    if blocks := facts.items("block_configs"):
        kept = sum(1 for block in blocks if not _skipped(block))
        return LayerKinds(full=kept, window=0, linear=0)
    if ratios := facts.items("compress_ratios"):
        full = _uncompressed_layers(ratios[:n_layers])
        return LayerKinds(full=full, window=n_layers - full, linear=0)
    interval = facts.integer("full_attention_interval", maximum=10_000)
    if interval:
        full = n_layers // interval
        return LayerKinds(full=full, window=0, linear=n_layers - full)
    window = _window_layers(facts, n_layers)
    return LayerKinds(full=n_layers - window, window=window, linear=0)


def dense_layers(facts: Facts, n_layers: int) -> int:
    """Return how many layers of a mixture-of-experts model have no experts."""
    if kinds := facts.items("mlp_layer_types"):
        return sum(1 for kind in kinds[:n_layers] if kind == "dense")
    key, frequency = facts.find("moe_layer_freq")
    if isinstance(frequency, list):
        return sum(1 for flag in facts.items(key)[:n_layers] if flag == 0)
    first = facts.integer("first_k_dense_replace", "num_dense_layers", minimum=0, maximum=10_000)
    if first:
        return min(first, n_layers)
    every = facts.integer("interleave_moe_layer_step", "decoder_sparse_step", maximum=10_000) or 1
    with_experts = n_layers // every
    return n_layers - with_experts + len(facts.items("mlp_only_layers"))


def _uncompressed_layers(ratios: Sequence[Any]) -> int:
    """Return how many full layers hold as much as layers that compress their past (DeepSeek V4).

    A layer of ratio r keeps one entry for r tokens; ratio 0 keeps a window only.
    """
    shares = [1.0 / r for r in ratios if isinstance(r, int | float) and r >= 1]
    return max(round(sum(shares)), 1)


def _from_names(facts: Facts, names: list[str]) -> LayerKinds:
    sorts = [_sort(facts, name) for name in names]
    apart = "experts" in sorts or "plain" in sorts
    return LayerKinds(
        full=sorts.count("full"),
        window=sorts.count("window"),
        linear=sorts.count("linear"),
        expert_blocks=sorts.count("experts") if apart else None,
        plain_blocks=sorts.count("plain") if apart else None,
    )


def _sort(facts: Facts, name: str) -> str:
    if any(word in name for word in _LINEAR):
        return "linear"
    if any(word in name for word in _WINDOW):
        return "window"
    if "attention" in name or name in ("hybrid", "full"):
        return "full"
    if name == "moe":
        return "experts"
    if name == "mlp":
        return "plain"
    raise facts.error("layer_types", name, "a kind of layer that is known here")


def _window_layers(facts: Facts, n_layers: int) -> int:
    size = facts.integer("sliding_window", "attention_chunk_size", minimum=0, maximum=10**9)
    if not size or not facts.flag("use_sliding_window", default=True):
        return 0
    longest = facts.integer("max_position_embeddings", maximum=10**9)
    if longest is not None and size >= longest:
        return 0
    every = facts.integer("sliding_window_pattern", "_sliding_window_pattern",
                          "no_rope_layer_interval", maximum=10_000)  # fmt: skip
    every = every or _FULL_EVERY.get(facts.text("model_type") or "")
    if every:
        return n_layers - n_layers // every
    if facts.flag("use_sliding_window"):
        first = facts.integer("max_window_layers", minimum=0, maximum=10_000) or 0
        return max(n_layers - first, 0)
    return n_layers


def mean_block_width(facts: Facts, hidden: int) -> int | None:
    """Return the mean feed-forward width of a model with per-layer blocks (Nemotron NAS)."""
    widths = []
    for block in facts.items("block_configs"):
        part = block.get("ffn") if isinstance(block, dict) else None
        factor = part.get("ffn_mult") if isinstance(part, dict) else None
        if not isinstance(factor, int | float) or not 0 < factor < 1_000:
            widths.append(0)
            continue
        # the rule of DeciLM: two thirds of the multiple, rounded up to 256
        widths.append(-(-int(2 * factor * hidden / 3) // 256) * 256)
    return round(sum(widths) / len(widths)) if widths else None


def _skipped(block: object) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("attention"), dict):
        return False
    attention = block["attention"]
    return bool(attention.get("no_op") or attention.get("replace_with_linear"))
