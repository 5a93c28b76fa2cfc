"""Records about time and memory. Seconds, bytes, counts; arrays broadcast over configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass
from tuner.records.hardware import Hardware
from tuner.records.methods import DraftKind, Engine, Method
from tuner.records.model import Drafter, ModelShape

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSetup:
    """Everything that fixes step time besides the configuration: who runs what on what."""

    target: ModelShape
    hardware: Hardware
    #: weight dtype as in the profile ("bfloat16", "fp8", "gguf:Q4_K_M" …)
    dtype: str = "bfloat16"
    kv_dtype: str = "bfloat16"
    #: None = an engine that the product does not configure
    engine: Engine | None = Engine.VLLM
    engine_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPlan:
    """How drafts are made: the method, its drafter and the shape of its cost."""

    method: Method
    kind: DraftKind
    drafter: Drafter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostObservation:
    """One timing that the user measured on this hardware."""

    method: Method
    batch: float
    #: 0 for plain decoding
    num_speculative_tokens: int = 0
    #: draft steps in sequence and verified tokens a sequence (root included)
    draft_steps: int = 0
    verify_tokens: float = 1
    context_tokens: float | None = None
    #: mean time of one step (all sequences), seconds
    step_s: float | None = None
    #: time per output token of one sequence, seconds; step = tpot × τ
    tpot_s: float | None = None
    #: τ of that run, where known
    acceptance_length: float | None = None
    #: speculative speed over plain speed in the same setup
    speedup: float | None = None
    #: time spent drafting in one step, seconds (llama.cpp logs it)
    draft_s: float | None = None
    #: standard deviation of ln(number) beyond the noise of a run, such as an uncertain τ
    log_sd: float = 0.0
    #: which drafter ran; None = the usual one of the method
    drafter: Drafter | None = None
    source: str = "profile"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTimes:
    """Predicted times of one step for an array of configurations (all arrays of one shape).

    ``step = draft_s + verify_s + overhead_s``; ``step_cost_ratio = step / baseline_s``.
    """

    #: plain decoding step at the same batch and context
    baseline_s: FloatArray
    draft_s: FloatArray
    #: target pass over ``verify_tokens`` tokens a sequence
    verify_s: FloatArray
    #: fixed cost of having speculation on: scheduler, sampler, lost overlap, engine habits
    overhead_s: FloatArray
    #: standard deviation of ln(baseline_s)
    baseline_log_sd: FloatArray
    #: standard deviation of ln(step / baseline_s)
    ratio_log_sd: FloatArray
    #: time of one serial draft pass (0 where the method has none)
    draft_pass_s: FloatArray
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """Bytes on one device, and what fits."""

    weights_bytes: float
    drafter_bytes: float
    kv_bytes_per_token: float
    draft_kv_bytes_per_token: float
    activation_bytes: float
    logits_bytes: float
    graph_bytes: float
    #: memory that the engine may use, after its reserve
    usable_bytes: float
    #: most sequences of this length that fit; 0 = the weights alone do not fit
    max_batch: int
    #: the same without the drafter
    max_batch_plain: int
    fits: bool
