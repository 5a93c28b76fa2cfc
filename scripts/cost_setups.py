"""From a published measurement to the records of the cost model: setup, plan, configuration."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from scripts.evidence_hardware import device_of, layout_of
from scripts.evidence_rows import MeasuredRow
from tuner.catalog import drafters_for, find_model, shape_from_sizes
from tuner.errors import TunerError
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.hardware import Hardware
from tuner.records.methods import DRAFT_KIND, Engine, Method
from tuner.records.model import Drafter, ModelShape

#: tokens in the cache where a source does not say (assumed: a short prompt and half an answer)
USUAL_CONTEXT_TOKENS = 800.0
#: verified tokens and depth of trees whose size the source leaves to the method's defaults:
#: EAGLE-1's static tree has 26 nodes below the root and 5 levels (its ``choices.py``), Medusa's and
#: Hydra's default trees 63 nodes and 4 levels, EAGLE-2 and EAGLE-3 60 and 6 to 8
_USUAL_TREES: dict[Method, tuple[int, int]] = {
    Method.EAGLE: (5, 26),
    Method.EAGLE2: (6, 60),
    Method.EAGLE3: (8, 60),
    Method.MEDUSA: (4, 64),
}
#: drafts of lookup methods whose length is left to the default: prompt lookup 10, lookahead's 4
_USUAL_LENGTHS = {Method.NGRAM: 10, Method.LOOKAHEAD: 4}
#: published with experts in four bits, whatever the label of the rest: 284 B parameters run on two
#: cards of 96 GB and on one DGX Spark (sources of the rows)
_FOUR_BIT_EXPERTS = re.compile(r"DeepSeek-V4")


class Configuration(NamedTuple):
    """What of a run decides the cost of a step, besides setup and plan."""

    batch: float
    draft_steps: float
    verify_tokens: float
    context_tokens: float


@cache
def shape_of(target_id: str | None, total: float | None, active: float | None) -> ModelShape | None:
    """Return the shape of a target by id, by sizes where the id is not known."""
    if target_id:
        try:
            return find_model(target_id)
        except TunerError:
            pass
    if total is None:
        return None
    moe = active is not None and active < 0.8 * total
    return shape_from_sizes(params_b=total / 1e9, active_params_b=active / 1e9 if moe else None)


def setup_of(row: MeasuredRow) -> CostSetup | None:
    """Return the setup of a row; None where not even the size of the target is known."""
    shape = shape_of(row.target_id, row.total_params, row.active_params)
    if shape is None:
        return None
    device = device_of(row)
    return CostSetup(
        target=shape,
        hardware=Hardware(
            accelerator=device.accelerator,
            count=device.count,
            parallel=layout_of(row, device.count),
        ),
        dtype=_dtype(row, shape),
        kv_dtype=row.kv_dtype or "bfloat16",
        engine=row.engine,
        engine_version=row.engine_version,
    )


def plan_of(row: MeasuredRow) -> DraftPlan | None:
    """Return how the run drafted; None for methods that the product does not know."""
    if row.method is None:
        return None
    return DraftPlan(method=row.method, kind=DRAFT_KIND[row.method], drafter=_drafter(row))


def configuration_of(row: MeasuredRow) -> Configuration | None:
    """Return batch, passes, tokens and context of a run; None without a batch or a length."""
    if row.batch is None:
        return None
    context = row.context_tokens or USUAL_CONTEXT_TOKENS
    if row.is_plain:
        return Configuration(row.batch, 0.0, 1.0, context)
    size = _sizes(row)
    return None if size is None else Configuration(row.batch, *size, context)


def _sizes(row: MeasuredRow) -> tuple[float, float] | None:
    """Return draft steps and verified tokens of a sequence, root included."""
    if row.tree is not None:
        steps, _, verified = row.tree
        return float(steps), float(max(verified, 2))
    usual = _USUAL_TREES.get(row.method) if row.method is not None else None
    if row.is_tree and usual is not None:
        return float(row.k or usual[0]), float(usual[1])
    length = row.k
    if not length and row.method is not None:
        length = _USUAL_LENGTHS.get(row.method)
    return (float(length), length + 1.0) if length else None


def _dtype(row: MeasuredRow, shape: ModelShape) -> str:
    if _FOUR_BIT_EXPERTS.search(shape.model_id) and row.dtype in (None, "fp8", "bfloat16"):
        return "mxfp4"
    if row.dtype:
        return row.dtype
    return "gguf:Q4_K_M" if row.engine is Engine.LLAMACPP else shape.native_dtype


def _drafter(row: MeasuredRow) -> Drafter | None:
    if row.method is None or (row.draft_model is None and row.draft_params is None):
        return None
    for known in drafters_for(row.target_id) if row.target_id else ():
        if known.path_or_id == row.draft_model and known.method is row.method:
            return known
    if row.method is not Method.DRAFT_MODEL:
        return Drafter(path_or_id=row.draft_model, method=row.method, params=row.draft_params)
    return _small_model(row)


def _small_model(row: MeasuredRow) -> Drafter:
    name = row.draft_model or ""
    quantised = re.search(r"\b(I?Q\d\w*)\b", name)
    dtype = "bfloat16"
    if row.engine is Engine.LLAMACPP:
        dtype = f"gguf:{quantised.group(1)}" if quantised else (row.dtype or "gguf:Q4_K_M")
    shape = _shape_named(re.sub(r"\s+I?Q\d\w*$", "", name))
    params = shape.total_params if shape else row.draft_params
    return Drafter(
        path_or_id=name, method=Method.DRAFT_MODEL, params=params, shape=shape, dtype=dtype
    )


@cache
def _shape_named(name: str) -> ModelShape | None:
    try:
        return find_model(name) if name else None
    except TunerError:
        return None
