"""Step times against a measured curve, a modelled table and measured plain serving."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from benchmarks.accuracy_scores import quantile
from scripts.cost_serving import SERVING_SOURCE, Serving, read_serving
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


def modelled_table(
    prior: CostPrior, *, shared_cache: bool, path: Path = DATA / f"{TABLE_SOURCE}.csv"
) -> Json:
    """Score that ratio against modelled step times of another tool, their draft share taken out.

    The tool counts the verified tokens of a sequence as that many sequences, each reading the cache
    for itself. Engines' attention kernels read it once for all positions (``shared_cache``), so the
    two sides differ where the cache is most of the traffic; without it the product is asked for
    the step of that many sequences.
    """
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    groups: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("model", "system", "tp", "isl", "osl", "batch"))
        groups.setdefault(key, {})[int(row["nextn"])] = float(row["iteration_ms"])
    measured, predicted, batches, plain = [], [], [], []
    for (name, system, tp, isl, osl, size), times in groups.items():
        try:
            setup = _setup(name, _SYSTEMS[system], int(tp), None)
        except TunerError:
            continue
        lengths = np.array([n for n in sorted(times) if n > 0])
        share = lengths / setup.target.n_layers
        batch = np.full(len(lengths), float(size))
        model = learn(prior, setup)
        context = float(isl) + float(osl) / 2.0
        base = _plain(model, np.array([float(size)]), context)
        ratios = (
            _ratios(model, batch, lengths + 1.0, context)
            if shared_cache
            else _plain(model, batch * (lengths + 1.0), context) / base
        )
        measured.append(np.array([times[n] for n in lengths]) / times[0] - share)
        predicted.append(ratios)
        batches.append(batch)
        plain.append(float(base[0]) / (times[0] * MILLI))
    found = _compare(np.concatenate(measured), np.concatenate(predicted), np.concatenate(batches))
    found["plain step, median error"] = quantile(np.abs(np.array(plain) - 1.0), 0.5)
    return found


def _plain(model: CostModel, batch: np.ndarray, context: float) -> np.ndarray:
    return model.step(
        _PLAN, batch=batch, draft_steps=0, verify_tokens=1, context_tokens=context
    ).baseline_s


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


def _setup(name: str, device: str, tensor: int, dtype: str | None) -> CostSetup:
    target = find_model(name)
    if dtype is None:
        dtype = "fp8" if name.endswith("FP8") else target.native_dtype
    return CostSetup(
        target=target,
        hardware=Hardware(
            accelerator=find_accelerator(device),
            count=tensor,
            parallel=Parallel(tensor=tensor),
        ),
        dtype=dtype,
        engine=Engine.VLLM,
    )


def plain_serving(prior: CostPrior, path: Path = DATA / f"{SERVING_SOURCE}.csv") -> Json:
    """Score plain TPOT, nothing observed, against measured serving."""
    with open(path, newline="", encoding="utf-8") as stream:
        other = {
            row["id"]: float(row["aiconfigurator_0_12_tpot_rel_err"])
            for row in csv.DictReader(stream)
            if row["aiconfigurator_0_12_tpot_rel_err"]
        }
        stream.seek(0)
        ids = [row["id"] for row in csv.DictReader(stream)]
    stated = read_serving(path)
    served = [run for run in stated if run.is_one_worker]
    errors = [predicted_tpot_s(prior, run) / run.tpot_s - 1.0 for run in served]
    scored = {run.name for run in served}
    rivals = [abs(value) for name, value in other.items() if name in scored]
    same = [abs(e) for e, run in zip(errors, served, strict=True) if run.name in other]
    return {
        "n": len(served),
        "median": quantile(np.abs(errors), 0.5),
        "p90": quantile(np.abs(errors), 0.9),
        "aiconfigurator": {
            "n": len(rivals),
            "median": quantile(rivals, 0.5),
            "p90": quantile(rivals, 0.9),
            "product on the same rows, median": quantile(same, 0.5),
            "product on the same rows, p90": quantile(same, 0.9),
        },
        "left out": [name for name in ids if name not in {run.name for run in stated}],
        "left out, decode workers not stated": [r.name for r in stated if not r.is_one_worker],
        "rows": {
            run.name: {
                "measured_ms": run.tpot_s / MILLI,
                "predicted_ms": (1.0 + error) * run.tpot_s / MILLI,
                "error": error,
            }
            for run, error in zip(served, errors, strict=True)
        },
    }


def predicted_tpot_s(prior: CostPrior, run: Serving) -> float:
    """Return TPOT at a fixed concurrency: a decode step, plus the prefills that share the engine.

    Where one engine does both, a step that carries a prompt lasts as long as its prefill, and each
    output token meets its share of the other sequences' prompts.
    """
    model = learn(prior, run.setup)
    times = model.step(
        _PLAN,
        batch=run.batch,
        draft_steps=0,
        verify_tokens=1,
        context_tokens=run.prompt_tokens + run.output_tokens / 2.0,
    )
    step_s = float(times.baseline_s)
    if run.is_disaggregated:
        return step_s
    longer_s = max(model.prefill_s(run.prompt_tokens) - step_s, 0.0)
    return step_s + run.prefill_share * longer_s
