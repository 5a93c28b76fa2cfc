"""The profile: one workload as its owner describes it. Field for field the YAML of the contract."""

from __future__ import annotations

from dataclasses import field

from tuner.frozen import dataclass
from tuner.records.acceptance import AcceptanceCounts
from tuner.records.methods import Engine, Method, Objective, Task

#: Hottest temperature of a workload: OpenAI-compatible servers document 0 to 2, and nothing was
#: measured above.
MOST_TEMPERATURE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """The target: exactly one of a name, a config file, a GGUF file, or sizes."""

    model_id: str | None = None
    config_path: str | None = None
    gguf_path: str | None = None
    params_b: float | None = None
    active_params_b: float | None = None
    mtp_layers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSpec:
    """The device by name, or an unknown one by numbers."""

    gpu: str | None = None
    count: int = 1
    memory_gb: float | None = None
    bandwidth_tb_s: float | None = None
    bf16_tflops: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSpec:
    """Layout; ``tensor`` None = the device count divided by the other axes."""

    tensor: int | None = None
    pipeline: int = 1
    data: int = 1
    expert: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The engine; ``version`` None = the newest known."""

    name: Engine = Engine.VLLM
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterSpec:
    """The user's own drafter."""

    path_or_id: str
    method: Method
    params_b: float | None = None
    dtype: str = "bfloat16"
    tensor_parallel: int | None = None
    max_context: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSpec:
    """What else requests ask of the sampler."""

    min_p: float | None = None
    penalties: bool = False
    structured_output: bool = False
    lora: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """What is asked of the server. Mixes are tuples of (value, share); shares sum to 1."""

    #: shares of output tokens
    task: tuple[tuple[Task, float], ...] = ((Task.CHAT, 1.0),)
    #: shares of output tokens
    temperature: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    top_p: float = 1.0
    top_k: int | None = None
    min_p: float | None = None
    #: sequences decoded together; shares of decode time. Exactly one of the three is not None.
    batch: tuple[tuple[float, float], ...] | None = ((1.0, 1.0),)
    #: requests in flight
    concurrency: float | None = None
    #: requests that arrive each second
    request_rate: float | None = None
    prompt_tokens: int = 1000
    output_tokens: int = 400
    #: share of prompt tokens served from the prefix cache
    prefix_cache_hit: float = 0.0
    sampling: SamplingSpec = field(default_factory=SamplingSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyTarget:
    """Limits in milliseconds, as the profile states them; None = no limit."""

    tpot_ms: float | None = None
    e2e_ms: float | None = None
    ttft_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLimits:
    """What may be considered; None = everything."""

    methods: tuple[Method, ...] | None = None
    num_speculative_tokens: tuple[int, ...] | None = None
    drafters: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """α and c by hand, for all methods (key None) or by method."""

    acceptance_rate: tuple[tuple[Method | None, float], ...] = ()
    draft_cost_ratio: tuple[tuple[Method | None, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRow:
    """One measurement of the user's. Fields left out are None and mean "as the profile"."""

    method: Method
    num_speculative_tokens: int | None = None
    #: (num_steps, topk, verify tokens)
    tree: tuple[int, int, int] | None = None
    batch: float | None = None
    temperature: float | None = None
    task: Task | None = None
    context_tokens: float | None = None
    engine: Engine | None = None
    engine_version: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    dtype: str | None = None
    drafter: str | None = None
    source: str | None = None
    date: str | None = None
    acceptance_length: float | None = None
    acceptance_per_position: tuple[float, ...] | None = None
    counts: AcceptanceCounts | None = None
    tpot_ms: float | None = None
    output_tok_s: float | None = None
    step_ms: float | None = None
    speedup: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One workload profile, validated. ``given`` holds the dotted keys that the file states."""

    name: str
    path: str | None = None
    target: TargetSpec | None = None
    hardware: HardwareSpec | None = None
    parallel: ParallelSpec = field(default_factory=ParallelSpec)
    #: None = the checkpoint's own
    dtype: str | None = None
    kv_dtype: str | None = None
    engine: EngineSpec = field(default_factory=EngineSpec)
    drafter: DrafterSpec | None = None
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    objective: Objective = Objective.LATENCY
    latency_target: LatencyTarget = field(default_factory=LatencyTarget)
    gpu_hour_usd: float | None = None
    candidates: CandidateLimits = field(default_factory=CandidateLimits)
    overrides: Overrides = field(default_factory=Overrides)
    observed: tuple[ObservedRow, ...] = ()
    given: frozenset[str] = frozenset()
