"""The optional backend: what it asks for, and what it says when it cannot answer.

The times of the real package, version 0.12.0, for Llama-3.1-8B on one H100 under vLLM are rows of
data/step_times_modelled.csv; a stand-in gives them back here.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tuner.catalog import aiconfigurator, find_accelerator, find_model
from tuner.errors import MissingDataError
from tuner.records.cost import CostSetup
from tuner.records.hardware import Hardware, Parallel
from tuner.records.methods import Engine, Method

TABLE = Path(__file__).parents[2] / "data" / "step_times_modelled.csv"


def on(model: str, device: str, *, count: int = 1, engine: Engine = Engine.VLLM) -> CostSetup:
    return CostSetup(
        target=find_model(model),
        hardware=Hardware(
            accelerator=find_accelerator(device), count=count, parallel=Parallel(tensor=count)
        ),
        engine=engine,
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the package; returns what it was asked for."""
    with open(TABLE, newline="", encoding="utf-8") as stream:
        times = {
            int(row["batch"]): float(row["iteration_ms"])
            for row in csv.DictReader(stream)
            if row["model"] == "meta-llama/Meta-Llama-3.1-8B"
            and row["system"] == "h100_sxm"
            and row["nextn"] == "0"
        }
    calls: list[dict[str, Any]] = []

    def cli_estimate(model: str, system: str, **options: Any) -> SimpleNamespace:
        calls.append({"model": model, "system": system, **options})
        return SimpleNamespace(tpot=times[options["batch_size"]])

    package = ModuleType("aiconfigurator.cli.api")
    package.__dict__["cli_estimate"] = cli_estimate
    monkeypatch.setitem(sys.modules, "aiconfigurator", ModuleType("aiconfigurator"))
    monkeypatch.setitem(sys.modules, "aiconfigurator.cli", ModuleType("aiconfigurator.cli"))
    monkeypatch.setitem(sys.modules, "aiconfigurator.cli.api", package)
    carried = frozenset({"meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-30B-A3B"})
    monkeypatch.setattr(aiconfigurator, "is_installed", lambda: True)
    monkeypatch.setattr(aiconfigurator, "_carried_models", lambda: carried)
    monkeypatch.setattr(aiconfigurator, "_version", lambda: "0.12.0")
    return calls


def test_steps_become_observations_of_plain_decoding(asked: list[dict[str, Any]]) -> None:
    setup = on("meta-llama/Llama-3.1-8B-Instruct", "H100-SXM")
    rows = aiconfigurator.plain_steps(setup, prompt_tokens=1024, batches=(1, 64))
    assert [row.step_s for row in rows] == pytest.approx([6.1868e-3, 10.6029e-3])
    assert {row.method for row in rows} == {Method.NONE}
    assert [call["batch_size"] for call in asked] == [1, 64]
    assert asked[0]["model"] == "meta-llama/Meta-Llama-3.1-8B"
    assert asked[0]["system"] == "h100_sxm"
    assert asked[0]["mode"] == "static_gen"
    assert asked[0]["backend_name"] == "vllm"


def test_experts_are_laid_out_as_the_setup_says(asked: list[dict[str, Any]]) -> None:
    setup = on("Qwen/Qwen3-30B-A3B", "H100-SXM", count=2)
    aiconfigurator.plain_steps(setup, prompt_tokens=1024, batches=(1,))
    assert (asked[0]["moe_tp_size"], asked[0]["moe_ep_size"], asked[0]["tp_size"]) == (2, 1, 2)


@pytest.mark.parametrize(
    ("model", "device", "engine", "words"),
    [
        ("microsoft/phi-4", "H100-SXM", Engine.VLLM, "no configuration of microsoft/phi-4"),
        ("Qwen/Qwen3-30B-A3B", "RTX-4090", Engine.VLLM, "no data for RTX-4090 under vllm"),
        ("Qwen/Qwen3-30B-A3B", "H100-SXM", Engine.LLAMACPP, "under llamacpp"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_what_it_does_not_know_is_said(model: str, device: str, engine: Engine, words: str) -> None:
    with pytest.raises(MissingDataError, match=words):
        aiconfigurator.plain_steps(on(model, device, engine=engine), prompt_tokens=1024)


def test_a_failure_inside_the_package_is_one_sentence(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("No database found")

    monkeypatch.setattr(sys.modules["aiconfigurator.cli.api"], "cli_estimate", fails)
    with pytest.raises(MissingDataError, match="No database found"):
        aiconfigurator.plain_steps(on("Qwen/Qwen3-30B-A3B", "H100-SXM"), prompt_tokens=1024)
    assert asked == []


def test_without_the_package_the_way_to_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiconfigurator, "is_installed", lambda: False)
    with pytest.raises(MissingDataError, match="pip install"):
        aiconfigurator.plain_steps(
            on("meta-llama/Llama-3.1-8B-Instruct", "H100-SXM"), prompt_tokens=1024
        )
