"""A neutral speculative configuration, and predictions about it."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.interval import Interval
from tuner.records.methods import Method, VerifyRule
from tuner.records.model import Drafter


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSetting:
    """A draft tree in SGLang's three numbers."""

    #: draft steps in sequence (depth)
    num_steps: int
    #: branches kept at each step
    topk: int
    #: verified tokens a sequence, root included (SGLang's ``num_draft_tokens``)
    draft_tokens: int

    def __str__(self) -> str:
        return f"{self.num_steps}/{self.topk}/{self.draft_tokens}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConfig:
    """What to run, whatever the engine."""

    method: Method
    drafter: Drafter | None = None
    #: draft tokens a sequence and step, bonus excluded; 0 = plain decoding
    num_speculative_tokens: int = 0
    tree: TreeSetting | None = None
    verify_rule: VerifyRule = VerifyRule.GREEDY

    @property
    def verify_tokens(self) -> int:
        """Target positions a sequence and step, root included."""
        return self.tree.draft_tokens if self.tree else self.num_speculative_tokens + 1

    @property
    def draft_steps(self) -> int:
        """Draft passes in sequence that a serial method needs."""
        return self.tree.num_steps if self.tree else self.num_speculative_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class CostParts:
    """Step time in units of a plain step."""

    draft: float
    verify: float
    overhead: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionBeliefs:
    """The belief about each number of a prediction that stands there by its mean.

    At the batch of the prediction, and with prefill as computed: neither has an interval.
    """

    step_cost_ratio: Interval
    output_tok_s: Interval
    chunk_gap_s: Interval
    #: of the slowest request in 100: the luck is that of one request, the belief that of the mean
    request_tpot_p99_s: Interval
    e2e_s: Interval
    usd_per_million_tokens: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One configuration with its numbers; field names are those of the JSON contract."""

    config: SpecConfig
    batch: float
    temperature: float
    acceptance_length: Interval
    acceptance_per_position: tuple[float, ...]
    #: one draft pass ÷ one plain step; None where the method has no passes
    draft_cost_ratio: float | None
    verify_cost_ratio: float
    step_cost_ratio: float
    step_cost_parts: CostParts
    #: None = nothing is known about the target's speed (α and c given by hand)
    tpot_s: Interval | None
    speedup: Interval
    output_tok_s: float | None
    #: time between chunks that a streaming client sees
    chunk_gap_s: float | None
    ttft_delta_s: float | None
    e2e_s: float | None
    usd_per_million_tokens: float | None
    fits_memory: bool | None
    max_batch: int | None
    acceptance_source: str
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    #: standard deviation of ln(speedup)
    speedup_log_sd: float = 0.0
    #: time per output token that half of the requests, and all but one in 100, stay below: luck
    #: within a request, not doubt about the mean
    request_tpot_p50_s: float | None = None
    request_tpot_p99_s: float | None = None
    #: requests arrive faster than it answers them
    falls_behind: bool = False
    #: tokens that all but one in 100 chunks stay at or below
    chunk_tokens_p99: int | None = None
    #: None = nothing is known about the target's speed
    beliefs: PredictionBeliefs | None = None
