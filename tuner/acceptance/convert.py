"""Every engine's "acceptance rate" and "acceptance length" ↔ counts. Nothing else converts.

Definitions, with where they stand in the engines:

* vLLM 0.33.0 ``v1/spec_decode/metrics.py``: mean acceptance length = 1 + accepted ÷ drafts; draft
  acceptance rate = accepted ÷ drafted; per-position rate = survival.
* SGLang: accept length includes the bonus token in all releases read. Its accept rate is
  length ÷ (num_steps + 1) in 0.5.4–0.5.5, length ÷ num_draft_tokens in 0.5.6–0.5.10, and
  (length − 1) ÷ (num_draft_tokens − 1) since 0.5.11.
* TensorRT-LLM ``specDecodingStats``: length = (accepted + requests) ÷ requests.
* llama.cpp b11434: draft acceptance = accepted ÷ generated; drafts vary in length.
* gpt-fast "mean accepted" and aiconfigurator ``nextn_accepted``: τ − 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.acceptance.positions import FloatArray, conditional_of
from tuner.errors import InputError
from tuner.records.acceptance import AcceptanceCounts

#: First SGLang releases of each definition of "accept rate" (managers/scheduler_metrics_mixin.py).
SGLANG_RATE_BY_DRAFT_TOKENS = (0, 5, 6)
SGLANG_RATE_WITHOUT_BONUS = (0, 5, 11)


def acceptance_length_of(counts: AcceptanceCounts) -> float:
    """Return τ over steps that had a draft: 1 + accepted ÷ drafts.

    Raises
    ------
    InputError
        No step had a draft.
    """
    if counts.num_drafts <= 0:
        raise InputError("counts hold no drafts (num_drafts = 0): τ is not defined.")
    return 1.0 + counts.num_accepted_tokens / counts.num_drafts


def length_over_all_steps(counts: AcceptanceCounts) -> float | None:
    """Return τ over all decode steps, with or without a draft; None when steps were not counted."""
    if counts.num_steps is None or counts.num_steps <= 0:
        return None
    return 1.0 + counts.num_accepted_tokens / counts.num_steps


def coverage_of(counts: AcceptanceCounts) -> float | None:
    """Return the share of decode steps that had a draft; None when steps were not counted."""
    if counts.num_steps is None or counts.num_steps <= 0:
        return None
    return counts.num_drafts / counts.num_steps


def draft_acceptance_rate_of(counts: AcceptanceCounts) -> float:
    """Return accepted ÷ drafted: what vLLM, llama.cpp and TensorRT-LLM call acceptance rate.

    Below the conditional rate α for every K above 1.
    """
    if counts.num_draft_tokens <= 0:
        raise InputError("counts hold no draft tokens (num_draft_tokens = 0).")
    return counts.num_accepted_tokens / counts.num_draft_tokens


def survival_of_counts(counts: AcceptanceCounts) -> FloatArray:
    """Return survival by position over steps that had a draft, shape (K,)."""
    return np.asarray(counts.accepted_per_position, dtype=np.float64) / max(counts.num_drafts, 1)


def conditional_of_counts(counts: AcceptanceCounts) -> FloatArray:
    """Return conditional acceptance by position, α_i = accepted_i ÷ accepted_{i−1}."""
    return conditional_of(survival_of_counts(counts))


def counts_from_survival(survival: Sequence[float], num_drafts: int) -> AcceptanceCounts:
    """Return the whole counts nearest to survival by position (vLLM's per-position rate)."""
    accepted = tuple(round(value * num_drafts) for value in survival)
    return AcceptanceCounts(
        num_drafts=num_drafts,
        num_draft_tokens=num_drafts * len(survival),
        num_accepted_tokens=sum(accepted),
        accepted_per_position=accepted,
    )


def length_from_draft_rate(draft_acceptance_rate: float, num_speculative_tokens: int) -> float:
    """Return τ = 1 + K · (accepted ÷ drafted), for drafts that always have K tokens."""
    return 1.0 + num_speculative_tokens * draft_acceptance_rate


def length_from_sglang_rate(
    accept_rate: float, version: str, *, num_steps: int, num_draft_tokens: int
) -> float:
    """Return τ from SGLang's accept rate under the definition of its release.

    Parameters
    ----------
    accept_rate
        As printed.
    version
        Release such as "0.5.9".
    num_steps, num_draft_tokens
        The server's settings (``num_draft_tokens`` counts the root).
    """
    release = _release(version)
    if release < SGLANG_RATE_BY_DRAFT_TOKENS:
        return accept_rate * (num_steps + 1)
    if release < SGLANG_RATE_WITHOUT_BONUS:
        return accept_rate * num_draft_tokens
    return 1.0 + accept_rate * (num_draft_tokens - 1)


def sglang_rate_from_length(
    acceptance_length: float, version: str, *, num_steps: int, num_draft_tokens: int
) -> float:
    """Return the accept rate that a release of SGLang prints at a given τ."""
    release = _release(version)
    if release < SGLANG_RATE_BY_DRAFT_TOKENS:
        return acceptance_length / (num_steps + 1)
    if release < SGLANG_RATE_WITHOUT_BONUS:
        return acceptance_length / num_draft_tokens
    return (acceptance_length - 1.0) / (num_draft_tokens - 1)


def length_from_accepted(accepted_drafts_per_step: float) -> float:
    """Return τ from "mean accepted" without the bonus token (gpt-fast, aiconfigurator)."""
    return 1.0 + accepted_drafts_per_step


def _release(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split(".")[:3]:
        digits = "".join(character for character in part if character.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    if len(numbers) < 2:
        raise InputError(f"engine version {version!r} is not of the form 0.5.9.")
    return tuple(numbers)
