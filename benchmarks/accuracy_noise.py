"""How much repeated measurements differ, and what that noise alone costs a perfect predictor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from benchmarks.accuracy_rules import load_class
from scripts.evidence import CHOICE_METRICS, Cell, MeasuredRow, SpeedRow, config_key

_SEED = 20261129
_DRAWS = 400
#: spread of ln(speed) between repeats where a source repeats nothing: printed with two or three
#: digits and run once (assumed; the measured figure replaces it when there are repeats)
DEFAULT_LOG_SD = 0.015


def repeat_log_sd(rows: Sequence[MeasuredRow]) -> dict[str, tuple[float, int]]:
    """Return source → (standard deviation of ln speed between repeats, pairs of repeats).

    Repeats are rows of one configuration and one metric; rows that a note tells apart (a power
    limit, another build) are not.
    """
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        name = row.metric.removeprefix("baseline_")
        if row.use or name not in CHOICE_METRICS or row.value <= 0.0:
            continue
        note = row.note.lower()
        key = (*config_key(row), row.metric, "" if "repeat" in note or "run " in note else note)
        groups[key].append(float(np.log(row.value)))
    squares: dict[str, list[float]] = defaultdict(list)
    for key, values in groups.items():
        if len(values) > 1:
            squares[key[0]].extend([float(np.var(values, ddof=1))] * (len(values) - 1))
    return {
        source: (float(np.sqrt(np.mean(parts))), len(parts)) for source, parts in squares.items()
    }


def pooled_log_sd(noise: dict[str, tuple[float, int]]) -> float:
    """Return one spread for all sources: the median of their own, each counted once."""
    return float(np.median([sd for sd, _ in noise.values()])) if noise else DEFAULT_LOG_SD


def choice_floor(cells: Sequence[Cell], log_sd: float) -> dict[str, float | None]:
    """Return the regret that a predictor of the true speeds would be charged with.

    The measured speeds stand for the true ones; noise of ``log_sd`` is drawn on top, and the truly
    best K is charged with the K that came out best.
    """
    rng = np.random.default_rng(_SEED)
    losses, tails = [], []
    for cell in cells:
        speed = np.array([cell.speed[k] for k in sorted(cell.speed)])
        drawn = speed * np.exp(log_sd * rng.standard_normal((_DRAWS, len(speed))))
        loss = 1.0 - drawn[:, int(np.argmax(speed))] / drawn.max(axis=1)
        losses.append(float(loss.mean()))
        tails.append(loss)
    if not losses:
        return {"mean": None, "p90": None}
    return {
        "mean": float(np.mean(losses)),
        "p90": float(np.quantile(np.concatenate(tails), 0.9)),
    }


def between_sources(speeds: Sequence[SpeedRow]) -> dict[str, object]:
    """Return how far two sources are apart that measured the same thing.

    The same target, method, setting, kind of text and load class; drafter, device and engine may
    differ, as they do for a reader who has only what both sources state.
    """
    groups: dict[tuple[object, ...], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for speed in speeds:
        row = speed.row
        if row.target_id is None or row.setting is None or speed.speedup is None:
            continue
        key = (row.target_id, row.method, row.setting, row.tasks, load_class(row.batch))
        groups[key][row.source].append(float(np.log(speed.speedup)))
    pairs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for by_source in groups.values():
        for one, other in combinations(sorted(by_source), 2):
            apart = abs(np.mean(by_source[one]) - np.mean(by_source[other]))
            pairs[one, other].append(float(np.expm1(apart)))
    every = [value for values in pairs.values() for value in values]
    largest = sorted(pairs.items(), key=lambda item: -len(item[1]))[:8]
    return {
        "n": len(every),
        "pairs of sources": len(pairs),
        "median": float(np.median(every)) if every else None,
        "p90": float(np.quantile(every, 0.9)) if every else None,
        "pairs": [
            {"sources": list(names), "n": len(values), "median": float(np.median(values))}
            for names, values in largest
        ],
    }
