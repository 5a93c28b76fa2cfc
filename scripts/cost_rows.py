"""Rows of the cost fit: logarithms of step times and of their ratios, with noise and grouping."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scripts.cost_setups import Configuration, configuration_of, plan_of, setup_of
from scripts.evidence_rows import MeasuredRow
from scripts.evidence_setups import SpeedRow, speed_rows
from tuner.cost.layout import Block, Settings, StepLayout, step_layout
from tuner.cost.levels import plan_levels, setup_levels
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DRAFT_KIND, DraftKind, Engine, Method

#: weights of ln step, ln baseline and ln draft in a number
RATIO: tuple[float, float, float] = (1.0, -1.0, 0.0)
STEP: tuple[float, float, float] = (1.0, 0.0, 0.0)
DRAFT: tuple[float, float, float] = (0.0, 0.0, 1.0)
DRAFT_SHARE: tuple[float, float, float] = (-1.0, 0.0, 1.0)
#: standard deviations of ln(number), assumed from what repeated runs show (SpecBundle's and Jella's
#: repeats move by 3–8 %): a ratio, a plain time on stated hardware, a plain time that holds prefill
RATIO_NOISE = 0.05
PLAIN_NOISE = 0.06
END_TO_END_NOISE = 0.12
#: … and of a time that is batch ÷ throughput: ramps and prefills of a whole benchmark are in it,
#: alike for all rows of a source
THROUGHPUT_NOISE = 0.15
#: τ taken from other runs of the same target and method: shared by the sweep, and row by row
BORROWED_SWEEP_NOISE = 0.25
BORROWED_NOISE = 0.05
_PER_SEQUENCE = re.compile(r"per[- ](user|request|sequence|stream|seq)", re.IGNORECASE)
_AGGREGATE = re.compile(r"made aggregate|aggregate of", re.IGNORECASE)
#: what is left of the noise of a mean of many runs
MEAN_NOISE_FLOOR = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """One number of the fit."""

    ids: tuple[str, ...]
    source: str
    target: str
    setup: CostSetup
    plan: DraftPlan
    #: what shares a setup: source, target, devices, engine, format
    group: tuple[object, ...]
    #: what shares a drafter in that setup
    draft_group: tuple[object, ...]
    sweep: tuple[str, str]
    levels: tuple[str, ...]
    layout: StepLayout
    log_batch: float
    log_tokens: float
    #: (ln step, ln baseline, ln draft)
    weights: tuple[float, float, float]
    log_value: float
    noise: float
    shared_noise: float = 0.0
    #: 1 for a time that is batch ÷ throughput of a whole benchmark at batch > 1
    from_throughput: float = 0.0
    #: what else fixes the prediction: passes and context
    place: tuple[float, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for rows of which the model predicts the same."""
        borrowed = self.shared_noise > 0.0 and self.weights == RATIO
        return (self.draft_group, self.levels, self.place, self.weights, borrowed)


def fit_rows(rows: Sequence[MeasuredRow]) -> list[FitRow]:
    """Return ratio rows and plain rows of published measurements."""
    measured = speed_rows(rows)
    return merge([*_ratio_rows(rows, measured), *_plain_rows(rows)])


def merge(rows: Iterable[FitRow]) -> list[FitRow]:
    """Return one row for each configuration: tasks and repeats differ in τ, not in step time."""
    same: dict[tuple[object, ...], list[FitRow]] = defaultdict(list)
    for row in rows:
        same[row.key].append(row)
    return [_mean_row(group) for group in same.values()]


def _mean_row(group: list[FitRow]) -> FitRow:
    if len(group) == 1:
        return group[0]
    values = np.array([row.log_value for row in group])
    centre = float(np.median(values))
    scatter = max(float(np.median(np.abs(values - centre))) * 1.4826, group[0].noise)
    return replace(
        group[0],
        ids=tuple(name for row in group for name in row.ids),
        log_value=centre,
        noise=math.hypot(scatter / math.sqrt(len(group)), MEAN_NOISE_FLOOR),
    )


def make_row(
    setup: CostSetup,
    plan: DraftPlan,
    configuration: Configuration,
    *,
    ids: tuple[str, ...],
    source: str,
    value: float,
    weights: tuple[float, float, float],
    noise: float,
    shared_noise: float = 0.0,
    from_throughput: float = 0.0,
    sweep: tuple[str, str] = ("", ""),
) -> FitRow:
    """Return a row with the terms and the levels of its run."""
    batch, steps, tokens, context = (np.array([float(number)]) for number in configuration)
    block = Block((Settings(plan, steps, tokens),), batch, context)
    hardware = setup.hardware
    group = (
        source,
        setup.target.model_id,
        hardware.accelerator.name,
        hardware.count,
        setup.engine,
        setup.dtype,
    )
    drafter = plan.drafter.path_or_id if plan.drafter else None
    return FitRow(
        ids=ids,
        source=source,
        target=setup.target.model_id,
        setup=setup,
        plan=plan,
        group=group,
        draft_group=(*group, plan.method.value, drafter),
        sweep=sweep,
        levels=setup_levels(setup) + plan_levels(setup, plan),
        layout=step_layout(setup, block),
        log_batch=math.log(configuration.batch),
        log_tokens=math.log(configuration.verify_tokens),
        weights=weights,
        log_value=math.log(value),
        noise=noise,
        shared_noise=shared_noise,
        from_throughput=from_throughput,
        place=tuple(configuration),
    )


def _ratio_rows(rows: Sequence[MeasuredRow], measured: Iterable[SpeedRow]) -> list[FitRow]:
    shares = _sweep_lengths(rows)
    borrowed = _known_lengths(measured)
    found = []
    for fast in measured:
        row = fast.row
        setup, plan, configuration = setup_of(row), plan_of(row), configuration_of(row)
        if setup is None or plan is None or configuration is None or not fast.speedup:
            continue
        if plan.kind is DraftKind.LOOKUP:
            continue  # steps without a match cost a plain step; how many there were is not stated
        length = fast.acceptance_length or shares.get((row.source, row.sweep, row.k))
        noise, shared = RATIO_NOISE, 0.0
        if length is None and row.k and not row.is_tree and row.method is not None:
            length = borrowed.length(row)
            noise, shared = math.hypot(noise, BORROWED_NOISE), BORROWED_SWEEP_NOISE
        if length is None:
            continue
        if fast.is_end_to_end:
            noise = math.hypot(noise, PLAIN_NOISE)
        found.append(
            make_row(
                setup,
                plan,
                configuration,
                ids=fast.ids,
                source=row.source,
                value=length / fast.speedup,
                weights=RATIO,
                noise=noise,
                shared_noise=shared,
                sweep=(row.source, row.sweep),
            )
        )
    return found


def _sweep_lengths(rows: Iterable[MeasuredRow]) -> dict[tuple[str, str, int | None], float]:
    """τ of a sweep and K that is stated once for all its tasks."""
    return {
        (row.source, row.sweep, row.k): 1.0 + row.k * row.value
        for row in rows
        if row.metric == "alpha"
        and row.k
        and not row.task_raw
        and row.sweep
        and "accepted/drafted" in row.note
    }


class _known_lengths:  # noqa: N801 - used as a function with a memory
    """τ by target, method and K over all runs that state it; geometric means."""

    def __init__(self, measured: Iterable[SpeedRow]) -> None:
        self._logs: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for fast in measured:
            if fast.acceptance_length and fast.row.k and not fast.row.is_tree:
                for key in self._keys(fast.row):
                    self._logs[key].append(math.log(fast.acceptance_length))

    @staticmethod
    def _keys(row: MeasuredRow) -> list[tuple[object, ...]]:
        target = row.target_id or row.target_raw
        return [(target, row.method, row.k, row.task), (target, row.method, row.k)]

    def length(self, row: MeasuredRow) -> float | None:
        """Return the mean τ of other runs; None where there are none."""
        for key in self._keys(row):
            logs = self._logs.get(key)
            if logs and (len(key) == 3 or row.task is not None):
                return math.exp(sum(logs) / len(logs))
        return None


def _plain_rows(rows: Iterable[MeasuredRow]) -> list[FitRow]:
    plan = DraftPlan(method=Method.NONE, kind=DRAFT_KIND[Method.NONE])
    found = []
    for row in rows:
        step_s = _plain_step(row)
        if step_s is None or row.use or not _is_stated(row):
            continue
        setup, configuration = setup_of(row), configuration_of(row)
        if setup is None or configuration is None:
            continue
        throughput = row.metric != "baseline_tpot_ms"
        prefill = "prefill" in row.note.lower() or "end to end" in row.note.lower()
        found.append(
            make_row(
                setup,
                plan,
                configuration._replace(draft_steps=0.0, verify_tokens=1.0),
                ids=(row.id,),
                source=row.source,
                value=step_s,
                weights=STEP,
                noise=END_TO_END_NOISE if prefill else PLAIN_NOISE,
                shared_noise=THROUGHPUT_NOISE if throughput else 0.0,
                from_throughput=float(throughput and configuration.batch > 1.0),
                sweep=(row.source, "throughput"),
            )
        )
    return found


def _plain_step(row: MeasuredRow) -> float | None:
    if not row.batch or row.value <= 0.0:
        return None
    if row.metric == "baseline_tpot_ms":
        return row.value / 1e3
    if row.metric == "baseline_output_tok_s":
        alone = _PER_SEQUENCE.search(row.note) and not _AGGREGATE.search(row.note)
        sequences = 1.0 if alone else row.batch
        return sequences / row.value
    return None


def _is_stated(row: MeasuredRow) -> bool:
    """Whether the source names card and count, so that an absolute time can be believed."""
    from scripts.evidence_hardware import device_of

    if row.engine is Engine.LLAMACPP and "cpu" in row.gpu_raw.lower():
        return False
    device = device_of(row)
    return device.is_stated or (bool(row.gpu_raw) and device.count == 1)
