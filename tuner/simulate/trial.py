"""One measured run of the sampler: what was accepted, what the maths says, what the cache did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.simulate.batched import BatchRun, run_batch
from tuner.simulate.distances import acceptance_rates, kl_divergence, row_total_variation
from tuner.simulate.independent import run_independent
from tuner.simulate.kv import KvCounts, PagedCache, replay
from tuner.simulate.models import FloatArray, IntArray, NextToken, TableModel, last_tokens
from tuner.speedup import expected_tokens, formula_step_cost, time_per_token

#: contexts of the target's own text on which distances are averaged
DISTANCE_CONTEXTS = 4096
KV_BLOCK_SIZE = 16
#: the cache is a Python object a sequence; it is replayed for this many of each
KV_SEQUENCES = 64
KV_STEPS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """How far the drafter is from the target, averaged over the target's own text."""

    #: KL(target ‖ drafter), nats
    kl: float
    total_variation: float
    #: 1 - total variation, what the exact rule accepts
    acceptance_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse:
    """The KV cache of the run's first sequences and steps, in blocks of ``KV_BLOCK_SIZE``."""

    sequences: int
    steps: int
    counts: KvCounts
    blocks_taken: int
    blocks_returned: int
    most_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """What a run gave."""

    vocab_size: int
    num_speculative_tokens: int
    sequences: int
    steps: int
    #: α that the pair was built for; None = whatever the models give
    given_acceptance: float | None
    distances: Distances
    #: accepted ÷ (accepted + rejected), with its standard error over sequences
    acceptance_rate: float
    acceptance_rate_error: float
    #: τ, with its standard error over sequences
    acceptance_length: float
    acceptance_length_error: float
    #: τ of the formula at α = 1 - total variation
    formula_length: float
    #: steps that accepted 0 … N drafts
    histogram: IntArray
    #: α by position; NaN where no draft was looked at
    conditional: FloatArray
    draft_cost_ratio: float
    #: in plain steps, (N c + 1) ÷ τ
    time_per_token: float
    cache: CacheUse

    @property
    def speedup(self) -> float:
        """Plain steps saved: 1 ÷ time per token."""
        return 1.0 / self.time_per_token


def run_trial(
    target: NextToken,
    drafter: NextToken,
    *,
    num_speculative_tokens: int,
    batch: int,
    steps: int,
    draft_cost_ratio: float,
    rng: np.random.Generator,
    given_acceptance: float | None = None,
    distances: Distances | None = None,
) -> Trial:
    """Run the exact sampler and collect its figures.

    Parameters
    ----------
    target, drafter : models over one vocabulary
    num_speculative_tokens : N, at least 1
    batch, steps : B sequences of this many steps each
    draft_cost_ratio : c, one draft pass in plain steps
    rng : source of randomness
    given_acceptance : α that the pair was built for
    distances : of this pair, where they are known already
    """
    run = run_pair(
        target,
        drafter,
        batch=batch,
        steps=steps,
        num_speculative_tokens=num_speculative_tokens,
        rng=rng,
    )
    if distances is None:
        distances = mean_distances(target, drafter, rng)
    accepted = run.num_accepted.sum(axis=0)
    rejected = (run.num_accepted < num_speculative_tokens).sum(axis=0)
    looked_at = accepted + rejected
    rate = float(accepted.sum() / looked_at.sum())
    rate_spread = (accepted - rate * looked_at) / looked_at.mean()
    lengths = run.num_accepted.mean(axis=0) + 1.0
    tau = float(lengths.mean())
    return Trial(
        vocab_size=target.vocab_size,
        num_speculative_tokens=num_speculative_tokens,
        sequences=batch,
        steps=steps,
        given_acceptance=given_acceptance,
        distances=distances,
        acceptance_rate=rate,
        acceptance_rate_error=_standard_error(rate_spread),
        acceptance_length=tau,
        acceptance_length_error=_standard_error(lengths),
        formula_length=float(expected_tokens(distances.acceptance_rate, num_speculative_tokens)),
        histogram=run.histogram,
        conditional=conditional_acceptance(run.histogram),
        draft_cost_ratio=draft_cost_ratio,
        time_per_token=float(
            time_per_token(tau, formula_step_cost(num_speculative_tokens, draft_cost_ratio))
        ),
        cache=cache_use(run),
    )


def run_pair(
    target: NextToken,
    drafter: NextToken,
    *,
    batch: int,
    steps: int,
    num_speculative_tokens: int,
    rng: np.random.Generator,
) -> BatchRun:
    """Run the fastest loop that fits the models."""
    tables = [model for model in (target, drafter) if isinstance(model, TableModel)]
    if len(tables) == 2 and target.order == drafter.order == 0:
        return run_independent(
            *tables,
            steps=steps,
            batch=batch,
            num_speculative_tokens=num_speculative_tokens,
            rng=rng,
        )
    return run_batch(
        target,
        drafter,
        prompts=burnt_in(target, drafter, batch=batch, rng=rng),
        batch=batch,
        steps=steps,
        num_speculative_tokens=num_speculative_tokens,
        rng=rng,
    )


def burnt_in(
    target: NextToken, drafter: NextToken, *, batch: int, rng: np.random.Generator
) -> IntArray:
    """Return texts that the target writes, long enough to have left a random start behind."""
    length = 4 * max(target.order, drafter.order)
    return own_text(target, length=length, batch=batch, rng=rng)


def conditional_acceptance(histogram: IntArray) -> FloatArray:
    """Return α by position from how many steps accepted 0 … N drafts, shape (N,)."""
    reached = histogram[::-1].cumsum()[::-1].astype(np.float64)
    rates = np.full(len(reached) - 1, np.nan)
    np.divide(reached[1:], reached[:-1], out=rates, where=reached[:-1] > 0)
    return rates


def own_text(model: NextToken, *, length: int, batch: int, rng: np.random.Generator) -> IntArray:
    """Return text that the model writes after random tokens, shape (batch, length)."""
    run = run_batch(
        model,
        model,
        prompts=rng.integers(model.vocab_size, size=(batch, model.order)),
        batch=batch,
        steps=length,
        num_speculative_tokens=0,
        rng=rng,
    )
    return run.final.T


def mean_distances(target: NextToken, drafter: NextToken, rng: np.random.Generator) -> Distances:
    """Return distances averaged over contexts that the target itself writes.

    Contexts are the ends of ``DISTANCE_CONTEXTS`` texts, long enough to have left the start.
    """
    has_context = max(target.order, drafter.order) > 0
    text = burnt_in(target, drafter, batch=DISTANCE_CONTEXTS if has_context else 1, rng=rng)
    target_rows = target.probs(last_tokens(text, target.order))
    draft_rows = drafter.probs(last_tokens(text, drafter.order))
    return Distances(
        kl=float(kl_divergence(target_rows, draft_rows).mean()),
        total_variation=float(row_total_variation(target_rows, draft_rows).mean()),
        acceptance_rate=float(acceptance_rates(target_rows, draft_rows).mean()),
    )


def cache_use(run: BatchRun) -> CacheUse:
    """Return what a paged cache does under the first sequences and steps of a run."""
    steps = min(len(run.final), KV_STEPS)
    sequences = min(run.final.shape[1], KV_SEQUENCES)
    longest = steps * (run.num_speculative_tokens + 1)
    blocks_each = -(-longest // KV_BLOCK_SIZE)
    cache = PagedCache(sequences, num_blocks=sequences * blocks_each, block_size=KV_BLOCK_SIZE)
    replay(
        cache,
        np.zeros(sequences, dtype=np.int64),
        run.drafts[:steps, :sequences],
        run.num_accepted[:steps, :sequences],
        run.final[:steps, :sequences],
    )
    return CacheUse(
        sequences=sequences,
        steps=steps,
        counts=cache.counts,
        blocks_taken=cache.blocks_taken,
        blocks_returned=cache.blocks_returned,
        most_blocks=cache.most_blocks,
    )


def _standard_error(values: FloatArray) -> float:
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values)))
