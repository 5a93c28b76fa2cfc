"""Published drafters of a target, and small models that could draft for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tuner.catalog.models import find_model, resolve_model
from tuner.catalog.names import base_key
from tuner.catalog.tables import CATALOG_DATE, read_document, read_rows, row_source
from tuner.errors import MissingDataError
from tuner.records.methods import Method
from tuner.records.model import Drafter, ModelShape
from tuner.records.sources import Grade, Source

_TABLE = "drafters"

#: assumed: above this share of the target's active parameters a draft model cannot pay
LARGEST_DRAFT_SHARE = 0.75
#: SPEC_VOCAB_MAX_SIZE_DIFFERENCE of llama.cpp b11434 (common/speculative.cpp)
LLAMACPP_VOCAB_APART = 128


@cache
def drafters_for(target_id: str) -> tuple[Drafter, ...]:
    """Return what could draft for a target, published drafters first.

    Quantised copies share the drafters of their base and the other way round. Multi-token
    prediction is listed when the checkpoint has the layers. Drafters that no released engine
    serves are left out (``published_drafters`` has them with the reason). Small models with the
    target's tokenizer are graded as their source grades them. An empty tuple means: none known.
    """
    found = [_drafter(row) for row in published_drafters(target_id) if not row["not_offered"]]
    shape = _known_shape(target_id)
    if shape is not None:
        if shape.mtp_layers and not any(d.method is Method.MTP for d in found):
            found.append(_built_in(shape))
        named = {d.path_or_id for d in found}
        found += [d for d in _small_models(shape) if d.path_or_id not in named]
    return tuple(found)


def published_drafters(target_id: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of the drafters table for a target, offered or not."""
    document = read_document(_TABLE)
    columns, wanted = document["columns"], _base(target_id)
    return tuple(
        dict(zip(columns, row, strict=True)) for row in document["rows"] if row[0] == wanted
    )


@cache
def _base(target_id: str) -> str:
    """Return one key for a model and its quantised copies, whoever published them."""
    key, _ = resolve_model(target_id)
    return str(read_rows("models")[key]["base"]) if key else base_key(target_id)


def _known_shape(target_id: str) -> ModelShape | None:
    try:
        return find_model(target_id)
    except MissingDataError:
        return None


def _drafter(row: dict[str, Any]) -> Drafter:
    method = Method(row["method"])
    shape = None
    if method is Method.DRAFT_MODEL and row["path_or_id"] is not None:
        shape = _known_shape(row["path_or_id"])
    is_built_in = method is Method.MTP and row["path_or_id"] is None
    params = row["params"] if shape is None else shape.total_params
    return Drafter(
        path_or_id=row["path_or_id"],
        method=method,
        target_id=row["target"],
        # a built-in layer is costed from the target's own shape and number format
        params=None if is_built_in else params,
        n_layers=row["n_layers"] if shape is None else shape.n_layers,
        vocab_size=row["vocab_size"] if shape is None else shape.vocab_size,
        max_context=row["max_context"],
        trained_depth=row["trained_depth"],
        shape=shape,
        engines=engines_of(row),
        recommended=recommended_setting(row),
        licence=row["licence"],
        source=row_source(row),
    )


def engines_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the engines that a published drafter loads on, beside its target."""
    if row["method"] != Method.DRAFT_MODEL or row["path_or_id"] is None:
        return tuple(row["engines"])
    draft = _known_shape(row["path_or_id"])
    return _engines_that_pair(row["engines"], _known_shape(row["target"]), draft)


def _engines_that_pair(
    engines: Sequence[str], target: ModelShape | None, draft: ModelShape | None
) -> tuple[str, ...]:
    """Return the engines without those that refuse the two vocabulary sizes at start-up.

    vLLM wants them equal (vllm/config/speculative.py, 0.33.0), llama.cpp no further apart than 128
    (common/speculative.cpp, b11434). Only draft models have a shape here.
    """
    if draft is None or target is None:
        return tuple(engines)
    apart = abs(target.vocab_size - draft.vocab_size)
    refusing = {"vllm": apart > 0, "llamacpp": apart > LLAMACPP_VOCAB_APART}
    return tuple(name for name in engines if not refusing.get(name, False))


def recommended_setting(row: dict[str, Any]) -> str | None:
    """Return the setting that the row's sources recommend, in words, or None."""
    parts = []
    if row["k"] is not None:
        parts.append(f"K {row['k']}")
    if row["steps"] is not None and row["topk"] is not None and row["draft_tokens"] is not None:
        parts.append(
            f"{row['steps']}/{row['topk']}/{row['draft_tokens']} (steps/topk/draft tokens)"
        )
    return "; ".join(parts) or None


def _built_in(shape: ModelShape) -> Drafter:
    return Drafter(
        path_or_id=None,
        method=Method.MTP,
        target_id=shape.model_id,
        n_layers=shape.mtp_layers,
        vocab_size=shape.vocab_size,
        trained_depth=shape.mtp_layers,
        source=shape.source,
    )


def _small_models(shape: ModelShape) -> list[Drafter]:
    """Return smaller models of the family, none above ``LARGEST_DRAFT_SHARE``."""
    key, _ = resolve_model(shape.model_id)
    document = read_document(_TABLE)
    found = []
    for draft_id, family in document["small_models"].get(key, ()):
        draft = find_model(draft_id)
        if draft.active_params > shape.active_params * LARGEST_DRAFT_SHARE:
            continue
        engines, grade, reference, note = document["families"][family]
        found.append(
            Drafter(
                path_or_id=draft_id,
                method=Method.DRAFT_MODEL,
                target_id=shape.model_id,
                params=draft.total_params,
                n_layers=draft.n_layers,
                vocab_size=draft.vocab_size,
                shape=draft,
                engines=_engines_that_pair(engines, shape, draft),
                source=Source(
                    reference=reference, grade=Grade(grade), date=CATALOG_DATE, note=note
                ),
            )
        )
    return found
