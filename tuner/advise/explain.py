"""Sentences: the decision and its reason, how flat the optimum is, what the result rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tuner.advise.knowledge import Knowledge
from tuner.advise.points import ArmPoint
from tuner.advise.situation import Situation
from tuner.advise.unused import used_rows
from tuner.cost.model import CostModel
from tuner.engines import TITLES
from tuner.optimize.choice import ON_CONFIDENCE, TIE_TOLERANCE, decide, probability_above_one
from tuner.records.config import Prediction
from tuner.records.decision import Decision, State
from tuner.records.methods import DRAFT_KIND, METHOD_TITLES, DraftKind, Method, Task
from tuner.records.sources import Assumption, AssumptionKind
from tuner.records.workload import ObservedRow
from tuner.units import GIGA

#: Lengths within this share of the best are named when saying how flat the optimum is.
FLAT_TOLERANCE = 0.03
#: What the assumption about step times is called.
STEP_COST = "step cost"


def percent(share: float, digits: int = 0) -> str:
    """Return a share for a sentence: 27 %."""
    return f"{100.0 * share:.{digits}f} %"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 source, 2 sources."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def batch_text(value: float) -> str:
    """Return a batch, a mean over steps, with three figures at most behind whole numbers."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def setting_name(item: Prediction) -> str:
    """Return the short name of a configuration: method and draft length."""
    count = item.config.num_speculative_tokens
    if item.config.method is Method.NONE:
        return METHOD_TITLES[Method.NONE]
    if item.config.tree is not None:
        return f"{METHOD_TITLES[item.config.method]}, tree {item.config.tree}"
    plural = "s" if count != 1 else ""
    return f"{METHOD_TITLES[item.config.method]}, {count} draft token{plural}"


def decision_of(
    situation: Situation,
    best: Prediction | None,
    *,
    request_gain: float | None = None,
    is_measured: bool = True,
) -> Decision:
    """Return the decision about the best configuration that can draft.

    ``request_gain`` is the speedup of a whole request, prefill included (None = not known): where
    requests end no sooner, faster decoding does not pay. A method that nothing was measured of is
    never switched on unseen.
    """
    if best is None:
        return Decision(
            state=State.OFF,
            reason=(
                f"no method that {TITLES[situation.engine]} {situation.engine_version} serves can "
                "draft here within the profile's limits."
            ),
            break_even_acceptance_length=None,
            confidence=1.0,
        )
    speedup, spread = best.speedup.mean, best.speedup_log_sd
    pays = probability_above_one(speedup, spread)
    is_diluted = request_gain is not None and request_gain < 1.0 < speedup
    state = State.OFF if best.fits_memory is False or is_diluted else decide(speedup, spread)
    if state is State.ON and not is_measured:
        state = State.MEASURE
    return Decision(
        state=state,
        reason=_diluted_reason(best, request_gain) if is_diluted else _reason(state, best),
        break_even_acceptance_length=best.step_cost_ratio,
        confidence=pays
        if state is State.ON
        else 1.0 - pays
        if state is State.OFF
        else max(pays, 1 - pays),
    )


def _diluted_reason(best: Prediction, request_gain: float | None) -> str:
    return (
        f"decoding would run at {best.speedup.mean:.2f}× with {setting_name(best)}, but prefill "
        f"takes most of a request and longer with a drafter: it would end at {request_gain:.2f}× "
        "the speed."
    )


def _reason(state: State, best: Prediction) -> str:
    name, tau = setting_name(best), best.acceptance_length
    cost = (
        f"a step costs {best.step_cost_ratio:.2f} plain steps and is expected to emit "
        f"{tau.mean:.2f} tokens ({tau.p10:.2f}–{tau.p90:.2f})"
    )
    gain = f"{best.speedup.mean:.2f}× ({best.speedup.p10:.2f}–{best.speedup.p90:.2f})"
    if best.fits_memory is False:
        return f"{name} does not fit in memory at batch {batch_text(best.batch)}."
    if state is State.ON:
        return f"{name} is expected to run at {gain}: {cost}."
    if state is State.OFF:
        return f"the best, {name}, would run at {gain}: {cost}."
    return f"the evidence does not decide: {name} would run at {gain}; {cost}."


def flatness_of(ranked: Sequence[ArmPoint], best: Prediction | None) -> str | None:
    """Return a sentence on which draft lengths are as good as the chosen one."""
    if not ranked or best is None:
        return None
    speed = ranked[0].own.speedup
    arm = ranked[0].arm
    lengths = np.array(arm.lengths)
    chosen = best.config.num_speculative_tokens
    near = np.flatnonzero(speed >= speed.max() * (1.0 - FLAT_TOLERANCE))
    if len(near) > 1:
        names = [str(arm.trees[place] if arm.trees else lengths[place]) for place in near]
        is_span = not arm.trees and bool((np.diff(lengths[near]) == 1).all())
        told = f"{names[0]} to {names[-1]}" if is_span else ", ".join(names)
        what = "Trees" if arm.trees else "K"
        return f"{what} {told} are within {percent(FLAT_TOLERANCE)} of each other: a flat optimum."
    if arm.trees:
        return None
    others = np.abs(lengths - chosen) == 1
    if not others.any():
        return None
    loss = 1.0 - speed[others].max() / speed.max()
    if loss <= TIE_TOLERANCE:
        return None
    return f"The nearest other K loses {percent(loss, 1)}."


def title_of(situation: Situation) -> str:
    """Return target · dtype · devices · engine in one line."""
    setup = situation.setup
    engine = f"{TITLES[situation.engine]} {situation.engine_version}"
    if setup is None:
        return f"textbook formula, α and c by hand · {engine}"
    hardware = setup.hardware
    layout = hardware.parallel
    axes = [
        ("TP", layout.tensor),
        ("PP", layout.pipeline),
        ("DP", layout.data),
        ("EP", layout.expert),
    ]
    split = " ".join(f"{axis} {size}" for axis, size in axes if size > 1)
    devices = f"{hardware.count}× {hardware.accelerator.name}" + (f", {split}" if split else "")
    return f"{setup.target.model_id.rsplit('/', 1)[-1]} · {setup.dtype} · {devices} · {engine}"


def context_line(situation: Situation, batch: float) -> str:
    """Return the load in one line."""
    heat = " + ".join(
        f"T {value:g}"
        if len(situation.profile.workload.temperature) == 1
        else f"{percent(share)} at T {value:g}"
        for value, share in situation.profile.workload.temperature
    )
    return f"at {_load_text(situation, batch)} · {heat}{_rest_text(situation)}"


def several_loads_line(
    situation: Situation, batches: Sequence[float], temperatures: Sequence[float], batch: float
) -> str:
    """Return the loads that are compared, and what they share, in one line.

    ``batches`` are those that were asked for; without any the profile's load stands, at which
    plain decoding has ``batch``.
    """
    own = _load_text(situation, batch)
    load = f"batch {', '.join(f'{value:g}' for value in batches)}" if batches else own
    heat = ", ".join(f"{value:g}" for value in temperatures)
    return f"at {load} · T {heat}{_rest_text(situation)}"


def _rest_text(situation: Situation) -> str:
    """What is sampled from which text: truncation where there is some, tasks, context."""
    workload = situation.profile.workload
    limits = (
        ("top-p", workload.top_p if workload.top_p < 1.0 else None),
        ("top-k", workload.top_k),
        ("min-p", workload.min_p),
    )
    cut = "".join(f", {name} {value:g}" for name, value in limits if value is not None)
    tasks = " + ".join(
        task if len(workload.task) == 1 else f"{percent(share)} {task}"
        for task, share in workload.task
    )
    context = f"{situation.context_tokens:,.0f} tokens of context"
    return f"{cut} · {tasks} · {context}"


def _load_text(situation: Situation, batch: float) -> str:
    workload = situation.profile.workload
    plain = f"plain decoding: batch {batch_text(batch)}"
    if workload.concurrency is not None:
        return f"{workload.concurrency:g} requests in flight ({plain})"
    if workload.request_rate is not None:
        return f"{workload.request_rate:g} requests a second ({plain})"
    mix = workload.batch or ()
    if len(mix) > 1:
        shares = ", ".join(f"{percent(share)} at {value:g}" for value, share in mix)
        return f"a mix of batches ({shares} of decode time)"
    return f"batch {batch_text(batch)}"


def assumptions_of(
    situation: Situation,
    ranked: Sequence[ArmPoint],
    model: CostModel | None,
    knowledge: Knowledge,
    compared: Sequence[ArmPoint],
) -> tuple[Assumption, ...]:
    """Return what the result rests on: overrides and observations, priors, defaults."""
    found: list[Assumption] = []
    profile = situation.profile
    for name, table in (
        ("acceptance_rate", profile.overrides.acceptance_rate),
        ("draft_cost_ratio", profile.overrides.draft_cost_ratio),
    ):
        for method, value in table:
            found.append(
                Assumption(
                    what=name,
                    value=f"{value:g}" + (f" for {method}" if method else ""),
                    kind=AssumptionKind.OVERRIDE,
                    source="overrides in the profile",
                )
            )
    if profile.overrides.draft_cost_ratio:
        found.append(
            Assumption(
                what="verification",
                value="as cheap as a plain step, no overhead",
                kind=AssumptionKind.OVERRIDE,
                source="textbook formula (Leviathan et al. 2023)",
            )
        )
    found += [
        Assumption(
            what="observed",
            value=_row_text(row),
            kind=AssumptionKind.OBSERVED,
            source=" ".join(filter(None, (row.source, row.date))) or "profile",
        )
        for row in used_rows(situation, compared)
    ]
    for point in ranked:
        found += _acceptance_assumptions(point, knowledge)
    if model is not None and ranked:
        best = ranked[0].own
        found.append(
            Assumption(
                what=STEP_COST,
                value=(
                    f"{TITLES[situation.engine]} on {model.setup.hardware.accelerator.name}: "
                    f"± {percent(1.2816 * float(best.ratio_log_sd.mean()))} on ratios, "
                    f"± {percent(1.2816 * float(best.baseline_log_sd.mean()))} on plain TPOT"
                ),
                kind=AssumptionKind.OBSERVED if model.observed else AssumptionKind.PRIOR,
                source=_cost_source(model),
            )
        )
    return (*dict.fromkeys(found), *situation.assumptions, *_memory_margin(situation, ranked))


def decision_margin() -> Assumption:
    """Return the belief that switches speculation on, which no measurement gave."""
    return Assumption(
        what="on from",
        value=f"{percent(ON_CONFIDENCE)} sure that it pays",
        kind=AssumptionKind.DEFAULT,
        source="assumed (tuner/optimize/choice.py)",
    )


def _memory_margin(situation: Situation, ranked: Sequence[ArmPoint]) -> Iterator[Assumption]:
    """What of the memory is taken as usable, and what is assumed to be taken from it."""
    memory = ranked[0].memory if ranked else None
    if memory is None or situation.setup is None:
        return
    whole = situation.setup.hardware.accelerator.memory_bytes
    yield Assumption(
        what="memory",
        value=(
            f"{memory.usable_bytes / GIGA:.1f} of {whole / GIGA:.1f} GB a device usable, "
            f"{(memory.activation_bytes + memory.graph_bytes) / GIGA:.1f} GB of it for activations "
            "and graphs (assumed)"
        ),
        kind=AssumptionKind.DEFAULT,
        source="the engine's default share; driver, activations and graphs assumed "
        "(tuner/cost/memory.py)",
    )


def _acceptance_assumptions(point: ArmPoint, knowledge: Knowledge) -> list[Assumption]:
    found = []
    for task, temperature, share, belief in point.acceptance.parts:
        if belief.origin == "override":
            continue
        observed = belief.origin == "posterior"
        found.append(
            Assumption(
                what="acceptance",
                value=(
                    f"{point.arm.method} × {task} at T {temperature:g}"
                    + (f" ({percent(share)})" if share < 1.0 else "")
                ),
                kind=AssumptionKind.OBSERVED if observed else AssumptionKind.PRIOR,
                source=(
                    ("prior updated by the observed rows; " if observed else "")
                    + _evidence_text(knowledge, point.arm.method, task)
                ),
            )
        )
    return found


def _evidence_text(knowledge: Knowledge, method: Method, task: Task) -> str:
    """How much was measured of a method on a task; borrowed beliefs say so."""
    cells = {(cell.method, cell.task): cell for cell in knowledge.acceptance.cells}
    cell = cells.get((method, task))
    where = f"(specdec-tune catalog priors {method})"
    if cell is not None:
        return (
            f"{counted(cell.n_measurements, 'measurement')} from "
            f"{counted(cell.n_sources, 'source')} {where}"
        )
    every = cells.get((method, None))
    if every is None:
        lender = "n-gram lookup" if DRAFT_KIND[method] is DraftKind.LOOKUP else "other methods"
        return f"no measurement of {method}: borrowed from {lender}"
    return (
        f"none for {task}; {counted(every.n_measurements, 'measurement')} of other tasks from "
        f"{counted(every.n_sources, 'source')} {where}"
    )


def _cost_source(model: CostModel) -> str:
    rows = len(model.observed)
    updated = f", updated by {rows} observed row{'s' if rows > 1 else ''}" if rows else ""
    sources = len(model.prior.evidence)
    return f"prior fitted on step times of all engines, {sources} sources (docs/model.md){updated}"


def _row_text(row: ObservedRow) -> str:
    parts = ["plain run" if row.method is Method.NONE else str(row.method)]
    if row.num_speculative_tokens:
        parts.append(f"K {row.num_speculative_tokens}")
    if row.tree is not None:
        parts.append("tree " + "/".join(map(str, row.tree)))
    if row.batch is not None:
        parts.append(f"batch {row.batch:g}")
    return ", ".join(parts)
