"""What is known about step times before the user measures anything: a plain table."""

from __future__ import annotations

from dataclasses import field

from tuner.frozen import dataclass

#: Free parameters of the step-time model, in the order of every vector. All are positive and are
#: held as natural logarithms. Names ending in ``_s`` are seconds, the others are pure numbers.
PARAMETERS: tuple[str, ...] = (
    "bandwidth_efficiency",
    "matrix_efficiency",
    "matmul_efficiency",
    "sharpness",
    "layer_floor_s",
    "step_overhead_s",
    "token_overhead_s",
    "many_token_jump",
    "many_token_slope",
    "attention_reread",
    "expert_efficiency",
    "expert_spread",
    "expert_evenness",
    "collective_scale",
    "draft_scale",
    "draft_model_scale",
    "draft_pass_overhead_s",
    "speculation_tax_s",
    "speculation_tax_share",
    "speculation_token_s",
)

#: parameters that belong to a method, not to the target
DRAFT_PARAMETERS: tuple[str, ...] = (
    "draft_scale",
    "draft_model_scale",
    "draft_pass_overhead_s",
    "speculation_tax_s",
    "speculation_tax_share",
    "speculation_token_s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLevel:
    """How one engine, device kind, weight format or method departs from the common values."""

    #: shift of each parameter's logarithm, in the order of ``PARAMETERS``
    shift: tuple[float, ...]
    #: how many measurements speak about this level, and from how many sources
    n_measurements: int = 0
    n_sources: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPrior:
    """Learned values of the step-time parameters, with their spread between setups."""

    #: logarithms of the common values, in the order of ``PARAMETERS``
    mean: tuple[float, ...]
    #: standard deviation of a parameter's logarithm from setup to setup
    spread: tuple[float, ...]
    #: shifts by level: "engine:vllm", "device:apple", "weights:gguf", "kind:serial" …
    levels: dict[str, CostLevel] = field(default_factory=dict)
    #: standard deviation of ln(time) by stairs of tokens, and over how many e-folds they change
    discrepancy: float = 0.06
    discrepancy_scale: float = 0.7
    #: standard deviation of a factor on all times of a setup that the equations miss
    plain_discrepancy: float = 0.12
    #: standard deviation of a factor on the speculative steps of one method in one setup
    method_offset: float = 0.10
    #: the same on an engine and kind of device that no source measured, beside the former; it falls
    #: as 1 ÷ (1 + sources)
    unmeasured_offset: float = 0.60
    #: standard deviation of ln of one measured number (noise of a run)
    measurement_noise: float = 0.02
    #: multiplies every standard deviation so that 80 % intervals cover
    widening: float = 1.0
    #: measurement ids or files behind the table
    evidence: tuple[str, ...] = ()
