"""Plain step times of a target from the optional package ``aiconfigurator`` (measured kernels).

Its times become observations of plain decoding, so that they fix the scale of the built-in model
over batch; drafting, verification and the cost of having speculation on stay the built-in model's.
Only models whose configuration the package carries are asked for: it would fetch others.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tuner.errors import MissingDataError
from tuner.records.cost import CostObservation, CostSetup
from tuner.records.methods import Engine, Method
from tuner.units import MILLI

#: batches that are asked for; each takes about half a second of processor time
BATCHES = (1, 4, 16, 64, 256)
#: its median error against measured serving is 18 % (data/plain_tpot_measured.csv)
ERROR_LOG_SD = 0.15
_OUTPUT_TOKENS = 256
_CONFIGS = "model_configs"
#: catalog device → system of the package
_SYSTEMS: dict[str, str] = {
    "A30": "a30",
    "A100-80GB-PCIe": "a100_pcie",
    "A100-80GB-SXM": "a100_sxm",
    "L4": "l4",
    "L40S": "l40s",
    "H100-PCIe": "h100_pcie",
    "H100-SXM": "h100_sxm",
    "H200-SXM": "h200_sxm",
    "B200-SXM": "b200_sxm",
    "B300-SXM": "b300_sxm",
    "GB200": "gb200",
    "GB300": "gb300",
    "RTX-PRO-6000-Blackwell-Server": "rtx_pro_6000_server",
    "Arc-Pro-B60": "b60",
}
_ENGINES = (Engine.VLLM, Engine.SGLANG, Engine.TRTLLM)
#: catalog ids whose shape stands under another name there
_SAME_SHAPE: dict[str, str] = {
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B-Instruct": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.3-70B-Instruct": "meta-llama/Meta-Llama-3.1-70B",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek-ai/DeepSeek-R1",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-235B-A22B-Instruct-2507": "Qwen/Qwen3-235B-A22B",
}


def is_installed() -> bool:
    """Whether the optional package is there; does not import it."""
    return find_spec("aiconfigurator") is not None


def plain_steps(
    setup: CostSetup, *, prompt_tokens: int, batches: Sequence[int] = BATCHES
) -> tuple[CostObservation, ...]:
    """Return plain decoding steps of ``setup`` as the package models them.

    Raises
    ------
    MissingDataError
        The package is not installed, or does not know the model, device or engine.
    """
    if not is_installed():
        raise MissingDataError(
            "the package aiconfigurator is not installed: pip install "
            "'specdec-tune[aiconfigurator]', or use --cost-model builtin."
        )
    model, system = _known_model(setup), _known_system(setup)
    found = []
    for batch in batches:
        step_ms = _step_ms(model, system, setup, batch, prompt_tokens)
        found.append(
            CostObservation(
                method=Method.NONE,
                batch=float(batch),
                context_tokens=prompt_tokens + _OUTPUT_TOKENS / 2.0,
                step_s=step_ms * MILLI,
                log_sd=ERROR_LOG_SD,
                source=f"aiconfigurator {_version()}, {system}, batch {batch}",
            )
        )
    return tuple(found)


def _step_ms(model: str, system: str, setup: CostSetup, batch: int, prompt_tokens: int) -> float:
    from aiconfigurator.cli.api import cli_estimate

    parallel = setup.hardware.parallel
    experts: dict[str, int] = {}
    if setup.target.is_moe:
        experts = {"moe_tp_size": 1, "moe_ep_size": parallel.tensor}
        if parallel.expert <= 1:
            experts = {"moe_tp_size": parallel.tensor, "moe_ep_size": 1}
    try:
        with _quiet():
            result = cli_estimate(
                model,
                system,
                mode="static_gen",
                backend_name=setup.engine.value if setup.engine else "",
                isl=prompt_tokens,
                osl=_OUTPUT_TOKENS,
                batch_size=max(batch // parallel.data, 1),
                tp_size=parallel.tensor,
                pp_size=parallel.pipeline,
                attention_dp_size=parallel.data,
                **_formats(setup, model),
                **experts,
            )
    except (RuntimeError, ValueError, KeyError, LookupError) as error:
        raise MissingDataError(
            f"aiconfigurator has no data for {model} on {system} with this layout ({error}): use "
            "--cost-model builtin."
        ) from error
    return float(result.tpot)


def _formats(setup: CostSetup, model: str) -> dict[str, str]:
    """The package reads formats from the model's name; fp8 over a bfloat16 name is said."""
    if (
        "fp8" in setup.dtype.lower()
        and "fp8" not in model.lower()
        and "deepseek" not in model.lower()
    ):
        return {"gemm_quant_mode": "fp8", "moe_quant_mode": "fp8"}
    return {}


def _known_model(setup: CostSetup) -> str:
    wanted = setup.target.model_id
    name = _SAME_SHAPE.get(wanted, wanted)
    for candidate in (f"{wanted}-FP8" if setup.dtype == "fp8" else wanted, wanted, name):
        if candidate in _carried_models():
            return candidate
    raise MissingDataError(
        f"aiconfigurator carries no configuration of {wanted}: use --cost-model builtin."
    )


def _known_system(setup: CostSetup) -> str:
    device = setup.hardware.accelerator.name
    if device not in _SYSTEMS or setup.engine not in _ENGINES:
        engine = setup.engine.value if setup.engine else "this engine"
        raise MissingDataError(
            f"aiconfigurator has no data for {device} under {engine}: use --cost-model builtin."
        )
    return _SYSTEMS[device]


@cache
def _carried_models() -> frozenset[str]:
    spec = find_spec("aiconfigurator_core")
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        return frozenset()
    files = Path(next(iter(places)), _CONFIGS).glob("*_config.json")
    names = (file.name.removesuffix("_config.json") for file in files)
    return frozenset(name.replace("--", "/", 1) for name in names)


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("aiconfigurator")


class _quiet:  # noqa: N801 - used as a statement
    """Silence the package's log lines while it works."""

    def __enter__(self) -> None:
        self._level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)

    def __exit__(self, *_: Any) -> None:
        logging.disable(self._level)
