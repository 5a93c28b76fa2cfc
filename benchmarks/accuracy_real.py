"""Recorded runs of a real engine: the other K from the plain run, one K and the pass times."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy_predict import answer
from benchmarks.accuracy_questions import Question
from benchmarks.accuracy_rules import nearest
from benchmarks.accuracy_scores import quantile
from scripts.evidence import DATA
from tuner.advise.arms import Arm
from tuner.advise.knowledge import Knowledge
from tuner.advise.resolve import resolve
from tuner.records.cost import DraftPlan
from tuner.records.methods import DRAFT_KIND, Engine, Method, Task
from tuner.records.model import Drafter
from tuner.records.workload import (
    EngineSpec,
    HardwareSpec,
    ObservedRow,
    Profile,
    TargetSpec,
    WorkloadSpec,
)

Json = dict[str, object]

#: name by which the cost fit leaves out the pass times of this machine
PASSES_SOURCE = "real_engine/forward_ms.csv"
#: how far the same configuration moved when it was run again on a quiet machine (−10 … +7 %)
REPEAT_NOISE = 0.10
#: the machine: two cores, one used; bandwidth from the plain step (540 MB of weights in 30 ms),
#: arithmetic from the slope of the pass times over tokens
_MACHINE = HardwareSpec(memory_gb=24.0, bandwidth_tb_s=0.02, bf16_tflops=0.06)
_PARAMETERS_B = 0.135
_TASKS = {"chat": Task.CHAT, "copy": Task.SUMMARIZATION}
#: which pass times belong to which run
_TABLES = {"ci": "wheel", "cing": "wheel", "nq": "quiet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRow:
    """One configuration of one run."""

    run: str
    task: str
    temperature: float
    k: int
    speedup: float
    #: tokens drafted a step; less than K because drafts end where a request does
    drafted: float
    #: share of all steps at which position i was accepted; every K decodes the same requests, so
    #: these are the rates of this text and no sample of another
    survival: tuple[float, ...]
    tpot_ms: float


def recorded_runs(knowledge: Knowledge, folder: Path = DATA / "real_engine") -> Json:
    """Score every run with a plain row and at least two K.

    Requests of 32 to 96 tokens cut many long drafts short, so each row is predicted at the number
    of tokens that it really drafted a step, between whole K.
    """
    passes = _passes(folder / "forward_ms.csv")
    errors: list[float] = []
    right: list[bool] = []
    decided: list[bool] = []
    named: list[Json] = []
    for (run, task, temperature, method), (plain_ms, rows) in _groups(folder).items():
        measured = sorted(row.k for row in rows)
        if len(measured) < 2:
            continue
        at = nearest(measured, 3)
        table = passes[_TABLES.get(run, "t1")]
        lengths = tuple(range(1, max(measured) + 1))
        question = _question(run, task, temperature, method, lengths)
        observed = [ObservedRow(method=Method.NONE, batch=1.0, tpot_ms=plain_ms)]
        observed += [
            ObservedRow(method=Method.NONE, batch=float(n), step_ms=plain_ms * ratio)
            for n, ratio in table.items()
            if n > 1
        ]
        one = next(row for row in rows if row.k == at)
        observed.append(
            ObservedRow(
                method=method,
                num_speculative_tokens=at,
                batch=1.0,
                acceptance_per_position=one.survival,
                tpot_ms=one.tpot_ms,
            )
        )
        got = answer(question, knowledge, observed)
        for row in rows:
            if row.k == at:
                continue
            predicted = float(np.interp(row.drafted, lengths, got.speedup[0]))
            errors.append(abs(predicted / row.speedup - 1.0))
            if abs(np.log(row.speedup)) > REPEAT_NOISE:
                decided.append(True)
                right.append((predicted >= 1.0) == (row.speedup >= 1.0))
            named.append(
                {
                    "run": run,
                    "task": task,
                    "temperature": temperature,
                    "observed K": at,
                    "K": row.k,
                    "measured": row.speedup,
                    "predicted": predicted,
                }
            )
    return {
        "n": len(errors),
        "median": quantile(errors, 0.5),
        "p90": quantile(errors, 0.9),
        "decided beyond the repeat noise": len(decided),
        "on or off right": float(np.mean(right)) if right else None,
        "rows": named,
    }


def _passes(path: Path) -> dict[str, dict[int, float]]:
    """Table → tokens → time of the target's pass over the time of one token."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["model"].endswith("F32"):
                found[row["table"]][int(row["num_tokens"])] = float(row["median_ms"])
    return {
        name: {n: time / times[1] for n, time in times.items()} for name, times in found.items()
    }


_GroupKey = tuple[str, str, float, Method]


def _groups(folder: Path) -> dict[_GroupKey, tuple[float, list[RealRow]]]:
    with open(folder / "runs.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    plain = {
        (row["run"], row["task"]): float(row["decode_ms"]) / float(row["decode_tokens"])
        for row in rows
        if row["method"] == "none"
    }
    found: dict[_GroupKey, tuple[float, list[RealRow]]] = {}
    for row in rows:
        if row["method"] == "none" or "Gemma" in row["target"] or row["num_drafts"] == "0":
            continue
        base = plain[row["run"], row["task"]]
        tpot_ms = float(row["decode_ms"]) / float(row["decode_tokens"])
        key = (row["run"], row["task"], float(row["temperature"]), Method(row["method"]))
        found.setdefault(key, (base, []))[1].append(
            RealRow(
                run=row["run"],
                task=row["task"],
                temperature=float(row["temperature"]),
                k=int(row["num_speculative_tokens"]),
                speedup=base / tpot_ms,
                drafted=int(row["num_draft_tokens"]) / int(row["num_drafts"]),
                survival=tuple(
                    int(n) / int(row["steps"]) for n in row["accepted_per_position"].split()
                ),
                tpot_ms=tpot_ms,
            )
        )
    return found


def _question(
    run: str, task: str, temperature: float, method: Method, lengths: tuple[int, ...]
) -> Question:
    profile = Profile(
        name=run,
        target=TargetSpec(params_b=_PARAMETERS_B),
        hardware=_MACHINE,
        dtype="float32",
        engine=EngineSpec(name=Engine.LLAMACPP),
        workload=WorkloadSpec(
            task=((_TASKS[task], 1.0),),
            temperature=((temperature, 1.0),),
            prompt_tokens=60,
            output_tokens=40,
        ),
    )
    drafter = None
    if method is Method.DRAFT_MODEL:
        drafter = Drafter(
            path_or_id="the same model, Q4_0",
            method=method,
            params=_PARAMETERS_B * 1e9,
            dtype="gguf:Q4_0",
        )
    plan = DraftPlan(method=method, kind=DRAFT_KIND[method], drafter=drafter)
    return Question(
        row=None, situation=resolve(profile), arm=Arm(plan=plan, lengths=lengths), batch=1.0
    )
