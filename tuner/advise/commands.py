"""The launch command of what was chosen."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace

from tuner.advise.explain import percent
from tuner.advise.plain import PlainCurve
from tuner.advise.situation import Situation
from tuner.engines import emit, emit_baseline, emit_bench
from tuner.frozen import dataclass
from tuner.records.config import Prediction, SpecConfig
from tuner.records.decision import EngineCommand, Recommendation, Schedule, State
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine, Method

#: Room above the profile's batch and lengths where an engine must be told a limit, so that a burst
#: or a long request is not turned away (assumed).
BATCH_HEADROOM = 2.0
CONTEXT_HEADROOM = 2.0
CONTEXT_STEP = 1024
#: Longest context of checkpoints in common use (262,144 of the Qwen3 family).
LONGEST_CONTEXT = 262_144

#: Engines that must be told how many sequences to run. SGLang caps them at 48 with speculation and
#: not without; llama.cpp gives each its own slot. vLLM's default (256 and more) is left alone:
#: lowering it also lowers the largest step that has a CUDA graph.
LIMITED_ENGINES = (Engine.SGLANG, Engine.LLAMACPP)


#: vLLM's setting for K by batch; SGLang has a file for it.
SCHEDULE_KEY = "num_speculative_tokens_per_batch_size"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The command to paste, and the plain server from which others follow."""

    launch: tuple[EngineCommand, ...]
    #: None where no target is named
    plain_request: EmitRequest | None
    #: requests that a client keeps in flight
    clients: int = 1
    #: the server changes K by batch
    is_scheduled: bool = False


def commands_of(
    situation: Situation,
    state: State,
    best: Prediction | None,
    schedule: Schedule,
    plain: PlainCurve,
) -> Commands:
    """Return the commands: speculative when on (or to measure), plain when off."""
    if situation.setup is None:
        return Commands(launch=(), plain_request=None)
    bare = request_of(situation, SpecConfig(method=Method.NONE), plain, Schedule(), plain.max_batch)
    request = bare
    if best is not None and state is not State.OFF:
        request = request_of(situation, best.config, plain, schedule, best.max_batch)
    launch = emit(request)
    return Commands(
        launch=(launch,),
        plain_request=bare,
        clients=clients_of(bare, plain.baseline.batch),
        is_scheduled=SCHEDULE_KEY in launch.config or bool(launch.files),
    )


def baseline_command(found: Recommendation) -> EngineCommand | None:
    """Return the same server without speculation, to compare with."""
    return emit_baseline(found.plain_request) if found.plain_request else None


def bench_command(found: Recommendation) -> EngineCommand | None:
    """Return a client that measures either server at the profile's batch."""
    if found.plain_request is None:
        return None
    clients = clients_of(found.plain_request, found.baseline.batch)
    return emit_bench(replace(found.plain_request, max_batch=clients))


def clients_of(request: EmitRequest, batch: float) -> int:
    """Return the requests that a client keeps in flight: the profile's, else the batch."""
    return max(round(batch if request.concurrency is None else request.concurrency), 1)


def request_of(
    situation: Situation,
    config: SpecConfig,
    plain: PlainCurve,
    schedule: Schedule,
    max_batch: int | None,
) -> EmitRequest:
    """Return what the engine adapter needs; ``max_batch`` sequences fit."""
    profile, setup = situation.profile, situation.setup
    workload = profile.workload
    limited = setup is not None and situation.engine in LIMITED_ENGINES
    return EmitRequest(
        engine=situation.engine,
        version=situation.engine_version,
        target=_served_name(situation),
        config=config,
        dtype=setup.dtype if setup and profile.dtype else None,
        native_dtype=setup.target.native_dtype if setup else None,
        kv_dtype=profile.kv_dtype,
        max_context_tokens=_context(situation, max_batch),
        max_batch=_max_batch(plain, max_batch) if limited else None,
        schedule=schedule.by_batch if len(schedule.by_batch) > 1 else (),
        temperature=max(value for value, _share in workload.temperature),
        min_p=workload.sampling.min_p,
        structured_output=workload.sampling.structured_output,
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        concurrency=workload.concurrency,
        request_rate=workload.request_rate,
        reduced=_reduced(situation, plain.baseline.batch),
        parallel=situation.parallel,
    )


def _reduced(situation: Situation, batch: float) -> tuple[str, ...]:
    """What one run of a client has in place of mixes of temperatures and batches."""
    workload = situation.profile.workload
    told = []
    if len(workload.temperature) > 1:
        hottest = max(value for value, _share in workload.temperature)
        told.append(f"temperature {hottest:g} in place of {_mix_text(workload.temperature)}")
    if workload.batch is not None and len(workload.batch) > 1:
        told.append(
            f"{max(round(batch), 1)} requests in flight, their mean, in place of batches "
            f"{_mix_text(workload.batch)}: repeat it with each"
        )
    elif told:
        told[-1] += ": repeat it with each"
    return tuple(told)


def _mix_text(mix: Sequence[tuple[float, float]]) -> str:
    return " and ".join(f"{value:g} ({percent(share)})" for value, share in mix)


#: What a command says where the profile gives sizes and no name.
PLACEHOLDER = "TARGET"


def _served_name(situation: Situation) -> str:
    """The target as the engine is given it: an id, a GGUF file, or the folder of a config."""
    target = situation.profile.target
    if target is None:
        return PLACEHOLDER
    if target.config_path is not None:
        return os.path.dirname(target.config_path) or "."
    return target.model_id or target.gguf_path or PLACEHOLDER


def _max_batch(plain: PlainCurve, most: int | None) -> int:
    wanted = max(round(BATCH_HEADROOM * plain.baseline.batch), 1)
    return wanted if most is None else max(min(wanted, most), 1)


def _context(situation: Situation, max_batch: int | None) -> int | None:
    """The longest sequence to serve, where the engine must be told.

    llama.cpp reserves it for every slot. vLLM and SGLang reserve the checkpoint's own longest
    context for one sequence and do not start where that exceeds the KV cache.
    """
    workload = situation.profile.workload
    longest = workload.prompt_tokens + workload.output_tokens
    tokens = CONTEXT_STEP * math.ceil(CONTEXT_HEADROOM * longest / CONTEXT_STEP)
    if situation.engine is Engine.LLAMACPP:
        return tokens
    room = None if max_batch is None else max_batch * longest
    return tokens if room is not None and room < LONGEST_CONTEXT else None
