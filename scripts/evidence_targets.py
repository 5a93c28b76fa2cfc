"""Which target a measurement ran, and how large it is."""

from __future__ import annotations

import csv
import math
import re
from functools import cache
from pathlib import Path

from scripts.evidence_names import plain_name

DATA = Path(__file__).resolve().parent.parent / "data"
_BILLION = 1e9


def number(text: str | None) -> float | None:
    """Return a finite number, else None."""
    try:
        value = float(str(text).strip())
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def integer(text: str | None) -> int | None:
    """Return a whole number, else None."""
    value = number(text)
    return int(value) if value is not None else None


def scaled(billions: str) -> float | None:
    """Return a count from billions; blank and zero are None."""
    value = number(billions)
    return value * _BILLION if value else None


@cache
def read_target_names(path: str | Path) -> dict[str, tuple[str | None, str]]:
    """Return name → (model id, kind); a missing file is an empty map."""
    if not Path(path).exists():
        return {}
    with open(path, newline="", encoding="utf-8") as stream:
        return {
            row["name"].strip(): (row["models_id"].strip() or None, row["kind"].strip())
            for row in csv.DictReader(stream)
        }


def target_of(name: str, targets: dict[str, tuple[str | None, str]]) -> tuple[str | None, str]:
    """Return (model id, kind), by the names file first, then by the bare name."""
    for key in (name, plain_name(name)):
        if key in targets:
            return targets[key]
    ids = _catalog_ids()
    bare = _bare(plain_name(name))
    # a quantisation in the name does not change the shape
    stem = re.sub(
        r"(nvfp4|mxfp4|fp8|fp4|awq.*|gptq.*|autoround.*|int[48]|[48]bit|q\d.*)$", "", bare
    )
    for key in (bare, stem, stem + "instruct", stem + "it"):
        if key and key in ids:
            return ids[key][0], ""
    return None, ""


def parameters_of(raw: dict[str, str], target_id: str | None) -> tuple[float | None, float | None]:
    """Return total and active parameters: the models table, then the row, then the name."""
    if target_id and target_id in _catalog_ids():
        return _catalog_ids()[target_id][1:]
    total, active = _sizes(raw["target_params_b"])
    if total is None:
        return _name_sizes(raw["target_model"])
    if active == total:
        named = _name_sizes(raw["target_model"])[1]
        active = named if named is not None and named < 0.8 * total else active
    return total, active


def _sizes(text: str) -> tuple[float | None, float | None]:
    """Return total and active parameters from text such as "30.5 (3.3 act)"."""
    total = number(text.split("(")[0])
    active = re.search(r"\(([\d.]+)\s*act", text)
    if total is None:
        return None, None
    return total * _BILLION, (float(active.group(1)) if active else total) * _BILLION


def _name_sizes(name: str) -> tuple[float | None, float | None]:
    """Return parameters from a model's name, such as Qwen3-30B-A3B."""
    total = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)b\b", name.lower().replace("_", "-"))
    active = re.search(r"\ba(\d+(?:\.\d+)?)b\b", name.lower())
    if not total:
        return None, None
    size = float(total.group(1)) * _BILLION
    return size, float(active.group(1)) * _BILLION if active else size


@cache
def _catalog_ids() -> dict[str, tuple[str, float, float]]:
    """Return bare model name → (id, total, active parameters) of the models table, if present."""
    path = DATA / "models.csv"
    if not path.exists():
        return {}
    found: dict[str, tuple[str, float, float]] = {}
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            total = number(row["total_params_b"]) or number(row["nonembed_params_b_computed"])
            active = number(row["active_params_b"]) or total
            if total is None or active is None:
                continue
            entry = (row["model_id"], total * _BILLION, active * _BILLION)
            found.setdefault(_bare(row["model_id"]), entry)
            found[row["model_id"]] = entry
    return found


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.rsplit("/", 1)[-1].lower())
