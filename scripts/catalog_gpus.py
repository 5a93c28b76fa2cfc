"""Turn data/gpus.csv, gpus_more.csv and gpu_aliases.csv into the accelerators table."""

from __future__ import annotations

Row = dict[str, object]

COLUMNS = [
    "name", "vendor", "kind", "memory_gb", "bandwidth_tb_s", "bf16_tflops", "fp8_tflops",
    "int8_tops", "fp4_tflops", "measured_bf16_tflops", "interconnect_gb_s", "interconnect",
    "power_w", "architecture", "memory_type", "source", "grade", "confidence", "note",
]  # fmt: skip

_NUMBERS = {
    "memory_gb": "hbm_gb", "bandwidth_tb_s": "hbm_bw_tb_s", "bf16_tflops": "bf16_dense_tflops",
    "fp8_tflops": "fp8_dense_tflops", "int8_tops": "int8_dense_tops",
    "fp4_tflops": "fp4_dense_tflops", "measured_bf16_tflops": "measured_bf16_mamf_tflops",
    "interconnect_gb_s": "nvlink_gb_s", "power_w": "tdp_w",
}  # fmt: skip

_INTEGRATED = ("DGX-Spark", "Strix-Halo", "Radeon-7", "Radeon-8")


def build(rows: list[dict[str, str]]) -> list[Row]:
    """Return one row for each device with known memory and bandwidth, in file order."""
    return [gpu_row(row) for row in rows if row["hbm_gb"] and row["hbm_bw_tb_s"]]


def gpu_row(row: dict[str, str]) -> Row:
    """Return the table row of one device."""
    numbers: Row = {
        key: float(row[column]) if row[column] else None for key, column in _NUMBERS.items()
    }
    return {
        "name": row["name"],
        "vendor": row["vendor"],
        "kind": row.get("kind") or _kind(row),
        **numbers,
        "interconnect": row["interconnect"] or None,
        "architecture": row["sm_or_arch"] or None,
        "memory_type": row["mem_type"] or None,
        "source": row["source_ref"],
        "grade": row.get("grade") or _grade(row),
        "confidence": row["confidence"],
        "note": row["notes"] or None,
    }


def _kind(row: dict[str, str]) -> str:
    if row["vendor"] == "Apple":
        return "apple"
    if row["vendor"] == "Google":
        return "tpu"
    if row["name"].startswith("Gaudi"):
        return "npu"
    if row["name"].startswith(_INTEGRATED):
        return "integrated"
    consumer = row["name"].startswith(("RTX-3", "RTX-4", "RTX-5", "Arc"))
    return "consumer_gpu" if consumer else "datacenter_gpu"


def _grade(row: dict[str, str]) -> str:
    if row["confidence"] == "low":
        return "assumed"
    text = f"{row['source_ref']} {row['notes']}"
    return "derived" if "DERIVED" in text or "halved" in text else "reported"
