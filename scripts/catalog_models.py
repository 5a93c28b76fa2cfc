"""Turn data/models.csv and data/models_more.csv into rows of the models table."""

from __future__ import annotations

import re

from catalog_text import in_our_words

from tuner.catalog.names import base_key

Row = dict[str, object]

COLUMNS = [
    "id", "base", "total_params", "active_params", "n_layers", "hidden_size", "intermediate_size",
    "n_heads", "n_kv_heads", "head_dim", "vocab_size", "attention", "n_experts",
    "experts_per_token", "n_shared_experts", "moe_intermediate_size", "n_dense_layers",
    "mtp_layers", "native_dtype", "kv_lora_rank", "qk_rope_head_dim", "v_head_dim",
    "sliding_window", "n_full_attention_layers", "n_linear_layers", "tied_embeddings", "year",
    "stated_total_b", "stated_active_b", "stated_source", "params_grade", "source", "grade", "note",
]  # fmt: skip

#: checkpoints whose input and output embedding are one matrix (``tie_word_embeddings`` of their
#: config.json); with it the computed total meets the stated one, without it it does not
TIED = re.compile(
    r"/(gemma-|SmolLM2-|Llama-3\.2-|Qwen2\.5-(Coder-)?(0\.5|1\.5|3)B|Qwen3\.5-(0\.8|2|4)B"
    r"|Qwen3-(0\.6|1\.7|4)B|Qwen3-VL-[24]B|Phi-4-mini|Ministral-3-3B)"
)

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "bfloat16+fp8": "fp8", "fp8/bf16": "fp8",
          "bf16/fp8": "fp8", "bfloat16+compressed-tensors": "int4"}  # fmt: skip

#: layers of those hybrid families whose layers are either full or linear attention
FULL_OR_LINEAR = re.compile(r"gated DeltaNet|linear attention")


def build(rows: list[dict[str, str]], more: list[dict[str, str]]) -> list[Row]:
    """Return one row for each model whose shape is known or assumed, sorted by id."""
    merged: dict[str, dict[str, str]] = {row["model_id"]: dict(row) for row in rows}
    blank = dict.fromkeys(rows[0], "")
    for extra in sorted(more, key=lambda row: bool(row["base"])):  # bases first
        base = merged.get(extra["base"] or extra["model_id"], {})
        own = merged.get(extra["model_id"], {})
        filled = {k: "" if v == "none" else v for k, v in extra.items() if v}
        merged[extra["model_id"]] = {
            **blank, **base, **{k: v for k, v in own.items() if v}, **filled,
            "model_id": extra["model_id"],
        }  # fmt: skip
    built = [model_row(row) for row in merged.values() if row["n_layers"] and row["n_kv_heads"]]
    return sorted(built, key=lambda row: str(row["id"]).casefold())


def sizes_only(rows: list[dict[str, str]], built: list[Row]) -> dict[str, list[object]]:
    """Return total, active (billions), MTP layers and source of models without a known shape."""
    known = {row["id"] for row in built}
    return {
        row["model_id"]: [
            float(row["total_params_b"]),
            _number(row["active_params_b"]),
            int(_number(row["mtp_layers"]) or 0),
            in_our_words(row["source_ref"]),
        ]
        for row in rows
        if row["model_id"] not in known and row["total_params_b"]
    }


def model_row(row: dict[str, str]) -> Row:
    """Return the table row of one model."""
    number = {key: _number(value) for key, value in row.items()}
    tied = bool(TIED.search(row["model_id"]))
    total, active = _params(row["model_id"], number, tied)
    layers, full = number["n_layers"], number["n_full_attn_layers"]
    linear = number.get("n_linear_layers")
    if linear is None and full is not None and FULL_OR_LINEAR.search(row["attention"]):
        linear = layers - full
    experts = int(number["n_experts"] or 0)
    return {
        "id": row["model_id"],
        "base": base_key(row["model_id"]),
        "total_params": round(total * 1e9),
        "active_params": round(active * 1e9),
        "n_layers": int(layers),
        "hidden_size": int(number["hidden"]),
        "intermediate_size": _integer(number["intermediate"]),
        "n_heads": int(number["n_heads"]),
        "n_kv_heads": int(number["n_kv_heads"]),
        "head_dim": int(number["head_dim"]),
        "vocab_size": int(number["vocab"]),
        "attention": _attention(row),
        "n_experts": experts,
        "experts_per_token": int(number["experts_per_token"] or 0),
        "n_shared_experts": int(number["n_shared_experts"] or 0),
        "moe_intermediate_size": _integer(number["moe_intermediate"]),
        "n_dense_layers": int(number["n_dense_layers"] or 0) if experts else 0,
        "mtp_layers": int(number["mtp_layers"] or 0),
        "native_dtype": DTYPES.get(row["native_dtype"], row["native_dtype"] or "bfloat16"),
        "kv_lora_rank": _integer(number["kv_lora_rank"]),
        "qk_rope_head_dim": _integer(number["qk_rope_head_dim"]),
        "v_head_dim": _integer(number["v_head_dim"]),
        "sliding_window": _integer(number["sliding_window"]),
        "n_full_attention_layers": _integer(full),
        "n_linear_layers": int(linear or 0),
        "tied_embeddings": tied,
        "year": _integer(number["year"]),
        "stated_total_b": number["total_params_b"],
        "stated_active_b": number["active_params_b"],
        "params_grade": _params_grade(row["params_source"], _is_counted(number)),
        "stated_source": in_our_words(row["params_source"]),
        "source": in_our_words(row["source_ref"]),
        "grade": row.get("grade") or _grade(row),
        "note": in_our_words(row["notes"]),
    }


def _is_counted(number: dict[str, float | None]) -> bool:
    return bool(number["nonembed_params_b_computed"] or number.get("counted_total_b"))


def _params(name: str, number: dict[str, float | None], tied: bool) -> tuple[float, float]:
    """Return total and active parameters in billions: counted ones where there are any."""
    total, active = number["total_params_b"], number["active_params_b"]
    counted, vocab, hidden = number["nonembed_params_b_computed"], number["vocab"], number["hidden"]
    if counted and vocab and hidden:
        embedding = vocab * hidden / 1e9
        total = counted + embedding * (1 if tied else 2)
        per_token = number["active_nonembed_params_b_computed"]
        # a token reads one row of the input embedding and the whole output head
        active = per_token + embedding if number["n_experts"] and per_token else total
    if number.get("counted_total_b"):
        total, active = number["counted_total_b"], number["counted_active_b"]
    if total is None:
        raise ValueError(f"{name}: no parameter count")
    return total, total if active is None else active


def _params_grade(source: str, is_counted: bool) -> str:
    if is_counted:
        return "derived"
    return "assumed" if "memory" in source or "label" in source else "reported"


def _grade(row: dict[str, str]) -> str:
    text = f"{row['source_ref']} {row['notes']}"
    if "memory" in text.replace("(memory: bf16)", ""):
        return "assumed"
    if "inferred" in text or "class defaults" in text:
        return "derived"
    return "reported"


def _attention(row: dict[str, str]) -> str:
    text = row["attention"]
    if "sparse" in text and "MSA" not in text:
        return "sparse"
    if "MLA" in text:
        return "mla"
    return "mha" if text == "MHA" else "gqa"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _integer(value: float | None) -> int | None:
    return None if value is None else int(value)
