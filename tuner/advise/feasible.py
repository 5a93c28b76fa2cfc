"""What fits in memory, and what to say when nothing does."""

from __future__ import annotations

from tuner.advise.arms import Arm
from tuner.advise.plain import PlainCurve, cached_memory_fit
from tuner.advise.situation import Situation
from tuner.errors import InfeasibleError, Where
from tuner.records.cost import MemoryFit
from tuner.units import GIGA


def memory_of(situation: Situation, arm: Arm, plain: PlainCurve) -> MemoryFit | None:
    """Return the fit of an arm at the profile's batch and full context."""
    if situation.setup is None:
        return None
    workload = situation.profile.workload
    return cached_memory_fit(
        situation.setup,
        arm.plan,
        workload.prompt_tokens + workload.output_tokens,
        _wanted_batch(situation, plain),
        max(arm.lengths) + 1,
    )


def require_plain_fits(situation: Situation, plain: PlainCurve) -> None:
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
            f"device and leaves no room for one sequence on {have}, of which "
            f"{fit.usable_bytes / GIGA:.1f} GB are usable: take more devices, a smaller dtype or a "
            "shorter context.",
            where=where,
        )
    wanted = _wanted_batch(situation, plain)
    if wanted > fit.max_batch_plain and situation.profile.workload.batch is not None:
        raise InfeasibleError(
            f"{wanted:g} sequences of this length do not fit on {have}: at most "
            f"{fit.max_batch_plain} do. Lower workload.batch to {fit.max_batch_plain}, shorten the "
            "context, store the KV cache in fp8, or take more devices.",
            where=where,
        )


def _wanted_batch(situation: Situation, plain: PlainCurve) -> float:
    batches = situation.profile.workload.batch
    if batches is not None:
        return max(value for value, _share in batches)
    return plain.baseline.batch
