"""Processor time of one whole recommendation inside a process, beside one point of aiconfigurator.

Every recommendation is of a target, device and load that the process has not seen together: the
device is described by numbers and a little slower each time, and prompts are a token shorter. What
is kept from before: the tables that ship, the sizes of layers that follow from a target or drafter
alone, the level of acceptance at temperature 0 of a target, drafter, task and engine, and tables of
acceptance over temperature by verify rule and sampler. Reading the profile is left out, as the
rival's reading of its tables is. The figure is the median over the shipped profiles of each one's
median.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tuner.advise.recommend import recommend
from tuner.advise.resolve import resolve
from tuner.catalog import find_accelerator
from tuner.catalog.aiconfigurator import is_installed, plain_steps
from tuner.profile import read_profile
from tuner.records.workload import HardwareSpec, Profile
from tuner.units import GIGA, TERA

PROFILES = Path(__file__).resolve().parent.parent / "profiles"
#: one point of aiconfigurator 0.12, processor seconds on two shared cores (measured once beside
#: this program; used where the package is not installed)
OTHER_TOOL_S = 0.6
#: a profile that aiconfigurator knows, and loads that nobody asked it for before
_KNOWN_PROFILE = "chat-llama-3.3-70b"
_OTHER_BATCHES = (7, 19, 43)
_ROUNDS = 9
#: how much slower each unseen device is than the one before
_SLOWER = 0.001


def one_recommendation() -> dict[str, object]:
    """Return the time of a recommendation for profiles that were not seen before."""
    profiles = [read_profile(str(path)) for path in sorted(PROFILES.glob("*.yaml"))]
    for profile in profiles:
        recommend(profile)  # the tables are read
    by_profile = {
        profile.name: statistics.median(
            _seconds(unseen(profile, turn)) for turn in range(1, _ROUNDS + 1)
        )
        for profile in profiles
    }
    seconds = statistics.median(by_profile.values())
    same_run = is_installed()
    other_s = _other_tool() if same_run else OTHER_TOOL_S
    return {
        "recommendations": _ROUNDS * len(profiles),
        "seconds each": seconds,
        "seconds by profile": by_profile,
        "aiconfigurator, seconds a point": other_s,
        "aiconfigurator measured in this run": same_run,
        "times faster": other_s / seconds,
    }


def unseen(profile: Profile, turn: int) -> Profile:
    """Return a profile like this one on a device and with a context of its own."""
    spec, workload = profile.hardware, profile.workload
    assert spec is not None
    assert spec.gpu is not None
    device = find_accelerator(spec.gpu)
    flops = device.peak_flops_per_s.get("bfloat16")
    hardware = HardwareSpec(
        count=spec.count,
        memory_gb=device.memory_bytes / GIGA,
        bandwidth_tb_s=device.bandwidth_bytes_per_s / TERA * (1.0 - _SLOWER * turn),
        bf16_tflops=None if flops is None else flops / TERA,
    )
    shorter = replace(workload, prompt_tokens=workload.prompt_tokens - turn)
    return replace(profile, hardware=hardware, workload=shorter)


def _seconds(profile: Profile) -> float:
    started = time.process_time()
    recommend(profile)
    return time.process_time() - started


def when_measured(speed: Mapping[str, object]) -> str:
    """Say whether the rival was measured in the same run."""
    here = speed["aiconfigurator measured in this run"]
    return "same run" if here else "measured once, not in this run"


def _other_tool() -> float:
    """Return processor seconds of aiconfigurator for one plain step of one target and load."""
    setup = resolve(read_profile(_KNOWN_PROFILE)).setup
    assert setup is not None
    plain_steps(setup, prompt_tokens=1024, batches=(1,))  # tables are read once
    started = time.process_time()
    plain_steps(setup, prompt_tokens=1024, batches=_OTHER_BATCHES)
    return (time.process_time() - started) / len(_OTHER_BATCHES)


if __name__ == "__main__":
    for name, value in one_recommendation().items():
        print(f"{name}: {value}")
