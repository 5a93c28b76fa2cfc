"""Measured serving runs of ``plain_tpot_measured.csv`` as rows of the cost fit."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import NamedTuple

from scripts.cost_assumed import ASSUMED_MEAN, SPREAD_FLOOR
from scripts.cost_rows import STEP, FitRow, make_row
from scripts.cost_setups import Configuration
from tuner.catalog import find_accelerator, find_model
from tuner.cost.model import learn
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.cost_prior import PARAMETERS, CostPrior
from tuner.records.hardware import Hardware, Parallel
from tuner.records.methods import DRAFT_KIND, Engine, Method

SERVING_SOURCE = "plain_tpot_measured"
_MODELS = (
    ("minimax_m2_5", "MiniMaxAI/MiniMax-M2.5"),
    ("deepseek_r1", "deepseek-ai/DeepSeek-R1"),
    ("dsr1", "deepseek-ai/DeepSeek-R1"),
    ("kimi_k2_5", "moonshotai/Kimi-K2.5"),
    ("kimik2_5", "moonshotai/Kimi-K2.5"),
    ("qwen3_5", "Qwen/Qwen3.5-397B-A17B"),
    ("qwen3_32b", "Qwen/Qwen3-32B"),
)
_DEVICES = {
    "gb200": "GB200",
    "b200": "B200-SXM",
    "b300": "B300-SXM",
    "h100": "H100-SXM",
    "h200": "H200-SXM",
}
_DTYPES = (("fp4", "nvfp4"), ("fp8", "fp8"))
_BYTES = {"nvfp4": 0.6, "fp8": 1.0, "bfloat16": 2.0}
#: share of memory that weights may take before more devices are assumed
_WEIGHT_SHARE = 0.6
#: above this concurrency a disaggregated run spreads over decode workers that the id does not count
_LARGEST_DISAGGREGATED = 256
#: noise of one run, and of one whose device count is assumed
_NOISE, _ASSUMED_COUNT_NOISE = 0.08, 0.25


class Serving(NamedTuple):
    """One row of the file."""

    name: str
    setup: CostSetup
    batch: float
    prompt_tokens: float
    output_tokens: float
    is_disaggregated: bool
    is_count_stated: bool
    tpot_s: float

    @property
    def is_one_worker(self) -> bool:
        """Whether the concurrency is that of the devices of the setup."""
        return not self.is_disaggregated or self.batch <= _LARGEST_DISAGGREGATED

    @property
    def prefill_share(self) -> float:
        """Share of the steps of a sequence, its first token made, that hold another one's prefill.

        In a closed loop with outputs of one length, sequences that start together end together, and
        their prompts are read one after the other: half of the others' follow one's own.
        """
        return 0.5 * (self.batch - 1.0) / self.output_tokens


def read_serving(path: Path) -> list[Serving]:
    """Return the rows that say enough: model, device, lengths and concurrency."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = (_serving(row) for row in csv.DictReader(stream))
        return [row for row in rows if row is not None]


def serving_rows(path: Path) -> list[FitRow]:
    """Return decode steps: TPOT less what other sequences' prefills add to it."""
    prior = CostPrior(
        mean=tuple(math.log(ASSUMED_MEAN[name]) for name in PARAMETERS),
        spread=tuple(SPREAD_FLOOR[name] for name in PARAMETERS),
    )
    plan = DraftPlan(method=Method.NONE, kind=DRAFT_KIND[Method.NONE])
    found = []
    for row in read_serving(path):
        step_s = row.tpot_s
        if not row.is_disaggregated:
            prefill_s = learn(prior, row.setup).prefill_s(row.prompt_tokens)
            share = row.prefill_share
            step_s = max((step_s - share * prefill_s) / (1.0 - share), 0.5 * step_s)
        elif not row.is_one_worker:
            continue
        context = row.prompt_tokens + row.output_tokens / 2.0
        found.append(
            make_row(
                row.setup,
                plan,
                Configuration(row.batch, 0.0, 1.0, context),
                ids=(row.name,),
                source=f"{SERVING_SOURCE}:{row.setup.target.model_id}:{row.setup.engine}",
                value=step_s,
                weights=STEP,
                noise=_NOISE if row.is_count_stated else _ASSUMED_COUNT_NOISE,
            )
        )
    return found


def _serving(row: dict[str, str]) -> Serving | None:
    name = row["id"]
    model = next((target for word, target in _MODELS if word in name), None)
    device = next((full for word, full in _DEVICES.items() if f"_{word}_" in name), None)
    lengths = re.search(r"_(\d+)x(\d+)_", name)
    concurrency = re.search(r"_c(\d+)_", name)
    if model is None or device is None or lengths is None or concurrency is None:
        return None
    dtype = next((known for word, known in _DTYPES if f"_{word}_" in name), "bfloat16")
    tensor = re.search(r"_tp(\d+)", name)
    count = int(tensor.group(1)) if tensor else _smallest_count(model, device, dtype)
    expert = re.search(r"_ep(\d+)", name)
    return Serving(
        name=name,
        setup=CostSetup(
            target=find_model(model),
            hardware=Hardware(
                accelerator=find_accelerator(device),
                count=count,
                parallel=Parallel(
                    tensor=count, expert=max(int(expert.group(1)), 1) if expert else 1
                ),
            ),
            dtype=dtype,
            engine=next((one for one in Engine if f"_{one.value}_" in name), None),
        ),
        batch=float(concurrency.group(1)),
        prompt_tokens=float(lengths.group(1)),
        output_tokens=float(lengths.group(2)),
        is_disaggregated="disagg" in name,
        is_count_stated=tensor is not None,
        tpot_s=float(row["silicon_tpot_ms"]) / 1e3,
    )


def _smallest_count(model: str, device: str, dtype: str) -> int:
    weights = find_model(model).total_params * _BYTES[dtype]
    memory = find_accelerator(device).memory_bytes
    counts = (1, 2, 4, 8, 16)
    return next((n for n in counts if weights <= _WEIGHT_SHARE * n * memory), counts[-1])
