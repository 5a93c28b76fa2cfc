"""Records about acceptance: what was counted, what is asked, what is believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.frozen import dataclass
from tuner.records.methods import Engine, Method, Task, VerifyRule

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceCounts:
    """Raw counts of speculative decoding, the form every engine's telemetry is turned into."""

    #: steps that had a draft
    num_drafts: int
    #: tokens drafted in those steps (a tree: nodes without the root)
    num_draft_tokens: int
    #: drafted tokens that were accepted, bonus excluded
    num_accepted_tokens: int
    #: how often the draft token at position i (1-based) was accepted; empty = not recorded
    accepted_per_position: tuple[int, ...] = ()
    #: decode steps in all, with or without a draft; None = not recorded
    num_steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClass:
    """What the acceptance prior knows about a target."""

    target_id: str | None
    #: total and active parameters, counts
    total_params: float
    active_params: float
    is_moe: bool = False
    is_hybrid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceQuery:
    """One question: how much would this drafter have accepted here?"""

    method: Method
    target: TargetClass
    task: Task
    #: 0 = greedy
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = None
    min_p: float | None = None
    rule: VerifyRule = VerifyRule.GREEDY
    drafter: str | None = None
    #: parameters of a draft model; None for heads and lookups
    draft_params: float | None = None
    #: draft tokens that the drafter was trained to give (MTP depth, block − 1)
    trained_depth: int | None = None
    #: longest context that the drafter was trained on
    max_context: int | None = None
    #: tokens of context at which decoding runs (prompt + half of the output)
    context_tokens: float = 1024.0
    #: None = the own code of papers, and other programs that the product does not configure
    engine: Engine | None = None
    #: published series that the question continues, and its data set; None = a setup of its own
    series: str | None = None
    data_set: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceObservation:
    """Something measured about acceptance, as the profile states it. Chain or tree."""

    method: Method
    num_speculative_tokens: int
    #: (num_steps, topk, verify tokens) when a tree was verified
    tree: tuple[int, int, int] | None = None
    #: τ, bonus included
    acceptance_length: float | None = None
    #: standard deviation of ln τ where τ was inferred (from a speed) rather than counted
    length_log_sd: float | None = None
    #: survival by position (vLLM's "per-position acceptance rate")
    survival: tuple[float, ...] | None = None
    counts: AcceptanceCounts | None = None
    task: Task | None = None
    temperature: float | None = None
    drafter: str | None = None
    source: str = "profile"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceptanceBelief:
    """What is believed about acceptance of a chain, for every K up to ``max_k``.

    Means over many requests. For lookup methods the steps without a draft are included:
    ``survival[0] = coverage × conditional``.
    """

    query: AcceptanceQuery
    #: expected survival by position, shape (max_k,), non-increasing, each in [0, 1]
    survival: FloatArray
    #: expected τ for K = 0 … max_k, shape (max_k + 1,); ``length[0] = 1``
    length: FloatArray
    #: standard deviation of ln τ for K = 0 … max_k, shape (max_k + 1,)
    length_log_sd: FloatArray
    #: share of steps that have a draft (1 for models and heads)
    coverage: float = 1.0
    #: "prior", "posterior" or "override"
    origin: str = "prior"
    #: how many published measurements the prior cell rests on, and from how many sources
    n_measurements: int = 0
    n_sources: int = 0
    #: ids of the evidence behind it
    evidence: tuple[str, ...] = ()
    #: sentences that qualify the belief ("beyond the trained context …")
    notes: tuple[str, ...] = ()

    @property
    def max_k(self) -> int:
        """Largest K that the belief covers."""
        return len(self.survival)

    @property
    def conditional(self) -> FloatArray:
        """Conditional acceptance by position, α_i = survival_i / survival_{i−1}."""
        before = np.concatenate(([1.0], self.survival[:-1]))
        return np.divide(
            self.survival, before, out=np.zeros_like(self.survival), where=before > 0.0
        )
