"""A typical shape for a model of which only the sizes are known."""

from __future__ import annotations

import math
from dataclasses import replace

from tuner.catalog.models import load_models
from tuner.errors import InputError
from tuner.records.model import ModelShape
from tuner.records.sources import Grade, Source
from tuner.units import GIGA

#: models beyond a hundred thousand billion parameters do not exist
MAX_PARAMS_B = 100_000.0
MAX_MTP_LAYERS = 64

_LATEST = 2024
_STEP = 128


def shape_from_sizes(
    *, params_b: float, active_params_b: float | None = None, mtp_layers: int = 0
) -> ModelShape:
    """Return the shape of the catalog's most similar model, scaled to the sizes given.

    Layers and width each grow with the cube root of the size, heads with the width. What the
    sizes do not say (grouping of heads, experts, vocabulary) is taken over. Graded assumed.

    Raises
    ------
    InputError
        A size that is not a positive number, or more active than total parameters.
    """
    _check("params_b", params_b)
    active_b = params_b if active_params_b is None else active_params_b
    _check("active_params_b", active_b)
    if active_b > params_b:
        raise InputError(
            f"active_params_b {active_b:g} is larger than params_b {params_b:g}; "
            "active parameters are the part of all that one token uses."
        )
    if isinstance(mtp_layers, bool) or not 0 <= mtp_layers <= MAX_MTP_LAYERS:
        raise InputError(f"mtp_layers {mtp_layers} is not a whole number from 0 to 64.")
    total, active = params_b * GIGA, active_b * GIGA
    model = _most_similar(total, active)
    ratio = active / model.active_params
    grow = ratio ** (1.0 / 3.0)
    width = max(round(model.hidden_size * grow / _STEP), 1) * _STEP
    groups = max(model.n_heads // model.n_kv_heads, 1)
    n_kv_heads = max(round(width / model.hidden_size * model.n_kv_heads), 1)
    return replace(
        model,
        model_id=_name(params_b, active_params_b),
        total_params=total,
        active_params=active,
        n_layers=max(round(model.n_layers * grow), 1),
        hidden_size=width,
        intermediate_size=_scaled(model.intermediate_size, width / model.hidden_size),
        n_heads=n_kv_heads * groups,
        n_kv_heads=n_kv_heads,
        n_dense_layers=min(model.n_dense_layers, max(round(model.n_layers * grow), 1)),
        n_experts=_scaled_experts(model, total, active) if model.is_moe else 0,
        mtp_layers=mtp_layers,
        native_dtype="bfloat16",
        year=None,
        source=Source(
            reference=f"sizes given; shape of {model.model_id} scaled to them",
            grade=Grade.ASSUMED,
            note="give config: or gguf: for the true shape",
        ),
    )


def _check(key: str, value: float) -> None:
    if not math.isfinite(value) or not 0.0 < value <= MAX_PARAMS_B:
        raise InputError(
            f"{key} {value:g} is not possible: billions of parameters, above 0 and at most "
            f"{MAX_PARAMS_B:,.0f}."
        )


def _most_similar(total: float, active: float) -> ModelShape:
    """Return the recent catalog model of the same kind that is nearest in log sizes."""
    is_moe = active < 0.9 * total

    def distance(model: ModelShape) -> float:
        return abs(math.log(model.total_params / total)) + abs(
            math.log(model.active_params / active)
        )

    plain = [
        model
        for model in load_models().values()
        if model.is_moe == is_moe
        and not model.is_hybrid
        and model.sliding_window is None
        and model.kv_lora_rank is None
        and model.source is not None
        and model.source.grade is not Grade.ASSUMED
        and (model.year or _LATEST) >= _LATEST
    ]
    return min(plain, key=distance)


def _scaled_experts(model: ModelShape, total: float, active: float) -> int:
    """Return as many experts as the ratio of total to active parameters asks for."""
    share = (total / active) / (model.total_params / model.active_params)
    return max(round(model.n_experts * share), model.experts_per_token + 1)


def _scaled(width: int | None, factor: float) -> int | None:
    return None if width is None else max(round(width * factor / _STEP), 1) * _STEP


def _name(params_b: float, active_params_b: float | None) -> str:
    active = "" if active_params_b is None else f", {active_params_b:g}B active"
    return f"a model of {params_b:g}B parameters{active}"
