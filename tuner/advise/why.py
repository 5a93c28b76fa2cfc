"""Which single input, changed by how much, flips the advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tuner.advise.explain import percent
from tuner.advise.knowledge import Knowledge, shipped_knowledge
from tuner.advise.recommend import decision_for, evaluate_profile, rank, recommend
from tuner.errors import InfeasibleError
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation, State
from tuner.records.methods import METHOD_TITLES
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
    flips = tuple(_flips(profile, known, found, best)) if best else ()
    return Why(
        profile=profile.name,
        title=found.title,
        decision=found.decision,
        best=best,
        flips=flips,
        next_measurement=found.next_measurement,
    )


def _flips(
    profile: Profile, known: Knowledge, found: Recommendation, best: Prediction
) -> Iterator[Flip]:
    yield _acceptance_flip(best, _rival(found, best))
    yield _cost_flip(best)
    state, workload = found.decision.state, profile.workload
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
        known,
        state,
        "batch",
        best.batch,
        BATCHES,
        at_batch,
        is_mix=len(workload.batch or ()) > 1,
    )
    yield _walk(
        known,
        state,
        "temperature",
        best.temperature,
        TEMPERATURES,
        at_temperature,
        is_mix=len(workload.temperature) > 1,
    )
    yield _walk(
        known,
        state,
        "prompt tokens",
        1.0,
        CONTEXT_FACTORS,
        at_context,
        text=lambda factor: f"{workload.prompt_tokens * factor:,.0f}",
    )
    yield _device_flip(profile, known, state)


def _acceptance_flip(best: Prediction, rival: Prediction | None) -> Flip:
    """Where the setting breaks even: what the advice would be there, other settings decide too."""
    needed, belief = best.step_cost_ratio, best.acceptance_length
    tau = belief.mean
    most = best.config.draft_steps + 1
    change = needed / tau - 1.0
    if needed <= 1.0:
        note = "a step costs no more than a plain one: it pays at any τ"
    elif needed > most:
        note = f"this setting breaks even at {needed:.2f}, and {most} is the most that it can give"
    else:
        note = (
            f"this setting breaks even at {needed:.2f}, {percent(abs(change))} {_side(change)} "
            "what is expected"
        )
    overtaken = rival.speedup.mean * needed if rival is not None else 0.0
    if rival is not None and overtaken > 1.0:
        note += f"; below {overtaken:.2f}, {_name(rival)} would be faster"
    return Flip(
        what="acceptance length τ",
        now=f"{tau:.2f}" + (f" ({belief.p10:.2f}–{belief.p90:.2f})" if belief.p90 > tau else ""),
        flips_at=None,
        becomes=None,
        note=note,
        breaks_even_at=needed if 1.0 < needed <= most else None,
    )


def _rival(found: Recommendation, best: Prediction) -> Prediction | None:
    """The fastest setting of another drafter that is expected to pay, and less than the best."""
    return next(
        (
            item
            for item in found.configs
            if item.config.num_speculative_tokens
            and (item.config.method, item.config.drafter)
            != (best.config.method, best.config.drafter)
            and item.fits_memory is not False
            and not item.falls_behind
            and 1.0 < item.speedup.mean < best.speedup.mean
        ),
        None,
    )


def _name(item: Prediction) -> str:
    config = item.config
    setting = f"tree {config.tree}" if config.tree else f"K {config.num_speculative_tokens}"
    return f"{METHOD_TITLES[config.method]} at {setting}"


def _cost_flip(best: Prediction) -> Flip:
    tau = best.acceptance_length.mean
    change = tau / best.step_cost_ratio - 1.0
    side = "cheaper" if change <= 0.0 else "dearer"
    return Flip(
        what="step cost",
        now=f"{best.step_cost_ratio:.2f} plain steps",
        flips_at=None,
        becomes=None,
        note=(
            f"this setting breaks even at {tau:.2f}: a step {percent(abs(change))} {side} than "
            "predicted"
        ),
        breaks_even_at=tau,
    )


def _walk(
    known: Knowledge,
    state: State,
    what: str,
    current: float,
    values: tuple[float, ...],
    change: Callable[[float], Profile],
    *,
    text: Callable[[float], str] = lambda value: (
        f"{value:,.0f}" if value > 99.5 else f"{value:.3g}"
    ),
    is_mix: bool = False,
) -> Flip:
    """Walk away from the current value, nearest first, until the advice changes.

    In place of a mix each value stands alone: its mean is not the value now, and no side of it is
    the one that changes the advice.
    """
    now = f"a mix, {text(current)} on average" if is_mix else text(current)
    fitting = []
    for value in sorted(values, key=lambda item: _distance(item, current)):
        becomes = _state_of(change(value), known)
        if becomes is not None:
            fitting.append(value)
        if becomes is not None and becomes is not state:
            side = "up to" if value < current else "from"
            where = f"{text(value)} alone" if is_mix else f"{side} {text(value)}"
            return Flip(what=what, now=now, flips_at=where, becomes=becomes, note="")
    span = f"{text(min(fitting))} to {text(max(fitting))}" if fitting else now
    more = "" if len(fitting) == len(values) else ", as far as it fits in memory"
    each = "at each from" if is_mix else "from"
    note = f"the same {each} {span}{more}"
    return Flip(what=what, now=now, flips_at=None, becomes=None, note=note)


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
    """The advice for a changed profile, as ``recommend`` has it; None where it does not fit."""
    try:
        found = evaluate_profile(profile, known)
    except InfeasibleError:
        return None
    return decision_for(found, *rank(found)).state


def _side(change: float) -> str:
    return "below" if change < 0.0 else "above"


def _distance(value: float, current: float) -> float:
    return abs(value - current) / (abs(value) + abs(current) + 1e-9)
