"""Setups that several cost tests use, from the catalog."""

from __future__ import annotations

from tuner.catalog import find_accelerator, find_model
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.hardware import Hardware, Parallel
from tuner.records.methods import DRAFT_KIND, Engine, Method

PLAIN = DraftPlan(method=Method.NONE, kind=DRAFT_KIND[Method.NONE])
LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
DEEPSEEK = "deepseek-ai/DeepSeek-R1"


def plan(method: Method) -> DraftPlan:
    """Return a plan of a method with its usual drafter."""
    return DraftPlan(method=method, kind=DRAFT_KIND[method])


def on(
    model: str,
    device: str,
    *,
    count: int = 1,
    dtype: str = "bfloat16",
    engine: Engine | None = Engine.VLLM,
) -> CostSetup:
    """Return a model on ``count`` devices, tensor parallel."""
    return CostSetup(
        target=find_model(model),
        hardware=Hardware(
            accelerator=find_accelerator(device), count=count, parallel=Parallel(tensor=count)
        ),
        dtype=dtype,
        engine=engine,
    )
