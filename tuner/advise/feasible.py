"""What fits in memory, and what to say when nothing does."""

from __future__ import annotations

from dataclasses import replace

from tuner.advise.arms import PLAIN_PLAN, Arm
from tuner.advise.plain import PlainCurve, largest_batch
from tuner.advise.points import Load
from tuner.advise.situation import Situation
from tuner.cost.memory import memory_fit
from tuner.errors import InfeasibleError, Where
from tuner.records.cost import CostSetup, MemoryFit
from tuner.units import GIGA

#: Device counts and weight formats that are tried when a target does not fit.
OTHER_COUNTS = (2, 4, 8, 16)
OTHER_DTYPES = ("fp8", "awq")
#: Contexts are named in steps of this many tokens.
CONTEXT_STEP = 1024


def memory_of(situation: Situation, arm: Arm, load: Load, index: int = 0) -> MemoryFit | None:
    """Return the fit of one setting of an arm at the profile's batch and full context."""
    if situation.setup is None:
        return None
    return memory_fit(
        situation.setup,
        arm.plan,
        context_tokens=_longest(situation),
        batch=largest_batch(load),
        verify_tokens=int(arm.verify_tokens[index]),
    )


def require_plain_fits(situation: Situation, plain: PlainCurve, load: Load) -> None:
    """Raise when the target itself, at this batch and context, is too large.

    Raises
    ------
    InfeasibleError
        With what would fit instead.
    """
    fit, setup = plain.memory, situation.setup
    if fit is None or setup is None:
        return
    where = Where(file=situation.profile.path, key="hardware")
    device = setup.hardware.accelerator
    have = f"{setup.hardware.count}× {device.name} ({device.memory_bytes / GIGA:.0f} GB each)"
    if fit.max_batch_plain < 1:
        raise InfeasibleError(
            f"{setup.target.model_id} in {setup.dtype} takes {fit.weights_bytes / GIGA:.1f} GB a "
            f"device and leaves no room for one sequence of {_longest(situation):,.0f} tokens on "
            f"{have}, of which {fit.usable_bytes / GIGA:.1f} GB are usable. "
            + _what_would_fit(situation, setup),
            where=where,
        )
    wanted = largest_batch(load)
    if wanted > fit.max_batch_plain:
        raise InfeasibleError(
            f"{wanted:g} sequences of {_longest(situation):,.0f} tokens do not fit on {have}: at "
            f"most {fit.max_batch_plain} do. Lower workload.batch to {fit.max_batch_plain}, "
            "shorten the context, store the KV cache in fp8, or take more devices.",
            where=where,
        )


def _what_would_fit(situation: Situation, setup: CostSetup) -> str:
    """Name a context, a device count and a format with room for one sequence."""
    found = []
    context = _longest_that_fits(setup, _longest(situation))
    if context:
        found.append(f"a context of {context:,} tokens")
    layout = setup.hardware.parallel
    for count in OTHER_COUNTS:
        wider = replace(
            setup,
            hardware=replace(setup.hardware, count=count, parallel=replace(layout, tensor=count)),
        )
        if count > setup.hardware.count and _room(wider, _longest(situation)):
            found.append(f"{count} such devices")
            break
    for dtype in OTHER_DTYPES:
        if dtype != setup.dtype and _room(replace(setup, dtype=dtype), _longest(situation)):
            found.append(f"{dtype} weights")
            break
    if not found:
        return "Nothing that was tried fits: take larger devices."
    return f"What would fit: {', or '.join(found)}."


def _longest_that_fits(setup: CostSetup, wanted: float) -> int:
    """The longest context with room for one sequence, in whole steps; 0 = none."""
    low, high = 0, int(wanted) // CONTEXT_STEP
    while low < high:
        middle = (low + high + 1) // 2
        if _room(setup, middle * CONTEXT_STEP):
            low = middle
        else:
            high = middle - 1
    return low * CONTEXT_STEP


def _room(setup: CostSetup, context_tokens: float) -> bool:
    fit = memory_fit(setup, PLAIN_PLAN, context_tokens=context_tokens, batch=1.0, verify_tokens=1)
    return fit.max_batch_plain >= 1


def _longest(situation: Situation) -> float:
    workload = situation.profile.workload
    return float(workload.prompt_tokens + workload.output_tokens)
