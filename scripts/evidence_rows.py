"""One published measurement: what was run, where, and the number."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from scripts.evidence_names import (
    USUAL_LENGTHS,
    USUAL_TREES,
    GpuName,
    dtypes_of,
    engine_of,
    is_random_text,
    method_of,
    tasks_of,
    version_of,
)
from scripts.evidence_targets import (
    DATA,
    integer,
    number,
    parameters_of,
    read_target_names,
    scaled,
    target_of,
)
from tuner.records.acceptance import TargetClass
from tuner.records.methods import Engine, Method, Task

#: the one source that does not name its GPU in the rows but elsewhere
_SPECBUNDLE = "SpecBundle"


COLUMNS = [
    "id",
    "source",
    "source_ref",
    "source_kind",
    "trust",
    "method",
    "target_model",
    "target_params_b",
    "draft_model",
    "draft_params_b",
    "engine",
    "engine_version",
    "gpu",
    "n_gpus",
    "dtype",
    "task",
    "temperature",
    "batch",
    "draft_len_k",
    "num_steps",
    "topk",
    "num_draft_tokens",
    "tree",
    "context_len",
    "metric",
    "value",
    "sweep",
    "note",
    "rate",
    "use",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One row of ``measurements.csv`` in the product's words. None = not stated."""

    id: str
    source: str
    source_ref: str
    source_kind: str
    trust: str
    method: Method | None
    method_raw: str
    #: False for adaptive, oracle, lossy and unnamed methods
    is_static: bool
    target_raw: str
    target_id: str | None
    target_kind: str
    total_params: float | None
    active_params: float | None
    draft_model: str | None
    draft_params: float | None
    engine: Engine | None
    engine_raw: str
    engine_version: str | None
    gpu_id: str | None
    gpu_raw: str
    gpu_count: int | None
    #: the count came from the names file, not from the row
    gpu_count_hinted: bool
    gpu_note: str
    dtype: str | None
    kv_dtype: str | None
    dtype_raw: str
    #: class of text, None when mixed or not known
    task: Task | None
    #: all classes of a mix, equal shares
    tasks: tuple[Task, ...]
    task_raw: str
    is_random_text: bool
    temperature: float | None
    batch: float | None
    #: draft tokens of a chain, depth of a tree; 0 = plain; None = not stated
    k: int | None
    is_tree: bool
    #: (draft steps, branches, verified tokens) where the tree states them
    tree: tuple[int, int, int] | None
    tree_raw: str
    #: tokens of context at which decoding ran, where stated; a server's limit is not one
    context_tokens: float | None
    context_raw: str
    metric: str
    value: float
    sweep: str
    note: str
    rate: float | None
    use: str
    #: the row as it stands in the file
    raw: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def setting(self) -> tuple[int, tuple[int, int, int] | None] | None:
        """K (or depth) and tree of the run; None where neither is known.

        Papers and leaderboards on the reference implementations often say "default"; the default
        of that implementation then stands in.
        """
        if self.is_tree and self.tree is not None:
            return (self.tree[0], self.tree) if self.tree[0] >= 1 else None
        if not self.is_tree and self.k:
            return self.k, None
        if self.method is None or self.engine_raw != "transformers":
            return None
        tree = USUAL_TREES.get(self.method)
        if tree is not None:
            return tree[0], tree
        length = USUAL_LENGTHS.get(self.method)
        return None if length is None else (length, None)

    @property
    def is_plain(self) -> bool:
        """Whether speculation was off."""
        return self.method is Method.NONE

    def target_class(self) -> TargetClass | None:
        """Return what the acceptance prior asks about the target; None without a size."""
        if self.total_params is None:
            return None
        active = self.active_params or self.total_params
        return TargetClass(
            target_id=self.target_id,
            total_params=self.total_params,
            active_params=active,
            is_moe=self.target_kind == "moe" or active < 0.8 * self.total_params,
            is_hybrid=self.target_kind == "hybrid",
        )


def read_measurements(
    path: str | Path = DATA / "measurements.csv",
    *,
    target_names: str | Path = DATA / "target_names.csv",
    gpu_names: str | Path = DATA / "gpu_names.csv",
) -> list[MeasuredRow]:
    """Read a file with the columns of ``measurements.csv``; rows without a number are left out.

    Names that the two name files do not hold stay usable: sizes come from the row itself.
    """
    targets = read_target_names(target_names)
    gpus = read_gpu_names(gpu_names)
    with open(path, newline="", encoding="utf-8") as stream:
        rows = (parse_row(raw, targets, gpus) for raw in csv.DictReader(stream))
        return [row for row in rows if row is not None]


@cache
def read_gpu_names(path: str | Path) -> dict[str, GpuName]:
    """Return hardware name → accelerator; a missing file is an empty map."""
    if not Path(path).exists():
        return {}
    with open(path, newline="", encoding="utf-8") as stream:
        return {
            row["name"].strip(): GpuName(
                accelerator=row["gpus_name"].strip() or None,
                count_hint=integer(row["count_hint"]),
                note=row["note"].strip(),
            )
            for row in csv.DictReader(stream)
        }


def _tree(raw: dict[str, str]) -> tuple[bool, tuple[int, int, int] | None]:
    steps, topk = integer(raw["num_steps"]), integer(raw["topk"])
    nodes, depth = integer(raw["num_draft_tokens"]), integer(raw["draft_len_k"])
    if topk is not None and topk > 1:
        if steps is None or nodes is None:
            return True, None
        return True, (steps, topk, nodes)
    text = raw["tree"].lower()
    if not text or "chain" in text or "assumed" in text:
        return False, None
    dynamic = re.search(r"total_tokens=(\d+)(?:\s+depth=(\d+))?\s+topk=(\d+)", text)
    if dynamic:
        # EAGLE's total_tokens counts the root; its depth is one step more than the loop runs
        levels = int(dynamic.group(2)) if dynamic.group(2) else depth
        return True, (levels, int(dynamic.group(3)), int(dynamic.group(1))) if levels else None
    return True, None


def _context(raw: dict[str, str], engine: Engine | None) -> float | None:
    """Return tokens of context where decoding ran; a server's limit is not a context."""
    value = number(raw["context_len"])
    task = raw["task"].lower()
    lengths = re.search(r"isl (\d+)(?: osl (\d+))?", task)
    if lengths:
        return float(lengths.group(1)) + float(lengths.group(2) or 0) / 2
    sizes = re.search(r"\b(\d+)(k?)(?: in)?(?:/|, )(\d+)(k?)", task)
    if sizes and ("random" in task or re.fullmatch(r"\d+k?/\d+k?", task)):
        first, last = (
            float(sizes.group(at)) * (1024 if sizes.group(at + 1) else 1) for at in (1, 3)
        )
        return first + last / 2
    if value is None:
        return None
    is_limit = (
        engine is Engine.LLAMACPP
        and value >= 4096
        and math.log2(value).is_integer()
        and not re.search(r"filler|16k prompts", task)
    ) or value == 163840
    if is_limit and not (raw["source"].startswith("llama.cpp issue") and value < 8192):
        return None
    return value


def parse_row(
    raw: dict[str, str],
    targets: dict[str, tuple[str | None, str]],
    gpus: dict[str, GpuName],
) -> MeasuredRow | None:
    """Return the row in the product's words; None when it holds no number."""
    raw = {key: (value or "").strip() for key, value in raw.items() if key is not None}
    for column in COLUMNS:
        raw.setdefault(column, "")
    value = number(raw["value"])
    if value is None:
        return None
    method, static = method_of(raw["method"])
    engine = engine_of(raw["engine"])
    target_id, kind = target_of(raw["target_model"], targets)
    total, active = parameters_of(raw, target_id)
    is_specbundle = raw["source"].startswith(_SPECBUNDLE)
    gpu = gpus.get(raw["gpu"]) if raw["gpu"] or is_specbundle else None
    count = integer(raw["n_gpus"])
    dtype, kv_dtype = dtypes_of(raw["dtype"], raw["target_model"])
    tasks = tasks_of(raw["task"])
    is_tree, tree = _tree(raw)
    steps = integer(raw["num_steps"])
    return MeasuredRow(
        id=raw["id"],
        source=raw["source"],
        source_ref=raw["source_ref"],
        source_kind=raw["source_kind"],
        trust=raw["trust"],
        method=method,
        method_raw=raw["method"],
        is_static=static,
        target_raw=raw["target_model"],
        target_id=target_id,
        target_kind=kind,
        total_params=total,
        active_params=active,
        draft_model=raw["draft_model"] or None,
        draft_params=scaled(raw["draft_params_b"]),
        engine=engine,
        engine_raw=raw["engine"],
        engine_version=version_of(raw["engine"], raw["engine_version"]),
        gpu_id=gpu.accelerator if gpu else None,
        gpu_raw=raw["gpu"],
        gpu_count=count if count is not None else (gpu.count_hint if gpu else None),
        gpu_count_hinted=count is None,
        gpu_note=gpu.note if gpu else "",
        dtype=dtype,
        kv_dtype=kv_dtype,
        dtype_raw=raw["dtype"],
        task=tasks[0] if len(tasks) == 1 else None,
        tasks=tasks,
        task_raw=raw["task"],
        is_random_text=is_random_text(raw["task"]),
        temperature=number(raw["temperature"]),
        batch=None if raw["rate"] else number(raw["batch"]),
        k=0
        if method is Method.NONE
        else (steps if steps is not None else integer(raw["draft_len_k"])),
        is_tree=is_tree,
        tree=tree,
        tree_raw=raw["tree"],
        context_tokens=_context(raw, engine),
        context_raw=raw["context_len"],
        metric=raw["metric"],
        value=value,
        sweep=raw["sweep"],
        note=raw["note"],
        rate=number(raw["rate"]),
        use=raw["use"],
        raw=raw,
    )


def by_source(rows: Iterable[MeasuredRow]) -> dict[str, list[MeasuredRow]]:
    """Group rows by source, in order of appearance."""
    groups: dict[str, list[MeasuredRow]] = {}
    for row in rows:
        groups.setdefault(row.source, []).append(row)
    return groups
