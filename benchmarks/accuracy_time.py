"""Processor time of one whole recommendation inside a process."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tuner.advise.recommend import recommend
from tuner.profile import read_profile

PROFILES = Path(__file__).resolve().parent.parent / "profiles"
#: one point of aiconfigurator 0.12, processor seconds on two shared cores (measured once beside
#: this program; it is not installed here)
OTHER_TOOL_S = 0.6
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
            tokens = max(profile.workload.prompt_tokens - turn, 1)
            workload = replace(profile.workload, prompt_tokens=tokens)
            recommend(replace(profile, workload=workload))
            count += 1
    seconds = (time.process_time() - started) / count
    return {
        "recommendations": count,
        "seconds each": seconds,
        "aiconfigurator, seconds a point": OTHER_TOOL_S,
        "times faster": OTHER_TOOL_S / seconds,
    }
