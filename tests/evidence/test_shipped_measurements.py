"""The shipped table as a whole: counts that documents rely on, names that lead somewhere."""

from __future__ import annotations

from functools import cache

from scripts.evidence import cells, read_measurements, speed_rows
from scripts.evidence_hardware import accelerator_named, device_of
from tuner.records.hardware import DeviceKind


@cache
def rows():
    return read_measurements()


def test_every_row_has_a_number_and_a_source() -> None:
    assert len(rows()) == 4925
    assert all(row.source for row in rows())
    assert len({row.id for row in rows()}) == len(rows())


def test_about_two_thousand_rows_stand_beside_a_plain_run() -> None:
    # the collector of the table counted about 240 losing rows among 2,000
    speedups = [fast.speedup for fast in speed_rows(rows()) if fast.speedup is not None]
    assert 1900 <= len(speedups) <= 2300
    assert 200 <= sum(value < 0.97 for value in speedups) <= 260


def test_cells_cover_those_that_the_simple_rules_were_first_scored_on() -> None:
    # 194 cells without ratios at equal concurrency; those add some
    found = cells(rows())
    assert len(found) >= 194
    assert sum(cell.metric != "throughput_ratio" for cell in found) == 194


def test_every_named_device_is_found() -> None:
    named = {row.gpu_raw for row in rows() if row.gpu_raw}
    assert {name for name in named if accelerator_named(name) is None} <= {
        row.gpu_raw for row in rows() if row.gpu_id
    }


def test_a_cpu_is_a_cpu() -> None:
    row = next(row for row in rows() if row.gpu_raw.startswith("CPU"))
    assert device_of(row).accelerator.kind is DeviceKind.CPU


def test_weights_fit_on_the_devices_that_are_assumed() -> None:
    row = next(row for row in rows() if row.target_raw == "Kimi-K2-Instruct" and not row.gpu_raw)
    device = device_of(row)
    assert row.total_params is not None
    assert device.count * device.accelerator.memory_bytes >= row.total_params
