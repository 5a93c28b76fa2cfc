"""Observations of acceptance as measured numbers with variances, whatever form they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tuner.acceptance.positions import (
    FloatArray,
    conditional_of,
    length_variance,
    logit,
)
from tuner.records.acceptance import AcceptanceCounts, AcceptanceObservation

#: Steps of one request resemble each other: the variance of an average over steps is this many
#: times the binomial one (assumed; 160 steps a request at an intra-request correlation of 0.02).
DESIGN_EFFECT = 4.0
#: Drafts that a rate without counts is taken to rest on (assumed: one benchmark of 80 prompts).
ASSUMED_DRAFTS = 4000.0


#: ln(τ of a served tree ÷ τ of the chain as deep): −0.13 at equal verified tokens (SpecBundle,
#: 102 pairs of topk 3 and 4 with topk 1), growing by 0.21 with ln of the tokens beyond that (EAGLE
#: paper: its tree adds 0.62 to 0.75 tokens to the chain); standard deviation of the pairs 0.16.
TREE_LOG_RATIO, TREE_LOG_GROWTH, TREE_LOG_SD = -0.13, 0.21, 0.16


@dataclass(slots=True)
class Measured:
    """Measured ln τ at some K, and measured logit α at some positions."""

    lengths: list[tuple[int, float, float, float]] = field(default_factory=list)
    """(K, ln τ, variance, shift of the level against the question)"""
    rates: list[tuple[int, float, float, float]] = field(default_factory=list)
    """(position, logit α, variance, shift)"""

    def __bool__(self) -> bool:
        return bool(self.lengths or self.rates)


def add_observation(
    measured: Measured,
    row: AcceptanceObservation,
    *,
    shift: float,
    run_log_sd: float,
    copied: bool,
) -> None:
    """Add one row; ``shift`` is its expected level minus the question's, in logits.

    A tree counts as a chain of its depth, with the doubt about what its width gave.
    """
    if row.tree is not None:
        _add_tree(measured, row, shift, run_log_sd)
    elif row.counts is not None and row.counts.num_drafts > 0:
        _add_counts(measured, row.counts, row.num_speculative_tokens, shift, run_log_sd, copied)
    elif row.survival:
        drafts = np.full(len(row.survival), ASSUMED_DRAFTS)
        _add_rates(measured, row.survival, drafts, shift)
        # A rate near 0 or 1 says little in logits, but together they state τ.
        _add_length(measured, row, 1.0 + float(sum(row.survival)), shift, run_log_sd)
    elif row.acceptance_length is not None and row.num_speculative_tokens > 0:
        _add_length(measured, row, row.acceptance_length, shift, run_log_sd)


def _add_length(
    measured: Measured,
    row: AcceptanceObservation,
    length: float,
    shift: float,
    run_log_sd: float,
) -> None:
    kept = min(max(length, 1.0 + 1e-4), row.num_speculative_tokens + 1.0 - 1e-3)
    variance = run_log_sd**2 + (row.length_log_sd or 0.0) ** 2
    measured.lengths.append((row.num_speculative_tokens, float(np.log(kept)), variance, shift))


def _add_tree(
    measured: Measured, row: AcceptanceObservation, shift: float, run_log_sd: float
) -> None:
    length = length_of_tree(row)
    if length is None or row.tree is None:
        return
    steps, _, verify_tokens = row.tree
    width = TREE_LOG_RATIO + TREE_LOG_GROWTH * float(np.log(verify_tokens / (steps + 1.0)))
    chain = min(max(length / float(np.exp(width)), 1.0 + 1e-4), steps + 1.0 - 1e-3)
    measured.lengths.append((steps, float(np.log(chain)), run_log_sd**2 + TREE_LOG_SD**2, shift))


def length_of_tree(row: AcceptanceObservation) -> float | None:
    """Return τ of a measured tree, reported or counted; None where it says neither.

    Survival by depth gives it where every depth is listed: the mean of what a step accepts is the
    sum of the chances that it accepts so much.
    """
    if row.acceptance_length is not None:
        return row.acceptance_length
    if row.counts is not None and row.counts.num_drafts > 0:
        return 1.0 + row.counts.num_accepted_tokens / row.counts.num_drafts
    if row.tree is not None and row.survival and len(row.survival) >= row.tree[0]:
        return 1.0 + float(sum(row.survival))
    return None


def _add_counts(
    measured: Measured,
    counts: AcceptanceCounts,
    num_speculative_tokens: int,
    shift: float,
    run_log_sd: float,
    copied: bool,
) -> None:
    steps = counts.num_steps or counts.num_drafts
    if copied and counts.num_steps is None:
        # Without the steps that had no draft only the later positions say something.
        steps = 0
    accepted = np.asarray(counts.accepted_per_position, dtype=np.float64)
    if accepted.size:
        survival = accepted / (steps or counts.num_drafts)
        _add_rates(
            measured,
            survival,
            np.full(accepted.size, float(steps or counts.num_drafts)),
            shift,
            first=1 if steps else 2,
        )
        return
    if not steps:
        return
    length = 1.0 + counts.num_accepted_tokens / steps
    longest = max(num_speculative_tokens, 1)
    rate = min(max((length - 1.0) / longest, 1e-3), 0.999)
    # the law of tokens a step is not recorded: a constant rate gives its variance
    spread = float(length_variance(rate ** np.arange(1.0, longest + 1.0), longest))
    variance = max(spread, 1e-3) * DESIGN_EFFECT / steps / length**2
    measured.lengths.append((longest, float(np.log(max(length, 1.0 + 1e-4))), variance, shift))


def _add_rates(
    measured: Measured,
    survival: Sequence[float] | FloatArray,
    drafts: FloatArray,
    shift: float,
    first: int = 1,
) -> None:
    """Each position is a binomial draw among the drafts that got there, thinned for clustering."""
    given = np.minimum.accumulate(np.clip(np.asarray(survival, dtype=np.float64), 0.0, 1.0))
    rate = conditional_of(given)
    reached = drafts * np.concatenate(([1.0], given[:-1])) / DESIGN_EFFECT
    for place in range(first - 1, len(rate)):
        trials = float(reached[place])
        if trials < 1.0:
            break
        # Haldane–Anscombe: half a success and half a failure keep the logit finite
        smoothed = (rate[place] * trials + 0.5) / (trials + 1.0)
        variance = 1.0 / (trials * smoothed * (1.0 - smoothed))
        measured.rates.append((place + 1, float(logit(smoothed)), variance, shift))
