"""What a measurement ran on: a catalog device, one of a table of more cards, or a class."""

from __future__ import annotations

import csv
import re
from functools import cache
from typing import NamedTuple

from scripts.evidence_rows import DATA, MeasuredRow
from tuner.catalog import find_accelerator, find_model
from tuner.errors import TunerError
from tuner.records.hardware import Accelerator, DeviceKind, Parallel
from tuner.records.methods import Engine
from tuner.records.sources import Grade, Source
from tuner.units import gigabytes, terabytes_per_s, teraflops

#: device taken where a source names none, by engine (assumed)
_GENERIC: dict[Engine | None, str] = {
    Engine.VLLM: "H100-SXM",
    Engine.SGLANG: "H100-SXM",
    Engine.TRTLLM: "H100-SXM",
    Engine.LLAMACPP: "RTX-3090",
    None: "A100-80GB-SXM",
}
#: share of memory that weights may take before another device is added (assumed): servers of many
#: users keep most of it for caches and split a model for speed
_WEIGHT_SHARE = 0.9
_SERVED_WEIGHT_SHARE = 0.25
_SERVERS = frozenset({Engine.VLLM, Engine.SGLANG, Engine.TRTLLM})
_COUNTS = (1, 2, 4, 8, 16)
#: bytes a weight by the kind of format, enough to count devices
_BYTES = ((r"fp8|int8|Q8", 1.0), (r"fp4|awq|gptq|gguf", 0.58), (r"float32", 4.0), (r"", 2.0))


class Device(NamedTuple):
    """A device, how many, and whether both were stated by the source."""

    accelerator: Accelerator
    count: int
    is_stated: bool


@cache
def _more_devices() -> dict[str, Accelerator]:
    with open(DATA / "evidence_devices.csv", newline="", encoding="utf-8") as stream:
        return {row["name"]: _accelerator(row) for row in csv.DictReader(stream)}


def _accelerator(row: dict[str, str]) -> Accelerator:
    return Accelerator(
        name=row["name"],
        vendor="",
        kind=DeviceKind(row["kind"]),
        memory_bytes=gigabytes(float(row["memory_gb"])),
        bandwidth_bytes_per_s=terabytes_per_s(float(row["bandwidth_tb_s"])),
        peak_flops_per_s={"bfloat16": teraflops(float(row["bf16_tflops"]))},
        source=Source(reference="data/evidence_devices.csv", grade=Grade.ASSUMED),
    )


@cache
def accelerator_named(name: str) -> Accelerator | None:
    """Return a device by catalog name, alias, or the table of more cards; None = not known."""
    if not name:
        return None
    if name in _more_devices():
        return _more_devices()[name]
    bare = re.sub(r"\s*(@.*|\(.*\)|\bMax-Q\b|\d+\s?GB)$", "", name)
    for spelling in (name, bare):
        try:
            return find_accelerator(spelling)
        except TunerError:
            continue
    return None


def device_of(row: MeasuredRow) -> Device:
    """Return the device and count of a row; what the source does not say is assumed.

    The count is the stated one, else the hint of the names file when the weights fit in it, else
    the smallest number of devices whose memory holds the weights.
    """
    named = accelerator_named(row.gpu_id or "") or accelerator_named(row.gpu_raw)
    device = named or find_accelerator(_GENERIC[row.engine])
    weights = (row.total_params or 8e9) * _weight_bytes(row)
    share = _SERVED_WEIGHT_SHARE if row.engine in _SERVERS else _WEIGHT_SHARE
    fits = next((n for n in _COUNTS if weights <= share * n * device.memory_bytes), _COUNTS[-1])
    if row.gpu_count is not None and not row.gpu_count_hinted:
        return Device(device, row.gpu_count, named is not None)
    hint = row.gpu_count or 1
    return Device(device, max(hint if hint >= fits else fits, 1), False)


def _weight_bytes(row: MeasuredRow) -> float:
    dtype = row.dtype or "bfloat16"
    if row.dtype is None and row.target_id:
        try:
            dtype = find_model(row.target_id).native_dtype
        except TunerError:
            dtype = "bfloat16"
    return next(size for pattern, size in _BYTES if re.search(pattern, dtype))


def layout_of(row: MeasuredRow, count: int) -> Parallel:
    """Return the split: llama.cpp gives whole layers to each card unless told not to."""
    text = f"{row.sweep} {row.note}".lower()
    if row.engine is Engine.LLAMACPP and "tensor" not in text and "row" not in text.split():
        return Parallel(tensor=1, pipeline=count)
    expert = count if re.search(r"\bep\s*=?\s*\d|expert parallel", text) else 1
    return Parallel(tensor=count, expert=expert)
