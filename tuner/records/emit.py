"""What an engine adapter needs to write a launch command."""

from __future__ import annotations

from dataclasses import field

from tuner.frozen import dataclass
from tuner.records.config import SpecConfig
from tuner.records.decision import BatchRow
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitRequest:
    """One server to launch: who is served, on what, with which drafts."""

    engine: Engine
    #: id or path of the target, as the engine is given it
    target: str
    config: SpecConfig = field(default_factory=lambda: SpecConfig(method=Method.NONE))
    #: engine version; None = the newest known
    version: str | None = None
    parallel: Parallel = field(default_factory=Parallel)
    #: weight dtype as in the profile; None = the checkpoint's own
    dtype: str | None = None
    #: dtype of the checkpoint, where known; a flag is written only where the two differ
    native_dtype: str | None = None
    #: None = the engine's default
    kv_dtype: str | None = None
    #: longest sequence to serve, prompt and output, tokens
    max_context_tokens: int | None = None
    #: most sequences decoded together
    max_batch: int | None = None
    #: share of device memory that the engine may use, 0…1
    memory_fraction: float | None = None
    #: K by batch; rows of one method and of plain decoding
    schedule: tuple[BatchRow, ...] = ()
    #: shortest and longest n-gram that a prompt lookup matches. 5 is vLLM's default for both
    #: (vllm/config/speculative.py, 0.33.0); matching from 2 tokens on is assumed
    ngram_min: int = 2
    ngram_max: int = 5
    #: what requests ask of the sampler, because some of it clashes with speculation
    temperature: float = 0.0
    min_p: float | None = None
    structured_output: bool = False
    #: workload of the benchmark command
    prompt_tokens: int = 1000
    output_tokens: int = 400
    #: requests in flight, or requests a second, where the profile gives one of them
    concurrency: float | None = None
    request_rate: float | None = None
    #: parts of the workload that one run of a client cannot have, and what it has instead
    reduced: tuple[str, ...] = ()
