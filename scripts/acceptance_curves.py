"""Published acceptance lengths: one cell a setup, with τ at each K that was run."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scripts.evidence import DATA, MeasuredRow, method_of, tasks_of
from scripts.evidence_rows import parse_row, read_target_names
from tuner.acceptance.positions import FloatArray
from tuner.records.acceptance import TargetClass
from tuner.records.methods import Engine, Method, Task

#: How far each way of reading a number is trusted, as a weight (data README: V1 first-hand,
#: V2 quoted, V3 read off a chart, COMPUTED from traces; the weights are assumed).
TRUST = {"V1": 1.0, "COMPUTED": 0.8, "V2": 0.6, "V3": 0.4}
LONGEST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceCell:
    """All τ of one setup: same source, target, drafter, method, text, temperature and context."""

    source: str
    target: str
    target_class: TargetClass
    method: Method
    drafter: str | None
    draft_params: float | None
    tasks: tuple[Task, ...]
    data_set: str
    temperature: float | None
    context_tokens: float
    engine: Engine | None
    weight: float
    is_tree: bool
    #: K → mean τ
    lengths: dict[int, float]
    ids: tuple[str, ...]
    is_random_text: bool = False
    #: τ was inferred from a speed or a tree (``scripts.acceptance_implied``), not counted
    is_implied: bool = False

    @property
    def task(self) -> Task | None:
        """The class of text, None for mixes and texts not named."""
        return self.tasks[0] if len(self.tasks) == 1 else None


#: a target that no file describes counts as a dense model of the reference size
UNKNOWN_TARGET = TargetClass(target_id=None, total_params=30e9, active_params=30e9)


def cells_of(rows: Iterable[MeasuredRow]) -> list[AcceptanceCell]:
    """Group the rows that state acceptance; metrics other than τ are turned into τ at some K."""
    groups: dict[tuple[object, ...], list[tuple[int, float, MeasuredRow]]] = defaultdict(list)
    for row in rows:
        found = _length(row)
        if found is not None:
            groups[_key(row)].append((*found, row))
    cells = [_cell(key, entries) for key, entries in groups.items()]
    return [cell for cell in cells if cell.lengths]


def _key(row: MeasuredRow) -> tuple[object, ...]:
    kind = "tau" if row.metric == "tau" else re.sub(r"\d+$", "", row.metric)
    context = row.context_tokens or 1024.0
    return (
        row.source, row.target_id or row.target_raw, row.draft_model, row.method_raw, row.task_raw,
        row.temperature, row.is_tree, context, row.dtype_raw, kind,
        None if kind == "tau" else row.sweep or row.batch,
    )  # fmt: skip


def _length(row: MeasuredRow) -> tuple[int, float] | None:
    """Return (K, number) of a row that speaks of acceptance; survival is turned later."""
    if row.use or row.method in (None, Method.NONE) or not row.is_static:
        return None
    if row.metric == "tau":
        return (row.k, row.value) if row.k and row.value >= 1.0 else None
    position = re.fullmatch(r"(?:survival|conditional)_pos(\d+)", row.metric)
    if position:
        return int(position.group(1)), row.value
    if row.metric == "alpha" and "lossy" not in row.note.lower():
        if row.source.startswith("Leviathan"):
            return 1, row.value
        # llama.cpp's drafts vary in length, so its accepted ÷ drafted gives no τ at a K
        if row.k and "accepted" in row.note.lower() and row.engine is not Engine.LLAMACPP:
            return row.k, 1.0 + row.k * row.value
    return None


def _cell(
    key: tuple[object, ...], entries: Sequence[tuple[int, float, MeasuredRow]]
) -> AcceptanceCell:
    row = entries[0][2]
    by_k: dict[int, list[float]] = defaultdict(list)
    for k, value, _ in entries:
        by_k[k].append(value)
    numbers = {k: float(np.mean(values)) for k, values in sorted(by_k.items())}
    kind = str(key[-2])
    if kind in ("survival_pos", "conditional_pos"):
        lengths = _from_positions(numbers, is_conditional=kind == "conditional_pos")
    elif kind == "alpha" and row.source.startswith("Leviathan"):
        lengths = {1: 1.0 + numbers[1]}
    else:
        lengths = numbers
    return AcceptanceCell(
        source=row.source,
        target=str(key[1]),
        target_class=row.target_class() or UNKNOWN_TARGET,
        method=row.method or Method.NONE,
        drafter=_drafter(row),
        draft_params=row.draft_params,
        tasks=row.tasks,
        data_set=row.task_raw,
        temperature=row.temperature,
        context_tokens=row.context_tokens or 1024.0,
        engine=row.engine,
        weight=TRUST.get(row.trust, 0.4),
        is_tree=row.is_tree,
        lengths={k: t for k, t in lengths.items() if k <= LONGEST and t < k + 1.0},
        ids=tuple(entry[2].id for entry in entries),
        is_random_text=row.is_random_text,
    )


def _drafter(row: MeasuredRow) -> str | None:
    """Return the drafter's name; variants counted as one method keep theirs in it."""
    if row.method is not None and row.method_raw.lower() not in (row.method.value, ""):
        return f"{row.draft_model or 'drafter'} ({row.method_raw.lower()})"
    return row.draft_model


def _from_positions(numbers: dict[int, float], *, is_conditional: bool) -> dict[int, float]:
    """Return τ by K of rates by position, as far as positions follow each other from 1."""
    length, survival, found = 1.0, 1.0, {}
    for position in range(1, len(numbers) + 1):
        if position not in numbers:
            break
        value = min(numbers[position], 1.0)
        survival = survival * value if is_conditional else value
        length += survival
        found[position] = length
    return found


#: origins in ``acceptance.csv`` whose rows stand in ``measurements.csv`` too, or are trees
_ELSEWHERE = re.compile(
    r"SpecForge@|AngelSlim|Llama4-Maverick|Llama-4-Maverick|nebius|Spec-Bench|Qwen3\.5-397B"
)


def more_rows(path: Path = DATA / "acceptance.csv") -> list[MeasuredRow]:
    """Read the chains of ``acceptance.csv`` that ``measurements.csv`` does not hold."""
    targets = read_target_names(DATA / "target_names.csv")
    rows = []
    with open(path, newline="", encoding="utf-8") as stream:
        for place, given in enumerate(csv.DictReader(stream), start=1):
            if _ELSEWHERE.search(given["source_ref"]) or (given["topk"] or "1") != "1":
                continue
            raw = {
                "id": f"acceptance.csv:{place}",
                "source": _series(given["source_ref"].replace("huggingface.co/", "")),
                "source_ref": given["source_ref"],
                "trust": "V1",
                "method": given["method"],
                "target_model": given["target_model"],
                "draft_model": given["draft_model"],
                "engine": given["engine"],
                "task": given["benchmark"].replace("_", "-"),
                "temperature": given["temperature"],
                "draft_len_k": given["num_spec_tokens"] or given["steps"],
                "metric": "tau",
                "value": given["acceptance_length"],
                "note": given["notes"],
            }
            row = parse_row(raw, targets, {})
            if row is not None:
                rows.append(row)
    return rows


def curves_by_k(path: Path = DATA / "acceptance_by_k.csv") -> list[AcceptanceCell]:
    """Read a file of τ by K (columns of ``acceptance_by_k.csv``); one cell a curve."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    with open(path, newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            groups[row["curve"], row["target_model"], row.get("mode", "")].append(row)
    cells = []
    for (curve, target, mode), rows in groups.items():
        method, engine = method_in(curve), rows[0].get("engine", "")
        cells.append(
            AcceptanceCell(
                source=_series(rows[0].get("source_ref", "")),
                target=re.sub(r"-(nvfp4|fp8|mxfp4|\d{4})$", "", target.lower()),
                target_class=large_mixture(target),
                method=method,
                drafter=f"{curve} {mode}".strip(),
                draft_params=None,
                tasks=tasks_of(rows[0].get("task", "").rpartition(", ")[2]),
                data_set=rows[0].get("task", ""),
                temperature=None,
                context_tokens=1024.0,
                engine=Engine(engine) if engine in set(Engine) else None,
                weight=1.0,
                is_tree=False,
                lengths={
                    int(r["num_speculative_tokens"]): float(r["acceptance_length"])
                    for r in sorted(rows, key=lambda r: int(r["num_speculative_tokens"]))
                },
                ids=(f"by-k:{curve}" + (f":{mode}" if mode else ""),),
            )
        )
    return cells


def _series(reference: str) -> str:
    return re.split(r"[@:]", reference)[0] or "acceptance by K"


def method_in(curve: str) -> Method:
    """Return the method that the name of a curve holds, the longest name first."""
    names = sorted((m for m in Method if m is not Method.NONE), key=lambda m: -len(m.value))
    return next((m for m in names if m.value in curve), method_of(curve)[0] or Method.MTP)


def large_mixture(target: str) -> TargetClass:
    """The targets of the file are large mixtures of experts; sizes stand in the models table."""
    from tuner.catalog import find_model
    from tuner.errors import TunerError

    for spelling in (target, re.sub(r"-(nvfp4|fp8|mxfp4|\d{4})$", "", target)):
        try:
            shape = find_model(spelling)
        except TunerError:
            continue
        return TargetClass(
            target_id=shape.model_id,
            total_params=shape.total_params,
            active_params=shape.active_params,
            is_moe=shape.is_moe,
            is_hybrid=shape.is_hybrid,
        )
    return TargetClass(target_id=None, total_params=400e9, active_params=30e9, is_moe=True)


def padded(
    cells: Sequence[AcceptanceCell], longest: int = LONGEST
) -> tuple[FloatArray, FloatArray]:
    """Return ln τ by K and which entries are measured, both of shape (cells, longest)."""
    seen = np.zeros((len(cells), longest))
    mask = np.zeros((len(cells), longest))
    for place, cell in enumerate(cells):
        for k, length in cell.lengths.items():
            if k <= longest:
                seen[place, k - 1] = np.log(max(length, 1.0))
                mask[place, k - 1] = 1.0
    return seen, mask
