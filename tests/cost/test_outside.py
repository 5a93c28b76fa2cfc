"""What the model says of steps that it was not shown, on step times that others measured."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.cost.setups import PLAIN, on, plan
from tuner.catalog import find_model
from tuner.catalog.priors import load_cost_prior
from tuner.cost.model import learn
from tuner.records.cost import CostObservation, CostSetup, StepTimes
from tuner.records.hardware import Accelerator, DeviceKind, Hardware
from tuner.records.interval import Z90
from tuner.records.methods import Engine, Method

FORWARD = Path(__file__).parents[2] / "data" / "real_engine" / "forward_ms.csv"
#: MLX, MTP on Apple silicon (ml-explore/mlx-lm pull request 990): seconds a step at K drafts
APPLE = {0: 41.3e-3, 1: 50.6e-3, 2: 75.9e-3, 3: 108.5e-3, 5: 181.9e-3}
LENGTHS = np.array(list(APPLE))
RATIOS = np.array(list(APPLE.values())) / APPLE[0]
MODELS = {"SmolLM2-135M F32": "gguf:F32", "SmolLM2-135M Q4_0": "gguf:Q4_0"}


def apple_steps(*shown: int) -> StepTimes:
    setup = on("Qwen/Qwen3.6-27B", "M4-Max-40c", dtype="awq", engine=None)
    rows = [
        CostObservation(
            method=Method.MTP if k else Method.NONE,
            batch=1.0,
            num_speculative_tokens=k,
            draft_steps=k,
            verify_tokens=k + 1,
            step_s=APPLE[k],
        )
        for k in shown
    ]
    return learn(load_cost_prior(), setup, rows).step(
        plan(Method.MTP),
        batch=1.0,
        draft_steps=LENGTHS,
        verify_tokens=LENGTHS + 1,
        context_tokens=1024.0,
    )


def ratio_errors(times: StepTimes) -> np.ndarray:
    """Relative error of the step in plain steps, by draft length."""
    total = times.draft_s + times.verify_s + times.overhead_s
    return total / times.baseline_s / RATIOS - 1.0


@pytest.mark.parametrize(
    ("hidden", "most"),
    # the last lies outside the lengths shown: its steps turn dearer than any of them foretells
    [(1, 0.12), (2, 0.10), (3, 0.05), (5, 0.25)],
)
def test_one_length_of_four_is_predicted(hidden: int, most: float) -> None:
    times = apple_steps(*(k for k in APPLE if k != hidden))
    place = LENGTHS.tolist().index(hidden)
    assert abs(ratio_errors(times)[place]) < most
    shown = np.arange(len(LENGTHS)) != place
    assert np.abs(ratio_errors(times)[shown]).max() < 0.05


def test_rows_bring_the_unseen_lengths_nearer() -> None:
    """Nothing shown, the plain step and one length, the plain step and two."""
    worst = [np.abs(ratio_errors(apple_steps(*shown))).max() for shown in ((), (0, 2), (0, 2, 3))]
    assert worst[2] < worst[0]
    assert worst[2] < worst[1]
    assert apple_steps().baseline_s[0] == pytest.approx(APPLE[0], rel=0.3)


def recorded(table: str, model: str) -> dict[int, float]:
    with open(FORWARD, newline="", encoding="utf-8") as stream:
        return {
            int(row["num_tokens"]): float(row["median_ms"]) / 1e3
            for row in csv.DictReader(stream)
            if row["table"] == table and row["model"] == model
        }


def cpu_setup(dtype: str) -> CostSetup:
    cpu = Accelerator(
        name="two cores",
        vendor="AMD",
        kind=DeviceKind.CPU,
        memory_bytes=24e9,
        bandwidth_bytes_per_s=30e9,
        peak_flops_per_s={"bfloat16": 200e9},
    )
    return CostSetup(
        target=find_model("HuggingFaceTB/SmolLM2-135M-Instruct"),
        hardware=Hardware(accelerator=cpu),
        dtype=dtype,
        engine=Engine.LLAMACPP,
    )


def log_errors(
    table: str, model: str, shown: tuple[int, ...], *, every: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of ln time over the widths not shown (or all), and the doubt that was stated."""
    passes = recorded(table, model)
    rows = [
        CostObservation(
            method=Method.NONE, batch=1.0, verify_tokens=n, step_s=passes[n], context_tokens=40.0
        )
        for n in shown
    ]
    hidden = np.array([n for n in sorted(passes) if every or n not in shown])
    times = learn(load_cost_prior(), cpu_setup(MODELS[model]), rows).step(
        PLAIN, batch=1.0, draft_steps=0, verify_tokens=hidden, context_tokens=40.0
    )
    measured = np.array([passes[n] for n in hidden])
    doubt = np.hypot(times.baseline_log_sd, times.ratio_log_sd)
    return np.log(times.verify_s / measured), doubt


@pytest.mark.parametrize("table", ["t1", "quiet", "wheel"])
def test_passes_of_a_real_engine_from_two_of_them(table: str) -> None:
    """llama.cpp on a CPU: plain and five tokens are shown, the other widths are predicted."""
    errors, _doubt = log_errors(table, "SmolLM2-135M F32", (1, 5), every=True)
    relative = np.abs(np.exp(errors) - 1.0)
    assert np.median(relative) < 0.10
    assert relative.max() < 0.30


TABLES = [("t1", "SmolLM2-135M F32"), ("quiet", "SmolLM2-135M F32"), ("t1", "SmolLM2-135M Q4_0"),
          ("quiet", "SmolLM2-135M Q4_0"), ("wheel", "SmolLM2-135M Q4_0")]  # fmt: skip


@pytest.mark.parametrize(("table", "model"), TABLES)
def test_widths_of_a_recorded_engine_from_the_plain_pass_and_one_more(
    table: str, model: str
) -> None:
    errors, _doubt = log_errors(table, model, (1, 5))
    assert np.median(np.abs(errors)) < 0.15
    assert np.abs(errors).max() < 0.25


@pytest.mark.parametrize(("table", "model"), TABLES)
def test_the_plain_pass_alone_bounds_the_wider_ones(table: str, model: str) -> None:
    """With nothing known about the width, the stated doubt holds what the machine did."""
    errors, doubt = log_errors(table, model, (1,))
    assert np.mean(np.abs(errors) < Z90 * doubt) >= 0.75


def test_stated_doubt_after_two_passes_over_all_recorded_tables() -> None:
    """Stairs of real kernels leave more than is stated: half are inside, 80 % were meant to be."""
    inside = []
    for table, model in TABLES:
        for shown in ((1, 3), (1, 5), (1, 9)):
            errors, doubt = log_errors(table, model, shown)
            inside += (np.abs(errors) < Z90 * doubt).tolist()
    assert 0.5 < np.mean(inside) <= 1.0
