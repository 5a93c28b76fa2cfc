"""Shapes of known targets by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from tuner.catalog.names import ASSUMED_GGUF, base_key, match, nearest, quoted, split_variant
from tuner.catalog.tables import CATALOG_DATE, read_document, read_rows, row_source
from tuner.errors import MissingDataError
from tuner.records.model import Attention, ModelShape
from tuner.records.sources import Grade, Source

_TABLE = "models"


def model_ids() -> tuple[str, ...]:
    """Return the ids whose shape is known, in file order."""
    return tuple(read_rows(_TABLE))


@cache
def load_models() -> dict[str, ModelShape]:
    """Return every known shape by id. One lookup does not need this: see ``find_model``."""
    return {key: _shape(row) for key, row in read_rows(_TABLE).items()}


@cache
def find_model(name: str) -> ModelShape:
    """Return the shape of a target.

    ``name`` may be an exact id, an id in another case, an ending that fits one id
    ("Llama-3.3-70B-Instruct"), or a copy of a known model under another owner
    ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"): such a copy keeps the name that was asked for
    and takes ``native_dtype`` from its ending where it has one. A model of which only the sizes
    were published gets a typical shape, graded assumed.

    Raises
    ------
    MissingDataError
        The model is not known; the message names the nearest ids and the ways to state a shape.
    """
    rows = read_rows(_TABLE)
    key, variant = resolve_model(name)
    if key is None:
        return _from_sizes(name)
    shape = _shape(rows[key])
    if "/" in name and name.casefold() != key.casefold():
        shape = replace(shape, model_id=name)
    if variant is None:
        return shape
    if variant == ASSUMED_GGUF and shape.source is not None:
        note = f"which GGUF file was not stated: {variant} assumed, set dtype"
        shape = replace(shape, source=replace(shape.source, grade=Grade.ASSUMED, note=note))
    return replace(shape, native_dtype=variant)


def resolve_model(name: str) -> tuple[str | None, str | None]:
    """Return the catalog id that ``name`` stands for, and the number format of a quantised copy."""
    rows = read_rows(_TABLE)
    if key := match(name, rows):
        return key, None
    base, dtype = split_variant(name)
    key = _ids_by_base().get(base_key(base))
    return key, dtype if key else None


@cache
def _ids_by_base() -> dict[str, str]:
    return {row["base"]: key for key, row in read_rows(_TABLE).items()}


def _from_sizes(name: str) -> ModelShape:
    """Return a typical shape for a model of which only the sizes are known, or say what to do."""
    known = read_document(_TABLE)["sizes_only"]
    key = match(name, known)
    if key is None:
        raise MissingDataError(_unknown(name))
    from tuner.catalog.sizes import shape_from_sizes

    total_b, active_b, mtp_layers, reference = known[key]
    shape = shape_from_sizes(params_b=total_b, active_params_b=active_b, mtp_layers=mtp_layers)
    typical = shape.source.reference if shape.source else ""
    source = Source(
        reference=f"{reference} (sizes); {typical.partition('; ')[2]}",
        grade=Grade.ASSUMED,
        date=CATALOG_DATE,
        note="only the sizes are published here: give config: for the true shape",
    )
    return replace(shape, model_id=key, source=source)


def _unknown(name: str) -> str:
    rows = read_rows(_TABLE)
    close = nearest(name, rows)
    hint = f" Nearest known: {', '.join(close)}." if close else ""
    wanted = base_key(name)
    if any(row[0] == wanted for row in read_document("drafters")["rows"]):
        hint = " Drafters for it are known, its shape is not."
    return (
        f"the target {quoted(name)} is not in the catalog.{hint} State its shape instead: "
        "target: {config: path/to/config.json}, {gguf: path/to/model.gguf}, "
        "or sizes such as {params_b: 27, active_params_b: null, mtp_layers: 0}."
    )


def _shape(row: dict[str, Any]) -> ModelShape:
    return ModelShape(
        model_id=row["id"],
        total_params=row["total_params"],
        active_params=row["active_params"],
        n_layers=row["n_layers"],
        hidden_size=row["hidden_size"],
        intermediate_size=row["intermediate_size"],
        n_heads=row["n_heads"],
        n_kv_heads=row["n_kv_heads"],
        head_dim=row["head_dim"],
        vocab_size=row["vocab_size"],
        attention=Attention(row["attention"]),
        n_experts=row["n_experts"],
        experts_per_token=row["experts_per_token"],
        n_shared_experts=row["n_shared_experts"],
        moe_intermediate_size=row["moe_intermediate_size"],
        n_dense_layers=row["n_dense_layers"],
        mtp_layers=row["mtp_layers"],
        native_dtype=row["native_dtype"],
        kv_lora_rank=row["kv_lora_rank"],
        qk_rope_head_dim=row["qk_rope_head_dim"],
        v_head_dim=row["v_head_dim"],
        sliding_window=row["sliding_window"],
        n_full_attention_layers=row["n_full_attention_layers"],
        n_linear_layers=row["n_linear_layers"],
        year=row["year"],
        source=row_source(row),
    )
