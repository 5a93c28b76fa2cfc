"""Processor time of one whole recommendation inside a process, beside one point of aiconfigurator.

Every recommendation is asked with a prompt length that was not asked before, so nothing that
depends on the load is remembered. What depends on target and devices alone is: a process that
answers one profile pays for it once, as the rival pays for reading its tables, which is left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tuner.advise.recommend import recommend
from tuner.advise.resolve import resolve
from tuner.catalog.aiconfigurator import is_installed, plain_steps
from tuner.profile import read_profile

PROFILES = Path(__file__).resolve().parent.parent / "profiles"
#: one point of aiconfigurator 0.12, processor seconds on two shared cores (measured once beside
#: this program; used where the package is not installed)
OTHER_TOOL_S = 0.6
#: a profile that aiconfigurator knows, and loads that nobody asked it for before
_KNOWN_PROFILE = "chat-llama-3.3-70b"
_OTHER_BATCHES = (7, 19, 43)
_ROUNDS = 5


def one_recommendation() -> dict[str, object]:
    """Return the mean over the shipped profiles, each asked with several prompt lengths."""
    profiles = [read_profile(str(path)) for path in sorted(PROFILES.glob("*.yaml"))]
    for profile in profiles:
        recommend(profile)  # tables are read and cached once
    count = 0
    started = time.process_time()
    for turn in range(_ROUNDS):
        for profile in profiles:
            tokens = profile.workload.prompt_tokens + 1 + turn
            workload = replace(profile.workload, prompt_tokens=tokens)
            recommend(replace(profile, workload=workload))
            count += 1
    seconds = (time.process_time() - started) / count
    same_run = is_installed()
    other_s = _other_tool() if same_run else OTHER_TOOL_S
    return {
        "recommendations": count,
        "seconds each": seconds,
        "aiconfigurator, seconds a point": other_s,
        "aiconfigurator measured in this run": same_run,
        "times faster": other_s / seconds,
    }


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
    print(one_recommendation())
