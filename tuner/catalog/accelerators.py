"""Known devices by name, whatever the spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tuner.catalog.names import nearest, quoted
from tuner.catalog.tables import read_document, read_rows, row_source
from tuner.errors import MissingDataError
from tuner.records.hardware import Accelerator, DeviceKind
from tuner.units import gigabytes, terabytes_per_s, teraflops

_TABLE = "accelerators"

#: words and characters that say nothing about which device it is
_NOISE = ("nvidia", "geforce", "radeon", "apple", "google", "intel", "amd ",
          "tesla", "igpu", " gpu", " ", "_", "-", "/", "(", ")")  # fmt: skip
_MEMORY = r"[\s_\-](\d+)\s?gi?b?\b(\s?(hbm|gddr)\w*)?"
_PEAKS = {"bfloat16": "bf16_tflops", "fp8": "fp8_tflops", "int8": "int8_tops", "fp4": "fp4_tflops"}


def accelerator_names() -> tuple[str, ...]:
    """Return the names of the known devices, in file order."""
    return tuple(read_rows(_TABLE))


@cache
def find_accelerator(name: str) -> Accelerator:
    """Return a device by name or alias; case, spaces, hyphens and vendor words do not matter.

    Where an alias leaves something open (PCIe or SXM), the note of ``source`` says what was
    assumed. A size that differs from the catalog's ("M4 Max 64GB") replaces the memory of a device
    whose memory is shared with the host.

    Raises
    ------
    MissingDataError
        The device is not known; the message names the nearest ones and the numbers to state.
    """
    index = read_document(_TABLE)["plain"]
    if entry := index.get(plain_name(name)):
        return _device(entry)
    sized = re.search(_MEMORY, name, re.IGNORECASE)
    entry = index.get(plain_name(name.replace(sized.group(), " "))) if sized else None
    if sized and entry:
        device = _device(entry)
        memory_bytes = gigabytes(float(sized.group(1)))
        if device.kind in (DeviceKind.APPLE, DeviceKind.INTEGRATED):
            return replace(device, memory_bytes=memory_bytes)
        if memory_bytes == device.memory_bytes:
            return device
    close = nearest(name, (*read_rows(_TABLE), *(alias for alias, _, _ in _aliases())))
    hint = f" Nearest known: {', '.join(close)}." if close else ""
    raise MissingDataError(
        f"the device {quoted(name)} is not in the catalog.{hint} State its data sheet instead: "
        "hardware: {memory_gb: 32, bandwidth_tb_s: 1.8, bf16_tflops: 210}."
    )


def plain_name(name: str) -> str:
    """Return a name without what spellings differ in; the keys of the generated index."""
    text = name.casefold()
    for noise in _NOISE:
        text = text.replace(noise, "")
    return text


def _aliases() -> list[tuple[str, str, str | None]]:
    return [(alias, key, note) for alias, key, note in read_document(_TABLE)["aliases"]]


def _device(entry: Sequence[str | None]) -> Accelerator:
    key, note = str(entry[0]), entry[1]
    device = _accelerator(read_rows(_TABLE)[key])
    if note is None or device.source is None:
        return device
    notes = "; ".join(text for text in (note, device.source.note) if text)
    return replace(device, source=replace(device.source, note=notes))


def _accelerator(row: dict[str, Any]) -> Accelerator:
    measured = row["measured_bf16_tflops"]
    interconnect = row["interconnect_gb_s"]
    return Accelerator(
        name=row["name"],
        vendor=row["vendor"],
        kind=DeviceKind(row["kind"]),
        memory_bytes=gigabytes(row["memory_gb"]),
        bandwidth_bytes_per_s=terabytes_per_s(row["bandwidth_tb_s"]),
        peak_flops_per_s={
            dtype: teraflops(row[column])
            for dtype, column in _PEAKS.items()
            if row[column] is not None
        },
        measured_bf16_flops_per_s=None if measured is None else teraflops(measured),
        interconnect_bytes_per_s=None if interconnect is None else gigabytes(interconnect),
        architecture=row["architecture"],
        power_w=row["power_w"],
        source=row_source(row),
    )
