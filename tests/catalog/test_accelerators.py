"""Devices: found by many spellings, plausible, and conflicts kept with their names."""

from __future__ import annotations

import pytest

from tuner.catalog import accelerator_names, find_accelerator
from tuner.catalog.tables import read_document, read_rows
from tuner.errors import MissingDataError
from tuner.records.hardware import DeviceKind

ORDER = ("bfloat16", "fp8", "fp4")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("H100", "H100-SXM"),
        ("h100-sxm", "H100-SXM"),
        ("H100 80GB", "H100-SXM"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("H100 PCIe", "H100-PCIe"),
        ("A100", "A100-80GB-SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB-SXM"),
        ("A100 40GB PCIe", "A100-40GB-PCIe"),
        ("4090", "RTX-4090"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("rtx4090", "RTX-4090"),
        ("RTX 3080 10GB", "RTX-3080-10GB"),
        ("RTX A6000", "RTX-A6000"),
        ("RTX 5060 Ti 16GB", "RTX-5060-Ti-16GB"),
        ("Radeon AI PRO R9700 32GB", "R9700"),
        ("Tesla P40 24GB", "P40"),
        ("Tesla V100 32GB", "V100-32GB"),
        ("AMD Ryzen AI Max+ 395", "Strix-Halo"),
        ("TPU-v4", "TPU-v4"),
        ("Apple M4 Max", "M4-Max-40c"),
        ("RX 7900 XTX", "RX-7900-XTX"),
        ("DGX Spark", "DGX-Spark-GB10"),
    ],
)
def test_spellings(asked: str, found: str) -> None:
    assert find_accelerator(asked).name == found


@pytest.mark.parametrize(("asked", "gigabytes"), [("Apple M4 24GB", 24), ("M3 Ultra 96GB", 96)])
def test_a_size_replaces_shared_memory(asked: str, gigabytes: float) -> None:
    assert find_accelerator(asked).memory_bytes == gigabytes * 1e9


def test_a_size_that_the_card_never_had_is_unknown() -> None:
    with pytest.raises(MissingDataError, match="RTX-4090"):
        find_accelerator("RTX 4090 48GB")


def test_an_open_alias_says_what_was_assumed() -> None:
    source = find_accelerator("H100").source
    assert source is not None
    assert source.note is not None
    assert "SXM assumed" in source.note


@pytest.mark.parametrize("name", ["", "H101", "my gpu", "9" * 4_000])
def test_unknown_devices_say_what_to_state(name: str) -> None:
    with pytest.raises(MissingDataError) as caught:
        find_accelerator(name)
    assert "bandwidth_tb_s" in caught.value.message


@pytest.mark.parametrize("name", accelerator_names())
def test_numbers_are_possible(name: str) -> None:
    device = find_accelerator(name)
    gigabytes = device.memory_bytes / 1e9
    assert 8 <= gigabytes <= 600
    terabytes_per_s = device.bandwidth_bytes_per_s / 1e12
    assert 0.05 <= terabytes_per_s <= 12
    # no device reads all of its memory more than 100 times or less than twice a second
    assert 1.5 <= device.bandwidth_bytes_per_s / device.memory_bytes <= 100
    for peak in device.peak_flops_per_s.values():
        assert 1e12 <= peak <= 2e16
    known = [device.peak_flops_per_s[d] for d in ORDER if d in device.peak_flops_per_s]
    assert known == sorted(known), "narrower formats are not slower"
    if device.measured_bf16_flops_per_s is not None:
        share = device.measured_bf16_flops_per_s / device.peak_flops_per_s["bfloat16"]
        assert 0.5 <= share <= 0.95  # 51 to 87 % of the data sheet in stas00/ml-engineering
    if device.power_w is not None:
        assert 15 <= device.power_w <= 1500
    if device.interconnect_bytes_per_s is not None:
        assert 50e9 <= device.interconnect_bytes_per_s <= 2e12


@pytest.mark.parametrize("name", accelerator_names())
def test_every_device_names_its_origin(name: str) -> None:
    row = read_rows("accelerators")[name]
    assert len(row["source"]) > 5
    assert row["grade"] in ("reported", "derived", "assumed")
    assert row["confidence"] in ("high", "medium", "low")
    if row["confidence"] == "low" and not row["grades"]:
        assert row["grade"] == "assumed"
    numbers = {key for key, value in row.items() if isinstance(value, float)}
    assert set(row["grades"]) <= numbers
    assert DeviceKind(row["kind"])


def test_measured_ceilings_are_graded_measured() -> None:
    for row in read_rows("accelerators").values():
        if row["measured_bf16_tflops"] is not None:
            assert row["grades"]["measured_bf16_tflops"] == "measured"


@pytest.mark.parametrize("name", ["B200-SXM", "Gaudi-3", "MI355X", "RTX-5080", "RTX-6000-Ada"])
def test_known_conflicts_keep_both_values(name: str) -> None:
    other = {
        "B200-SXM": "8.0",
        "Gaudi-3": "1835",
        "MI355X": "2300",
        "RTX-5080": "896",
        "RTX-6000-Ada": "182",
    }
    assert other[name] in read_rows("accelerators")[name]["note"]


def test_aliases_lead_to_known_devices() -> None:
    names = set(accelerator_names())
    for alias, name, _ in read_document("accelerators")["aliases"]:
        assert name in names, alias
        assert find_accelerator(alias).name == name
