"""Validated values → the records that the rest of the program speaks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from typing import Any

from tuner.profile.observed import tree_numbers
from tuner.records.acceptance import AcceptanceCounts
from tuner.records.workload import (
    CandidateLimits,
    DrafterSpec,
    EngineSpec,
    HardwareSpec,
    LatencyTarget,
    ObservedRow,
    Overrides,
    ParallelSpec,
    Profile,
    SamplingSpec,
    TargetSpec,
    WorkloadSpec,
)

Values = Mapping[str, Any]
#: device taken where only a count is given: the most measured one in the data that ships
DEFAULT_DEVICE = "H100-SXM"
FILE_KEYS = {"config": "config_path", "gguf": "gguf_path"}


def build_profile(values: Values, *, file: str | None, fallback_name: str) -> Profile:
    """Return the record. Only what is given is passed, so that defaults stand in one place."""
    rest: dict[str, Any] = {
        name: values[name]
        for name in ("dtype", "kv_dtype", "objective", "gpu_hour_usd")
        if name in values
    }
    for name, record in _SECTIONS.items():
        if name in values:
            rest[name] = record(**values[name])
    axes = [values.get("parallel", {}).get(axis, 1) for axis in ("tensor", "pipeline", "data")]
    if "hardware" in values or prod(axes) > 1:
        rest["hardware"] = _hardware(values.get("hardware", {}), prod(axes))
    if "workload" in values:
        rest["workload"] = _workload(values["workload"])
    if "target" in values:
        rest["target"] = _target(values["target"], file)
    if "observed" in values:
        rest["observed"] = tuple(_row(row) for row in values["observed"])
    return Profile(
        name=values.get("name", fallback_name), path=file, given=frozenset(_given(values)), **rest
    )


_SECTIONS: dict[str, Any] = {
    "parallel": ParallelSpec,
    "engine": EngineSpec,
    "drafter": DrafterSpec,
    "latency_target": LatencyTarget,
    "candidates": CandidateLimits,
    "overrides": Overrides,
}


def _hardware(stated: Values, ranks: int) -> HardwareSpec:
    """Return the devices; the ranks of the layout say how many where the count is left out."""
    device = {} if {"gpu", "memory_gb"} & stated.keys() else {"gpu": DEFAULT_DEVICE}
    return HardwareSpec(**{"count": ranks, **device, **stated})


def _workload(values: Values) -> WorkloadSpec:
    fields = dict(values)
    sampling = SamplingSpec(**fields.pop("sampling", {}))
    if fields.get("min_p") is None and sampling.min_p is not None:
        fields["min_p"] = sampling.min_p
    if "concurrency" in fields or "request_rate" in fields:
        fields["batch"] = None
    elif "batch" in fields:
        fields["batch"] = tuple((float(batch), share) for batch, share in fields["batch"])
    return WorkloadSpec(sampling=sampling, **fields)


def _target(value: Any, file: str | None) -> TargetSpec:
    if isinstance(value, str):
        return TargetSpec(model_id=value)
    fields = {FILE_KEYS.get(key, key): item for key, item in value.items()}
    for name in FILE_KEYS.values():
        if name in fields:
            fields[name] = _beside(fields[name], file)
    return TargetSpec(**fields)


def _beside(path: str, file: str | None) -> str:
    """A relative path is looked for beside the profile first, then from where the user stands."""
    expanded = os.path.expanduser(path)
    if file is None or os.path.isabs(expanded):
        return expanded
    beside = os.path.join(os.path.dirname(file), expanded)
    return beside if os.path.exists(beside) else expanded


def _row(values: Values) -> ObservedRow:
    fields = dict(values)
    if "tree" in fields:
        fields["tree"] = tree_numbers(fields["tree"])
    if "counts" in fields:
        fields["counts"] = AcceptanceCounts(**fields["counts"])
    return ObservedRow(**fields)


def _given(values: Values, prefix: str = "") -> list[str]:
    """Return the dotted keys that are stated, sections included."""
    keys: list[str] = []
    for name, value in values.items():
        keys.append(f"{prefix}{name}")
        if isinstance(value, dict):
            keys += _given(value, f"{prefix}{name}.")
    return keys
