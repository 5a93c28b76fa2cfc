"""Rows of the cost fit that come from other files than ``measurements.csv``."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

from scripts.cost_rows import DRAFT, DRAFT_SHARE, PLAIN_NOISE, RATIO, STEP, FitRow, make_row
from scripts.cost_serving import SERVING_SOURCE, serving_rows
from scripts.cost_setups import Configuration
from scripts.evidence_rows import DATA
from tuner.catalog import find_accelerator, find_model
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.hardware import Accelerator, DeviceKind, Hardware, Parallel
from tuner.records.methods import DRAFT_KIND, Engine, Method
from tuner.records.model import Drafter, ModelShape

CURVE_SOURCE = "cost_curve_dsv4flash_b300"
MODELLED_SOURCE = "step_times_modelled"
LINEAR_SOURCE = "SpecDecode-Bench simulator data"
SHARE_SOURCE = "SpecDecode-Bench paper"
REAL_ENGINE_SOURCE = "real_engine/forward_ms.csv"

PLAIN_PLAN = DraftPlan(method=Method.NONE, kind=DRAFT_KIND[Method.NONE])
#: context of the modelled table: its prompt and half of its output
_MODELLED_CONTEXT = 1024.0 + 128.0
#: the part of the modelled table that the fit reads; the rest says the same
_FITTED_NEXTN = (1, 3, 7)
_FITTED_BATCHES = (1.0, 4.0, 16.0, 32.0)
#: a modelled number informs less than a measured one
_MODELLED_NOISE = 0.15
_CURVE_NOISE = 0.03
#: cache and noise of the shares of draft time: chat prompts, read off a figure (assumed)
_SHARE_CONTEXT, _SHARE_NOISE = 400.0, 0.2
#: largest step of the B300 curve that still runs from a captured graph
GRAPH_TOKENS = 1100.0
#: block that DSpark drafts in the run behind the curve (survival is stated for 7 positions)
_CURVE_BLOCK = 7.0
#: two threads of the recording machine: stream bandwidth and AVX-512 peak of two EPYC cores at
#: about 3 GHz (assumed; one thread reaches 18–27 GB/s in the recorded tables)
CPU_TWO_CORES = Accelerator(
    name="2 CPU cores",
    vendor="AMD",
    kind=DeviceKind.CPU,
    memory_bytes=24e9,
    bandwidth_bytes_per_s=30e9,
    peak_flops_per_s={"bfloat16": 200e9},
)
_FORWARD_MODELS = {
    "SmolLM2-135M F32": "gguf:F32",
    "SmolLM2-135M Q4_0": "gguf:Q4_0",
}


class CurvePoint(NamedTuple):
    """One point of the measured B300 curve."""

    table: str
    x: float
    seconds: float


class ModelledPoint(NamedTuple):
    """One point of the modelled step times."""

    setup: CostSetup
    plan: DraftPlan
    batch: float
    nextn: int
    seconds: float

    @property
    def curve(self) -> tuple[str, str, float]:
        """What shares a plain step."""
        hardware = self.setup.hardware
        return (self.setup.target.model_id, hardware.accelerator.name, self.batch)


def file_rows(data: Path = DATA, *, exclude: frozenset[str] = frozenset()) -> list[FitRow]:
    """Return the rows of all other files, without the sources in ``exclude``."""
    readers = {
        CURVE_SOURCE: _curve_rows,
        MODELLED_SOURCE: _modelled_rows,
        LINEAR_SOURCE: _linear_rows,
        SHARE_SOURCE: _share_rows,
        REAL_ENGINE_SOURCE: _forward_rows,
        SERVING_SOURCE: _serving_rows,
    }
    found: list[FitRow] = []
    for source, read in readers.items():
        if source not in exclude:
            found += read(data)
    return found


def curve_setup() -> CostSetup:
    """DeepSeek-V4-Flash on four B300 under vLLM."""
    return CostSetup(
        target=find_model("deepseek-ai/DeepSeek-V4-Flash"),
        hardware=Hardware(
            accelerator=find_accelerator("B300-SXM"), count=4, parallel=Parallel(tensor=4)
        ),
        dtype="nvfp4",  # experts in four bits, as DeepSeek-V4 is published
        engine=Engine.VLLM,
    )


def read_curve(path: Path = DATA / f"{CURVE_SOURCE}.csv") -> list[CurvePoint]:
    """Return the measured curve: verify cost by tokens in the step, draft cost by requests."""
    with open(path, newline="", encoding="utf-8") as stream:
        return [
            CurvePoint(row["table"], float(row["x"]), float(row["cost_ms"]) / 1e3)
            for row in csv.DictReader(stream)
        ]


def curve_configuration(point: CurvePoint) -> tuple[DraftPlan, Configuration]:
    """Return what a point ran: a pass over x tokens, or DSpark's block for x requests."""
    if point.table == "verify":
        return PLAIN_PLAN, Configuration(point.x, 0.0, 1.0, 1024.0)
    plan = DraftPlan(method=Method.DSPARK, kind=DRAFT_KIND[Method.DSPARK])
    return plan, Configuration(point.x, _CURVE_BLOCK, _CURVE_BLOCK + 1.0, 1024.0)


def read_modelled(path: Path = DATA / f"{MODELLED_SOURCE}.csv") -> list[ModelledPoint]:
    """Return the modelled table; its draft cost is nextn layers of the target."""
    found = []
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            nextn = int(row["nextn"])
            setup = _modelled_setup(row["model"], row["system"], int(row["tp"]), row["backend"])
            method = Method.MTP if nextn else Method.NONE
            plan = DraftPlan(method=method, kind=DRAFT_KIND[method])
            seconds = float(row["iteration_ms"]) / 1e3
            found.append(ModelledPoint(setup, plan, float(row["batch"]), nextn, seconds))
    return found


def modelled_configuration(point: ModelledPoint) -> Configuration:
    """Return batch, passes, tokens and context of a modelled point."""
    return Configuration(point.batch, point.nextn, point.nextn + 1.0, _MODELLED_CONTEXT)


def smollm(dtype: str) -> CostSetup:
    """SmolLM2-135M under llama.cpp on the recording machine."""
    return CostSetup(
        target=find_model("HuggingFaceTB/SmolLM2-135M-Instruct"),
        hardware=Hardware(accelerator=CPU_TWO_CORES),
        dtype=dtype,
        engine=Engine.LLAMACPP,
    )


def _modelled_setup(model: str, system: str, tensor: int, backend: str) -> CostSetup:
    shape = _known(model)
    device = find_accelerator(system.upper().replace("_SXM", "-SXM"))
    dtype = "fp8" if model.endswith("FP8") else shape.native_dtype
    return CostSetup(
        target=shape,
        hardware=Hardware(accelerator=device, count=tensor, parallel=Parallel(tensor=tensor)),
        dtype=dtype,
        engine=Engine(backend),
    )


def _known(model: str) -> ModelShape:
    names = (model, model.replace("Meta-", ""), model.replace("Meta-", "") + "-Instruct")
    for name in names:
        try:
            return find_model(name)
        except LookupError:
            continue
    raise LookupError(model)


def _serving_rows(data: Path) -> list[FitRow]:
    return serving_rows(data / f"{SERVING_SOURCE}.csv")


def _curve_rows(data: Path) -> list[FitRow]:
    setup = curve_setup()
    found = []
    for point in read_curve(data / f"{CURVE_SOURCE}.csv"):
        if point.x > GRAPH_TOKENS:
            continue
        plan, configuration = curve_configuration(point)
        found.append(
            make_row(
                setup,
                plan,
                configuration,
                ids=(f"{CURVE_SOURCE}:{point.table}:{point.x:g}",),
                source=CURVE_SOURCE,
                value=point.seconds,
                weights=STEP if point.table == "verify" else DRAFT,
                noise=_CURVE_NOISE,
            )
        )
    return found[::2]  # neighbours say the same


def _modelled_rows(data: Path) -> list[FitRow]:
    """Bare passes: the table's draft share is taken out, and it knows no other cost of speculation.

    Above a batch of 32 the table reads the cache anew for every verified token, which engines do
    not; those rows are left out.
    """
    points = read_modelled(data / f"{MODELLED_SOURCE}.csv")
    plain = {point.curve: point.seconds for point in points if point.nextn == 0}
    found = []
    for point in points:
        if point.nextn not in _FITTED_NEXTN or point.batch not in _FITTED_BATCHES:
            continue
        share = point.nextn / point.setup.target.n_layers
        found.append(
            make_row(
                point.setup,
                PLAIN_PLAN,
                modelled_configuration(point)._replace(draft_steps=0.0),
                ids=(f"{MODELLED_SOURCE}:{point.setup.target.model_id}:{point.batch:g}",),
                source=MODELLED_SOURCE,
                value=point.seconds / plain[point.curve] - share,
                weights=RATIO,
                noise=_MODELLED_NOISE,
            )
        )
    return found


def _linear_rows(data: Path) -> list[FitRow]:
    """Points on the published linear fit of Llama-3.1-8B on one H100 under vLLM."""
    cost = _linear_coefficients(data / "extra_costs.csv")
    setup = CostSetup(
        target=find_model("meta-llama/Llama-3.1-8B-Instruct"),
        hardware=Hardware(accelerator=find_accelerator("H100-SXM")),
        engine=Engine.VLLM,
    )
    found = []
    for batch in (1.0, 4.0, 16.0, 64.0, 128.0):
        for tokens in (1.0, 4.0):
            context = 1024.0
            fixed = (cost["target_c_fixed_ms"] + cost["overhead_per_step_ms"]) / 1e3
            by_token = cost["target_c_compute_us_per_token"] * 1e-6 * batch * tokens
            by_cache = cost["target_c_kv_ns_per_kv_token"] * 1e-9 * batch * context
            found.append(
                make_row(
                    setup,
                    PLAIN_PLAN,
                    Configuration(batch, 0.0, tokens, context),
                    ids=("X0033", "X0034", "X0035", "X0037"),
                    source=LINEAR_SOURCE,
                    value=fixed + by_token + by_cache,
                    weights=STEP,
                    noise=PLAIN_NOISE,
                )
            )
    return found


def _share_rows(data: Path) -> list[FitRow]:
    """Share of a step that a small draft model takes, where batch and K are stated."""
    found = []
    with open(data / "extra_costs.csv", newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            known = row["metric"] == "draft_time_share" and row["batch"] and row["draft_params_b"]
            if not known or row["method"] != "draft-model":
                continue
            setup = CostSetup(
                target=find_model(f"Qwen/{row['target_model']}"),
                hardware=Hardware(accelerator=find_accelerator("H100-SXM")),
                engine=Engine.VLLM,
            )
            shape = find_model(f"Qwen/{row['draft_model']}")
            method = Method.DRAFT_MODEL
            drafter = Drafter(path_or_id=shape.model_id, method=method, shape=shape)
            length = float(row["draft_len_k"])
            found.append(
                make_row(
                    setup,
                    DraftPlan(method=method, kind=DRAFT_KIND[method], drafter=drafter),
                    Configuration(float(row["batch"]), length, length + 1.0, _SHARE_CONTEXT),
                    ids=(row["id"],),
                    source=SHARE_SOURCE,
                    value=float(row["value"]),
                    weights=DRAFT_SHARE,
                    noise=_SHARE_NOISE,
                )
            )
    return found


def _linear_coefficients(path: Path) -> dict[str, float]:
    with open(path, newline="", encoding="utf-8") as stream:
        return {
            row["metric"]: float(row["value"])
            for row in csv.DictReader(stream)
            if re.search(r"_ms$|_us_|_ns_", row["metric"])
        }


def _forward_rows(data: Path) -> list[FitRow]:
    found = []
    with open(data / "real_engine" / "forward_ms.csv", newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["threads"] != "1" or row["model"] not in _FORWARD_MODELS:
                continue
            found.append(
                make_row(
                    smollm(_FORWARD_MODELS[row["model"]]),
                    PLAIN_PLAN,
                    Configuration(1.0, 0.0, float(row["num_tokens"]), 40.0),
                    ids=(f"{REAL_ENGINE_SOURCE}:{row['table']}:{row['num_tokens']}",),
                    source=REAL_ENGINE_SOURCE,
                    value=float(row["median_ms"]) / 1e3,
                    weights=STEP,
                    noise=PLAIN_NOISE,
                    sweep=(row["table"], ""),
                )
            )
    return found
