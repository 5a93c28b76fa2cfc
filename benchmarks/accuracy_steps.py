"""Step times against a measured curve, a modelled table and measured plain serving."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy_scores import quantile
from scripts.evidence import DATA
from tuner.catalog import find_accelerator, find_model
from tuner.cost.model import CostModel, learn
from tuner.errors import TunerError
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.cost_prior import CostPrior
from tuner.records.hardware import Hardware, Parallel
from tuner.records.methods import DRAFT_KIND, Engine, Method
from tuner.units import MILLI

Json = dict[str, object]

#: names by which a fit leaves these files out
CURVE_SOURCE = "cost_curve_dsv4flash_b300"
TABLE_SOURCE = "step_times_modelled"
SERVING_SOURCE = "plain_tpot_measured"
#: context of the measured verify curve; its source does not state one (assumed)
_CURVE_CONTEXT = 1000.0
_CURVE_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_CURVE_LENGTHS = (1, 2, 3, 5, 7)
_SYSTEMS = {
    "a100_sxm": "A100-80GB-SXM",
    "h100_sxm": "H100-SXM",
    "h200_sxm": "H200-SXM",
    "b200_sxm": "B200-SXM",
    "b300": "B300-SXM",
    "gb200": "GB200",
}
_PLAN = DraftPlan(method=Method.MTP, kind=DRAFT_KIND[Method.MTP])


def measured_curve(prior: CostPrior, path: Path = DATA / "cost_curve_dsv4flash_b300.csv") -> Json:
    """Score T(b, K + 1) ÷ T(b, 1) against the verify cost measured on B300.

    The source gives cost by tokens in the step, so T(b, n) is its value at b·n tokens, linear in
    between; batches whose plain step lies between two measured points count too.
    """
    with open(path, newline="", encoding="utf-8") as stream:
        table = [row for row in csv.DictReader(stream) if row["table"] == "verify"]
    tokens = np.array([float(row["x"]) for row in table])
    cost = np.array([float(row["cost_ms"]) for row in table])
    model = learn(prior, _setup("deepseek-ai/DeepSeek-V4-Flash", "B300-SXM", 4, "nvfp4"))
    batch = np.repeat(_CURVE_BATCHES, len(_CURVE_LENGTHS)).astype(float)
    verify = np.tile(_CURVE_LENGTHS, len(_CURVE_BATCHES)) + 1.0
    measured = np.interp(batch * verify, tokens, cost) / np.interp(batch, tokens, cost)
    predicted = _ratios(model, batch, verify, _CURVE_CONTEXT)
    return _compare(measured, predicted, batch)


def modelled_table(prior: CostPrior, path: Path = DATA / "step_times_modelled.csv") -> Json:
    """Score that ratio against modelled step times of another tool, their draft share taken out."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    groups: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        key = tuple(
            row[name] for name in ("model", "system", "backend", "tp", "isl", "osl", "batch")
        )
        groups.setdefault(key, {})[int(row["nextn"])] = float(row["iteration_ms"])
    measured, predicted, batches, plain = [], [], [], []
    for (name, system, _, tp, isl, osl, size), times in groups.items():
        try:
            setup = _setup(name, _SYSTEMS[system], int(tp), None)
        except TunerError:
            continue
        lengths = np.array([n for n in sorted(times) if n > 0])
        share = lengths / setup.target.n_layers
        wanted = np.array([times[n] for n in lengths]) / times[0] - share
        batch = np.full(len(lengths), float(size))
        model = learn(prior, setup)
        context = float(isl) + float(osl) / 2.0
        measured.append(wanted)
        predicted.append(_ratios(model, batch, lengths + 1.0, context))
        batches.append(batch)
        base = model.step(
            _PLAN, batch=float(size), draft_steps=0, verify_tokens=1, context_tokens=context
        ).baseline_s
        plain.append(float(base) / (times[0] * MILLI))
    found = _compare(np.concatenate(measured), np.concatenate(predicted), np.concatenate(batches))
    found["plain step, median error"] = quantile(np.abs(np.array(plain) - 1.0), 0.5)
    return found


def _compare(measured: np.ndarray, predicted: np.ndarray, batch: np.ndarray) -> Json:
    error = np.abs(predicted / measured - 1.0)
    # the textbook formula takes verification for free at every batch
    constant = np.abs(1.0 / measured - 1.0)
    return {
        "n": len(error),
        "median": quantile(error, 0.5),
        "p90": quantile(error, 0.9),
        "by batch": {int(size): quantile(error[batch == size], 0.5) for size in np.unique(batch)},
        "constant cost, median": quantile(constant, 0.5),
        "constant cost, at the largest batch": quantile(constant[batch == batch.max()], 0.9),
    }


def _ratios(model: CostModel, batch: np.ndarray, verify: np.ndarray, context: float) -> np.ndarray:
    times = model.step(
        _PLAN,
        batch=batch,
        draft_steps=verify - 1.0,
        verify_tokens=verify,
        context_tokens=context,
    )
    return times.verify_s / times.baseline_s


def _setup(
    name: str,
    device: str,
    tensor: int,
    dtype: str | None,
    *,
    expert: int = 1,
    engine: Engine = Engine.VLLM,
) -> CostSetup:
    target = find_model(name)
    if dtype is None:
        dtype = "fp8" if name.endswith("FP8") else target.native_dtype
    return CostSetup(
        target=target,
        hardware=Hardware(
            accelerator=find_accelerator(device),
            count=tensor,
            parallel=Parallel(tensor=tensor, expert=expert),
        ),
        dtype=dtype,
        engine=engine,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAnchor:
    """One measured plain serving run."""

    name: str
    setup: CostSetup
    batch: float
    prompt_tokens: float
    output_tokens: float
    is_disaggregated: bool
    tpot_s: float
    #: relative error of aiconfigurator on the same row, where it gave one
    other_error: float | None


#: words of the ids → catalog names
_ANCHOR_MODELS = (
    ("minimax_m2_5", "MiniMaxAI/MiniMax-M2.5"),
    ("deepseek_r1", "deepseek-ai/DeepSeek-R1"),
    ("dsr1", "deepseek-ai/DeepSeek-R1"),
    ("kimi_k2_5", "moonshotai/Kimi-K2.5"),
    ("kimik2_5", "moonshotai/Kimi-K2.5"),
    ("qwen3_5", "Qwen/Qwen3.5-397B-A17B"),
    ("qwen3_32b", "Qwen/Qwen3-32B"),
)
_ANCHOR_DEVICES = ("b200", "b300", "gb200", "h100", "h200")
#: devices of an instance where the id does not say: the smallest count that holds the weights
_ANCHOR_COUNTS = (1, 2, 4, 8, 16)


def serving_anchors(path: Path = DATA / "plain_tpot_measured.csv") -> Iterator[ServingAnchor | str]:
    """Yield each row as an anchor, or the id of a row that does not say enough."""
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            anchor = _anchor(row)
            yield row["id"] if anchor is None else anchor


def _anchor(row: dict[str, str]) -> ServingAnchor | None:
    name = row["id"]
    model = next((target for word, target in _ANCHOR_MODELS if word in name), None)
    device = next(
        (word for word in sorted(_ANCHOR_DEVICES, key=len, reverse=True) if word in name), ""
    )
    lengths = re.search(r"(\d+)x(\d+)", name)
    concurrency = re.search(r"_c(\d+)", name)
    if model is None or not device or lengths is None or concurrency is None:
        return None
    tensor = re.search(r"_tp(\d+)", name)
    expert = re.search(r"_ep(\d+)", name)
    dtype = next((d for word, d in (("fp4", "nvfp4"), ("fp8", "fp8")) if word in name), None)
    accelerator = _SYSTEMS.get(f"{device}_sxm", _SYSTEMS.get(device, ""))
    count = int(tensor.group(1)) if tensor else _smallest(model, accelerator, dtype)
    engine = next((e for e in Engine if e.value in name), Engine.VLLM)
    return ServingAnchor(
        name=name,
        setup=_setup(
            model,
            accelerator,
            count,
            dtype,
            expert=int(expert.group(1)) if expert and int(expert.group(1)) > 0 else 1,
            engine=engine,
        ),
        batch=float(concurrency.group(1)),
        prompt_tokens=float(lengths.group(1)),
        output_tokens=float(lengths.group(2)),
        is_disaggregated="disagg" in name,
        tpot_s=float(row["silicon_tpot_ms"]) * MILLI,
        other_error=float(row["aiconfigurator_0_12_tpot_rel_err"] or "nan"),
    )


def _smallest(model: str, device: str, dtype: str | None) -> int:
    size = {"nvfp4": 0.6, "fp8": 1.0}.get(dtype or "", 2.0)
    weights = find_model(model).total_params * size
    memory = find_accelerator(device).memory_bytes
    return next((n for n in _ANCHOR_COUNTS if weights <= 0.6 * n * memory), _ANCHOR_COUNTS[-1])


def plain_serving(prior: CostPrior) -> Json:
    """Score plain TPOT, nothing observed, against measured serving."""
    named: Json = {}
    errors, others, skipped = [], [], []
    for anchor in serving_anchors():
        if isinstance(anchor, str):
            skipped.append(anchor)
            continue
        predicted = predicted_tpot_s(prior, anchor)
        error = predicted / anchor.tpot_s - 1.0
        errors.append(abs(error))
        if anchor.other_error is not None and np.isfinite(anchor.other_error):
            others.append(abs(anchor.other_error))
        named[anchor.name] = {
            "measured_ms": anchor.tpot_s / MILLI,
            "predicted_ms": predicted / MILLI,
            "error": error,
        }
    return {
        "n": len(errors),
        "median": quantile(errors, 0.5),
        "p90": quantile(errors, 0.9),
        "aiconfigurator": {
            "n": len(others),
            "median": quantile(others, 0.5),
            "p90": quantile(others, 0.9),
        },
        "left out": skipped,
        "rows": named,
    }


def predicted_tpot_s(prior: CostPrior, anchor: ServingAnchor) -> float:
    """Return TPOT at a fixed concurrency: a decode step, plus the prefills that share the engine.

    In a closed loop every finished request is followed by a prompt; where one engine does both,
    each output token waits for its share of the other sequences' prefills.
    """
    model = learn(prior, anchor.setup)
    step = float(
        model.step(
            _PLAN,
            batch=anchor.batch,
            draft_steps=0,
            verify_tokens=1,
            context_tokens=anchor.prompt_tokens + anchor.output_tokens / 2.0,
        ).baseline_s
    )
    if anchor.is_disaggregated:
        return step
    prefill = model.prefill_s(anchor.prompt_tokens)
    return step + (anchor.batch - 1.0) * prefill / anchor.output_tokens
