"""What is scored: measured rows and cells with their questions, and what was left out and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.accuracy_questions import why_not
from scripts.evidence import Cell, MeasuredRow, SpeedRow, cells, is_chain, setup_key, speed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """Everything of one file that can be scored."""

    rows: tuple[MeasuredRow, ...]
    speeds: tuple[SpeedRow, ...]
    #: speculative rows with a plain counterpart that can be asked about
    paired: tuple[SpeedRow, ...]
    cells: tuple[Cell, ...]
    #: setup → K → the run at that K
    runs: dict[tuple[str, ...], dict[int, SpeedRow]]
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


def collect(rows: Sequence[MeasuredRow]) -> Subjects:
    """Sort the rows of a file into what is scored and what is not."""
    every = speed_rows(rows, static_only=False)
    left_out: dict[str, Counter[str]] = {"rows": Counter(), "cells": Counter()}
    paired, static = [], []
    for speed in every:
        reason = why_not(speed.row)
        if speed.row.is_static:
            static.append(speed)
        if reason is None and speed.speedup is None:
            reason = "no plain run in the same setup"
        if reason is None and speed.speedup is not None and speed.speedup <= 0.0:
            reason = "ratio is not positive"
        if reason is None and speed.row.setting is None:
            reason = _unknown_setting(speed.row)
        if reason is None:
            paired.append(speed)
        else:
            left_out["rows"][reason] += 1
    left_out["rows"].update({f"use: {row.use}": 1 for row in rows if row.use})
    kept: list[Cell] = []
    for cell in cells(rows):
        reason = why_not(cell.row)
        if reason is None and min(cell.speed.values()) <= 0.0:
            reason = "speed is not positive"
        if reason is None:
            kept.append(cell)
        else:
            left_out["cells"][reason] += 1
    runs: dict[tuple[str, ...], dict[int, SpeedRow]] = defaultdict(dict)
    for speed in static:
        if speed.row.k and is_chain(speed.row):
            runs[setup_key(speed.row)].setdefault(speed.row.k, speed)
    return Subjects(
        rows=tuple(rows),
        speeds=tuple(static),
        paired=tuple(paired),
        cells=tuple(kept),
        runs=dict(runs),
        left_out={what: dict(reasons.most_common()) for what, reasons in left_out.items()},
    )


def _unknown_setting(row: MeasuredRow) -> str:
    if row.tree is not None:
        return "a plain run in the form of a setting with no draft steps"
    return "tree without its three numbers" if row.is_tree else "number of draft tokens not stated"


def target_of(row: MeasuredRow) -> str:
    """Return what counts as one target when targets are left out."""
    return row.target_id or row.target_raw
