"""Turn data/gpus.csv, gpus_more.csv and gpu_aliases.csv into the accelerators table."""

from __future__ import annotations

import re

from catalog_text import in_our_words

from tuner.catalog.accelerators import plain_name

Row = dict[str, object]

COLUMNS = [
    "name", "vendor", "kind", "memory_gb", "bandwidth_tb_s", "bf16_tflops", "fp8_tflops",
    "int8_tops", "fp4_tflops", "measured_bf16_tflops", "interconnect_gb_s", "interconnect",
    "power_w", "architecture", "memory_type", "source", "grade", "grades", "confidence", "note",
]  # fmt: skip

_NUMBERS = {
    "memory_gb": "hbm_gb", "bandwidth_tb_s": "hbm_bw_tb_s", "bf16_tflops": "bf16_dense_tflops",
    "fp8_tflops": "fp8_dense_tflops", "int8_tops": "int8_dense_tops",
    "fp4_tflops": "fp4_dense_tflops", "measured_bf16_tflops": "measured_bf16_mamf_tflops",
    "interconnect_gb_s": "nvlink_gb_s", "power_w": "tdp_w",
}  # fmt: skip

#: peaks that data/gpus.csv says were derived or recalled, where memory and bandwidth were read
_COMPUTE_GRADES = {
    "RTX-3090": "derived",
    "RTX-5090": "derived",
    "H200-NVL": "derived",
    "A10G": "assumed",
    "H100-NVL": "assumed",
    "DGX-Spark-GB10": "assumed",
}

_INTEGRATED = ("DGX-Spark", "Strix-Halo", "Radeon-7", "Radeon-8")


def build(rows: list[dict[str, str]], more: list[dict[str, str]]) -> list[Row]:
    """Return one row for each device with known memory and bandwidth, in file order.

    A row of ``more`` with a known name fills blanks of that device and adds its source.
    """
    merged: dict[str, dict[str, str]] = {row["name"]: dict(row) for row in rows}
    for extra in more:
        own = merged.get(extra["name"])
        merged[extra["name"]] = extra if own is None else _filled(own, extra)
    return [gpu_row(row) for row in merged.values() if row["hbm_gb"] and row["hbm_bw_tb_s"]]


def _filled(own: dict[str, str], extra: dict[str, str]) -> dict[str, str]:
    filled = {key: own.get(key) or value for key, value in extra.items()}
    filled["source_ref"] = f"{own['source_ref']}; {extra['source_ref']}"
    filled["notes"] = "; ".join(text for text in (own["notes"], extra["notes"]) if text)
    was_known = own["hbm_gb"] and own["hbm_bw_tb_s"]
    filled["grade"] = _grade(own) if was_known else extra["grade"]
    filled["peak_grade"] = own.get("peak_grade") or extra["peak_grade"] or extra["grade"]
    return filled


def plain_names(rows: list[Row], aliases: list[dict[str, str]]) -> dict[str, list[object]]:
    """Return the device and the note on its alias by plain spelling; true names come first."""
    found: dict[str, list[object]] = {plain_name(str(r["name"])): [r["name"], None] for r in rows}
    for alias in aliases:
        entry = [alias["name"], alias["note"] or None]
        found.setdefault(plain_name(alias["alias"]), entry)
    return found


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
        "source": in_our_words(row["source_ref"]),
        "grade": row.get("grade") or _grade(row),
        "grades": _grades(row, numbers),
        "confidence": row["confidence"],
        "note": in_our_words(row["notes"]),
    }


def _grades(row: dict[str, str], numbers: Row) -> dict[str, str]:
    """Return the grade of each number whose grade is not the row's."""
    text = row["source_ref"]
    found: dict[str, str] = {}
    if re.search(r"(TDP|nvlink and TDP|interconnect and TDP|int8 and TDP) memory", text):
        found["power_w"] = "assumed"
    if re.search(r"(nvlink|nvlink bridge|interconnect)( and TDP)? memory", text):
        found["interconnect_gb_s"] = "assumed"
    if "TDP as" in text:
        found["power_w"] = "derived"
    compute = row.get("peak_grade") or _COMPUTE_GRADES.get(row["name"])
    if compute:
        found |= dict.fromkeys(("bf16_tflops", "fp8_tflops", "int8_tops", "fp4_tflops"), compute)
    found["measured_bf16_tflops"] = "measured"
    return {key: grade for key, grade in found.items() if numbers[key] is not None}


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
    return "derived" if "halved" in text else "reported"
