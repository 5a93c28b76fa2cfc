"""Which single input, changed by how much, flips the advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tuner.advise.explain import batch_text, percent
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.advise.recommend import evaluate_profile, rank, recommend
from tuner.errors import InfeasibleError
from tuner.optimize.choice import decide
from tuner.records.config import Prediction
from tuner.records.decision import State
from tuner.records.why import Flip, Why
from tuner.records.workload import HardwareSpec, Profile

#: Values looked at; each is one evaluation of the profile.
BATCHES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5)
CONTEXT_FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32)
#: Devices tried in place of the profile's: one of each generation in common use.
DEVICES = (
    "A100-80GB-SXM",
    "H100-SXM",
    "H200-SXM",
    "B200-SXM",
    "MI300X",
    "RTX-4090",
    "RTX-5090",
    "L40S",
)


def why(profile: Profile, knowledge: Knowledge | None = None) -> Why:
    """Return the inputs that flip the advice, each changed alone."""
    known = knowledge or shipped_knowledge()
    found = recommend(profile, known)
    best = next((item for item in found.configs if item.config.num_speculative_tokens), None)
    flips = tuple(_flips(profile, known, found.decision.state, best)) if best else ()
    return Why(
        profile=profile.name,
        title=found.title,
        decision=found.decision,
        best=best,
        flips=flips,
        next_measurement=found.next_measurement,
    )


def _flips(profile: Profile, known: Knowledge, state: State, best: Prediction) -> Iterator[Flip]:
    yield _acceptance_flip(state, best)
    yield _cost_flip(state, best)
    workload = profile.workload
    if profile.target is None:
        return

    def at_batch(batch: float) -> Profile:
        changed = replace(
            workload, batch=((float(batch), 1.0),), concurrency=None, request_rate=None
        )
        return replace(profile, workload=changed)

    def at_temperature(temperature: float) -> Profile:
        return replace(profile, workload=replace(workload, temperature=((temperature, 1.0),)))

    def at_context(factor: float) -> Profile:
        prompt = max(int(workload.prompt_tokens * factor), 1)
        return replace(profile, workload=replace(workload, prompt_tokens=prompt))

    yield _walk(
        known, state, "batch", batch_text(best.batch), best.batch, BATCHES, at_batch, _whole
    )
    yield _walk(
        known, state, "temperature", f"{best.temperature:g}", best.temperature, TEMPERATURES,
        at_temperature, _short,
    )  # fmt: skip
    yield _walk(
        known, state, "prompt tokens", f"{workload.prompt_tokens:,}", 1.0, CONTEXT_FACTORS,
        at_context, lambda factor: f"{workload.prompt_tokens * factor:,.0f}",
    )  # fmt: skip
    yield _device_flip(profile, known, state)


def _acceptance_flip(state: State, best: Prediction) -> Flip:
    needed, belief = best.step_cost_ratio, best.acceptance_length
    tau = belief.mean
    most = best.config.draft_steps + 1
    possible = 1.0 < needed <= most
    change = needed / tau - 1.0
    return Flip(
        what="acceptance length τ",
        now=f"{tau:.2f}" + (f" ({belief.p10:.2f}–{belief.p90:.2f})" if belief.p90 > tau else ""),
        flips_at=f"{needed:.2f}" if possible else None,
        becomes=_other(state) if possible else None,
        note=(
            f"break-even; {percent(abs(change))} {_side(change)} what is expected"
            if possible
            else f"{most} is the most that this draft length can give"
        ),
    )


def _cost_flip(state: State, best: Prediction) -> Flip:
    change = best.acceptance_length.mean / best.step_cost_ratio - 1.0
    if change <= 0.0:
        note = f"a step {percent(-change)} cheaper than predicted"
    else:
        note = f"a step {percent(change)} dearer than predicted"
    return Flip(
        what="step cost",
        now=f"{best.step_cost_ratio:.2f} plain steps",
        flips_at=f"{best.acceptance_length.mean:.2f} plain steps",
        becomes=_other(state),
        note=note,
    )


def _walk(
    known: Knowledge,
    state: State,
    what: str,
    now: str,
    current: float,
    values: tuple[float, ...],
    change: Callable[[float], Profile],
    text: Callable[[float], str],
) -> Flip:
    """Walk away from the current value, nearest first, until the advice changes."""
    fitting = []
    for value in sorted(values, key=lambda item: _distance(item, current)):
        becomes = _state_of(change(value), known)
        if becomes is not None:
            fitting.append(value)
        if becomes is not None and becomes is not state:
            side = "up to" if value < current else "from"
            return Flip(
                what=what, now=now, flips_at=f"{side} {text(value)}", becomes=becomes, note=""
            )
    span = f"{text(min(fitting))} to {text(max(fitting))}" if fitting else now
    more = "" if len(fitting) == len(values) else ", as far as it fits in memory"
    return Flip(what=what, now=now, flips_at=None, becomes=None, note=f"the same from {span}{more}")


def _device_flip(profile: Profile, known: Knowledge, state: State) -> Flip:
    spec = profile.hardware or HardwareSpec(gpu=DEVICES[1])
    now = spec.gpu or "by numbers"
    fitting = []
    for name in DEVICES:
        device = HardwareSpec(gpu=name, count=spec.count)
        becomes = _state_of(replace(profile, hardware=device), known)
        if becomes is not None:
            fitting.append(name)
        if becomes is not None and becomes is not state:
            return Flip(what="device", now=now, flips_at=name, becomes=becomes, note="")
    return Flip(
        what="device",
        now=now,
        flips_at=None,
        becomes=None,
        note=f"the same on {', '.join(fitting)}",
    )


def _state_of(profile: Profile, known: Knowledge) -> State | None:
    """The advice for a changed profile; None where it does not fit."""
    try:
        _points, configs = rank(evaluate_profile(profile, known))
    except InfeasibleError:
        return None
    if not configs:
        return State.OFF
    return decide(configs[0].speedup.mean, configs[0].speedup_log_sd)


def _side(change: float) -> str:
    return "below" if change < 0.0 else "above"


def _other(state: State) -> State:
    return State.ON if state is State.OFF else State.OFF


def _distance(value: float, current: float) -> float:
    return abs(value - current) / (abs(value) + abs(current) + 1e-9)


def _whole(value: float) -> str:
    return f"{value:g}"


def _short(value: float) -> str:
    return f"{value:g}"
