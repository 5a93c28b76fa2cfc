"""The same loop for many sequences at once, each with its own accepted length.

One pass of Python per drafted position serves the whole batch; the arithmetic of accepting and
replacing is that of :mod:`tuner.simulate.rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tuner.errors import InputError
from tuner.simulate.models import IntArray, NextToken, RowArray, check_pair, last_tokens
from tuner.simulate.rules import EXACT, Recipe


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchStep:
    """One step of every sequence."""

    #: drafted tokens, shape (B, N)
    drafts: IntArray
    #: accepted drafts, shape (B,), 0 … N
    num_accepted: IntArray
    #: replacement or bonus token, shape (B,)
    final: IntArray
    #: what the models see next, shape (B, window)
    windows: IntArray

    @property
    def emitted(self) -> IntArray:
        """Emitted tokens from the left, the rest -1, shape (B, N + 1)."""
        return emitted_tokens(self.drafts, self.num_accepted, self.final)


def emitted_tokens(drafts: IntArray, num_accepted: IntArray, final: IntArray) -> IntArray:
    """Return accepted drafts and final token from the left, then -1; shape (..., N + 1)."""
    slots = np.arange(drafts.shape[-1] + 1)
    accepted = num_accepted[..., None]
    padded = np.concatenate([drafts, final[..., None]], axis=-1)
    tokens: IntArray = np.where(slots < accepted, padded, -1)
    return np.where(slots == accepted, final[..., None], tokens)


#: up to this vocabulary a product with a triangle of ones beats a running sum
_TRIANGLE_TOKENS = 64


@lru_cache(maxsize=8)
def _triangle(size: int, dtype: np.dtype[Any]) -> RowArray:
    return np.triu(np.ones((size, size), dtype=dtype))


def cumulated(rows: RowArray) -> RowArray:
    """Return running sums along the last axis; they never fall, and stand still at zeros."""
    size = rows.shape[-1]
    if rows.ndim == 2 and size <= _TRIANGLE_TOKENS:
        # The same additions in the same order for every column, so rounding keeps the order.
        product: RowArray = rows @ _triangle(size, rows.dtype)
        return product
    return rows.cumsum(axis=-1)


def draw(rows: RowArray, uniforms: RowArray) -> IntArray:
    """Draw one token from each row by inverting its cumulative distribution.

    Parameters
    ----------
    rows : (..., V) non-negative, not all zero; need not sum to exactly 1
    uniforms : (...) floats in [0, 1)

    Returns
    -------
    (...) integers; never a token of probability 0
    """
    cumulative = cumulated(rows)
    total = cumulative[..., -1:]
    # A uniform number of the rows' own precision times the total stays below the total: it is at
    # most 1 - u/2 with u the spacing of numbers at 1, and products round to nearest.
    points = total * uniforms[..., None]
    if uniforms.dtype != rows.dtype:
        points = np.minimum(points, np.nextafter(total, 0.0, dtype=rows.dtype))
    return np.asarray((cumulative > points).argmax(axis=-1))


def draw_each(rows: RowArray, rng: np.random.Generator) -> IntArray:
    """Draw one token from each row with uniforms of the rows' own precision, shape (B,)."""
    kind = np.float32 if rows.dtype == np.float32 else np.float64
    return draw(rows, rng.random(size=len(rows), dtype=kind))


def batch_step(
    windows: IntArray,
    target: NextToken,
    drafter: NextToken,
    num_speculative_tokens: int,
    rng: np.random.Generator,
    recipe: Recipe = EXACT,
) -> BatchStep:
    """Run one draft-and-verify step for every sequence.

    Parameters
    ----------
    windows : (B, W) integers
        The last W tokens of each sequence, W at least the larger order of the two models.
    target, drafter : models over one vocabulary
    num_speculative_tokens : drafts N, at least 0
    rng : source of randomness; N * B + N * B + B uniforms are used
    recipe : the exact rule, or a faulty one for tests

    Returns
    -------
    BatchStep
    """
    batch, window = windows.shape
    n = num_speculative_tokens
    sequence = np.arange(batch)
    history, draft_rows = drafted(windows, drafter, n, rng)
    drafts = history[:, window : window + n].copy()
    at = np.arange(n)
    draft_at = np.empty((batch, n))
    for position, rows in enumerate(draft_rows):
        draft_at[:, position] = rows[sequence, drafts[:, position]]

    # One pass of the target: its distributions before each draft and after the last one.
    target_rows = target.probs(target_windows(history, window, n, target.order))
    target_at = target_rows[sequence[:, None], at, drafts].astype(np.float64)

    rejected = np.ones((batch, n + 1), dtype=np.bool_)
    keep = recipe.accept(target_at, draft_at)
    np.greater_equal(rng.random(size=(batch, n)), keep, out=rejected[:, :n])
    num_accepted = rejected.argmax(axis=1)

    final_rows = _final_rows(target_rows, draft_rows, num_accepted, recipe)
    final = draw_each(final_rows, rng)

    length = recipe.keep(num_accepted, n)
    return finished_step(history, drafts, num_accepted, final, length)


def drafted(
    windows: IntArray,
    drafter: NextToken,
    num_speculative_tokens: int,
    rng: np.random.Generator,
    *,
    greedy: bool = False,
) -> tuple[IntArray, list[RowArray]]:
    """Draft N tokens for every sequence.

    Returns
    -------
    history : (B, W + N + 1) the windows, the drafts, and a free column
    draft_rows : N arrays (B, V), what each draft was drawn from
    """
    batch, window = windows.shape
    free = np.zeros((batch, num_speculative_tokens + 1), dtype=np.int64)
    history = np.concatenate([windows, free], axis=1)
    draft_rows: list[RowArray] = []
    for end in range(window, window + num_speculative_tokens):
        rows = drafter.probs(history[:, end - drafter.order : end])
        draft_rows.append(rows)
        history[:, end] = rows.argmax(axis=1) if greedy else draw_each(rows, rng)
    return history, draft_rows


def target_windows(history: IntArray, window: int, n: int, order: int) -> IntArray:
    """Return the target's windows before each draft and after the last, shape (B, N + 1, order)."""
    columns = window - order + np.arange(n + 1)[:, None] + np.arange(order)
    return history[:, columns]


def finished_step(
    history: IntArray, drafts: IntArray, num_accepted: IntArray, final: IntArray, length: IntArray
) -> BatchStep:
    """Put the final tokens in place and return the step; ``length`` new tokens stay in context."""
    window = history.shape[1] - drafts.shape[1] - 1
    sequence = np.arange(len(final))
    history[sequence, window + num_accepted] = final
    kept_columns = length[:, None] + np.arange(window)
    return BatchStep(
        drafts=drafts,
        num_accepted=num_accepted,
        final=final,
        windows=history[sequence[:, None], kept_columns],
    )


def _final_rows(
    target_rows: RowArray, draft_rows: list[RowArray], num_accepted: IntArray, recipe: Recipe
) -> RowArray:
    """Return the distribution of the final token of each sequence, shape (B, V)."""
    n = len(draft_rows)
    sequence = np.arange(len(num_accepted))
    rows: RowArray = target_rows[sequence, num_accepted]
    if not n:
        return rows
    last = np.minimum(num_accepted, n - 1)
    drafted_from = np.stack(draft_rows)[last, sequence]
    full = np.flatnonzero(num_accepted == n)
    bonus = recipe.bonus(rows[full], drafted_from[full])
    rows = recipe.replace(rows, drafted_from)
    rows[full] = bonus
    return rows


def start_windows(prompts: IntArray, batch: int, target: NextToken, drafter: NextToken) -> IntArray:
    """Return the windows of ``batch`` sequences that start from prompts, shape (B, W).

    ``prompts`` is one context (L,) for all or one for each sequence (B, L).
    """
    check_pair(target, drafter)
    tokens = last_tokens(np.asarray(prompts, dtype=np.int64), max(target.order, drafter.order))
    if tokens.size and (tokens.min() < 0 or tokens.max() >= target.vocab_size):
        raise InputError(f"a prompt token lies outside the vocabulary of {target.vocab_size}.")
    return np.broadcast_to(tokens, (batch, tokens.shape[-1])).copy()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchRun:
    """Steps of a batch, stacked."""

    #: shape (steps, B, N)
    drafts: IntArray
    #: shape (steps, B)
    num_accepted: IntArray
    #: shape (steps, B)
    final: IntArray

    @property
    def num_speculative_tokens(self) -> int:
        """Drafts N of each step."""
        return int(self.drafts.shape[-1])

    @property
    def acceptance_length(self) -> float:
        """τ: emitted tokens a step, bonus included."""
        return float(self.num_accepted.mean()) + 1.0

    @property
    def histogram(self) -> IntArray:
        """How many steps accepted 0 … N drafts, shape (N + 1,)."""
        return np.bincount(self.num_accepted.ravel(), minlength=self.num_speculative_tokens + 1)


def run_batch(
    target: NextToken,
    drafter: NextToken,
    *,
    prompts: IntArray,
    batch: int,
    steps: int,
    num_speculative_tokens: int,
    rng: np.random.Generator,
    recipe: Recipe = EXACT,
) -> BatchRun:
    """Run ``steps`` steps of ``batch`` sequences; see :func:`batch_step`."""
    windows = start_windows(prompts, batch, target, drafter)
    drafts = np.empty((steps, batch, num_speculative_tokens), dtype=np.int64)
    num_accepted = np.empty((steps, batch), dtype=np.int64)
    final = np.empty((steps, batch), dtype=np.int64)
    for i in range(steps):
        step = batch_step(windows, target, drafter, num_speculative_tokens, rng, recipe)
        drafts[i], num_accepted[i], final[i] = step.drafts, step.num_accepted, step.final
        windows = step.windows
    return BatchRun(drafts=drafts, num_accepted=num_accepted, final=final)


StepFunction = Callable[[IntArray], BatchStep]


def first_tokens(step_of: StepFunction, windows: IntArray, *, length: int) -> tuple[IntArray, int]:
    """Return the first ``length`` tokens of independent sequences, and the steps that it took.

    Parameters
    ----------
    step_of : one step of every sequence, given the windows
    windows : (B, W) where each sequence starts
    length : emitted tokens wanted

    Returns
    -------
    tokens : (B, length) integers
    steps : speculative steps in all, of sequences that were not complete yet
    """
    restarts = len(windows)
    tokens = np.zeros((restarts, length), dtype=np.int64)
    count = np.zeros(restarts, dtype=np.int64)
    running = np.arange(restarts)
    steps = 0
    while running.size:
        step = step_of(windows)
        steps += int(running.size)
        emitted = step.emitted
        columns = count[running, None] + np.arange(emitted.shape[1])
        row, place = np.nonzero((emitted >= 0) & (columns < length))
        tokens[running[row], columns[row, place]] = emitted[row, place]
        count[running] += step.num_accepted + 1
        left = count[running] < length
        running, windows = running[left], step.windows[left]
    return tokens, steps
