"""The launch command of what was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.advise.plain import PlainCurve
from tuner.advise.situation import Situation
from tuner.engines import emit, emit_baseline, emit_bench
from tuner.records.config import Prediction, SpecConfig
from tuner.records.decision import EngineCommand, Schedule, State
from tuner.records.emit import EmitRequest
from tuner.records.hardware import Parallel
from tuner.records.methods import Method

#: Room above the profile's batch, so that a burst does not queue at once (assumed).
BATCH_HEADROOM = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The command to paste, the plain one to compare with, and a client that measures either."""

    launch: tuple[EngineCommand, ...]
    baseline: EngineCommand
    bench: EngineCommand


def commands_of(
    situation: Situation,
    state: State,
    best: Prediction | None,
    schedule: Schedule,
    plain: PlainCurve,
) -> Commands:
    """Return the commands: speculative when on (or to measure), plain when off."""
    bare = request_of(situation, SpecConfig(method=Method.NONE), plain, Schedule())
    baseline = emit_baseline(bare)
    launch = baseline
    if best is not None and state is not State.OFF:
        launch = emit(request_of(situation, best.config, plain, schedule))
    return Commands(launch=(launch,), baseline=baseline, bench=emit_bench(bare))


def request_of(
    situation: Situation, config: SpecConfig, plain: PlainCurve, schedule: Schedule
) -> EmitRequest:
    """Return what the engine adapter needs."""
    profile, setup = situation.profile, situation.setup
    workload = profile.workload
    batch = plain.baseline.batch
    ceiling = None if setup is None else _max_batch(batch, plain.max_batch)
    hardware = setup.hardware if setup else None
    return EmitRequest(
        engine=situation.engine,
        version=situation.engine_version,
        target=situation.target_name if setup else "TARGET",
        config=config,
        dtype=setup.dtype if setup and profile.dtype else None,
        native_dtype=setup.target.native_dtype if setup else None,
        kv_dtype=profile.kv_dtype,
        max_context_tokens=workload.prompt_tokens + workload.output_tokens,
        max_batch=ceiling,
        schedule=schedule.by_batch if len(schedule.by_batch) > 1 else (),
        temperature=max(value for value, _share in workload.temperature),
        min_p=workload.sampling.min_p,
        structured_output=workload.sampling.structured_output,
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        parallel=hardware.parallel if hardware else Parallel(),
    )


def _max_batch(batch: float, limit: int | None) -> int:
    wanted = max(int(round(BATCH_HEADROOM * batch)), 1)
    return wanted if limit is None else max(min(wanted, limit), 1)
