"""Conditional acceptance under each verify rule, from acceptance at temperature 0.

A family of next-token distributions stands for text: at each position the target's first choice
has log-odds m against each of ``RIVALS`` equal rivals, m is exponentially distributed over
positions, and the drafter names the same first choice with a chance that grows with m. The
drafter's own log-odds are ``DRAFT_SHARPNESS · m``. Everything else follows by integration over m:
temperature divides log-odds, truncation (top-k, top-p, min-p) removes rivals.

What the family leaves out: rivals are equal, and acceptance at one position tells nothing about
the next. The mean margin is fitted on published pairs at T = 0 and 1 (``docs/acceptance.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tuner.acceptance.positions import FloatArray, logistic, logit
from tuner.records.methods import VerifyRule

#: Rivals of the first choice (assumed: beyond ten candidates the mass is negligible).
RIVALS = 10
#: Mean log-odds of the first choice against one rival where α at temperature 0 is one half, and
#: its growth with the logit of that α: text that is easy to draft is also more certain (fitted).
MEAN_MARGIN = 3.0
MARGIN_GROWTH = 0.7
#: Growth of the drafter's agreement with the margin, in logits a unit (assumed).
AGREEMENT_SLOPE = 0.2
#: Drafter's log-odds ÷ target's (assumed: drafters are trained on the target's distribution).
DRAFT_SHARPNESS = 0.8
#: Share of the rivals' mass that target and drafter put on the same tokens (fitted).
OVERLAP = 0.6
#: Typical acceptance: ε and δ of Medusa's repository (posterior_threshold 0.09, posterior_alpha
#: 0.3); a token passes with target probability above min(ε, δ·exp(−entropy)).
TYPICAL_FLOOR, TYPICAL_SCALE = 0.09, 0.3
#: Relaxed acceptance: a candidate passes within this probability of the first choice (assumed; the
#: engine's flag decides, TensorRT-LLM relaxed_delta).
RELAXED_DELTA = 0.6
#: Block verification accepts more than token by token; on the level of single positions, in logits.
#: Assumed, so that τ at K = 8 and α 0.5 to 0.8 grows by 6 to 7 %: Sun et al. 2024, "Block
#: Verification Accelerates Speculative Decoding" (arXiv:2403.10444), report 5 to 8 % speed. No
#: advice asks for block verification, so no number on a screen hangs on it.
BLOCK_GAIN = 0.12

#: rounds and closeness of the search for a mean rate
_MOST_ROUNDS = 30
_CLOSE = 1e-14

_NODES = (np.arange(96) + 0.5) / 96.0
#: margins at equal steps of the exponential law's distribution function
_MARGIN_UNITS = -np.log1p(-_NODES)
_RATE_GRID = np.linspace(0.02, 0.995, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What the sampler does with target and drafter alike."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = None
    min_p: float | None = None


def acceptance_under(
    rule: VerifyRule, greedy_rate: float, sampling: Sampling, mean_margin: float = MEAN_MARGIN
) -> float:
    """Return α under a rule and sampling, given α at temperature 0.

    Parameters
    ----------
    rule
        Verify rule. At temperature 0 every lossless rule is the greedy one.
    greedy_rate
        α at temperature 0, inside (0, 1).
    sampling
        Temperature ≥ 0 and truncation.
    mean_margin
        Mean log-odds of the target's first choice against one rival, > 0.

    References
    ----------
    Leviathan et al. 2023: α = Σ min(target, draft) for the ratio rule. Cai et al. 2024 (Medusa),
    section 2.3.1, for typical acceptance. The one-hot and exact-match rules keep the drafter's
    first choice with the target's probability of it.
    """
    table = _rates(rule, sampling, mean_margin)
    return float(np.interp(greedy_rate, _RATE_GRID, table))


@lru_cache(maxsize=512)
def level_shifts(rule: VerifyRule, sampling: Sampling) -> tuple[FloatArray, FloatArray]:
    """Return levels at temperature 0 and the change of the level there, both in logits."""
    return logit(_RATE_GRID), logit(_rates(rule, sampling, MEAN_MARGIN)) - logit(_RATE_GRID)


@lru_cache(maxsize=512)
def _rates(rule: VerifyRule, sampling: Sampling, mean_margin: float) -> FloatArray:
    """Return α by α at temperature 0 (the rate grid)."""
    margin = _margins(mean_margin)
    agreement = _agreement(mean_margin)
    if sampling.temperature <= 0.0 and not rule.is_lossy:
        return _RATE_GRID.copy()
    first, rival, kept = _first_choice(margin, sampling)
    if rule is VerifyRule.TYPICAL or rule is VerifyRule.RELAXED:
        same, other = _lossy(rule, margin, sampling)
    elif rule in (VerifyRule.RATIO, VerifyRule.BLOCK):
        own, own_rival, own_kept = _first_choice(DRAFT_SHARPNESS * margin, sampling)
        both = np.minimum(kept, own_kept)
        shared = OVERLAP * np.minimum(rival, own_rival)
        same = np.minimum(first, own) + both * shared
        # the drafter's first choice is one of the rivals: two tokens change places
        crossed = np.minimum(own, rival) * (kept >= 1.0)
        crossed += np.minimum(first, own_rival) * (OVERLAP * (own_kept >= 1.0))
        other = crossed + np.maximum(both - 1.0, 0.0) * shared
    else:
        same, other = first, rival * (kept >= 1.0)
    rate = (other + agreement * (same - other)).mean(axis=1)
    if rule is VerifyRule.BLOCK:
        rate = logistic(logit(rate) + BLOCK_GAIN)
    found: FloatArray = np.clip(rate, 1e-4, 0.9995)
    if rule.is_lossy:
        return found  # text that is hard to draft is uncertain, and there lossy rules keep most
    found = np.maximum.accumulate(found)
    return found


def _first_choice(
    margin: FloatArray, sampling: Sampling
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return probabilities of the first choice and of one kept rival, and how many are kept.

    The number kept is a scalar unless it depends on the margin.
    """
    temperature = max(sampling.temperature, 1e-6)
    odds = np.exp(margin * (-1.0 / temperature))
    most = RIVALS if sampling.top_k is None else min(RIVALS, max(sampling.top_k - 1, 0))
    kept: FloatArray = np.array(float(most))
    if sampling.min_p is not None:
        kept = np.where(odds >= sampling.min_p, kept, 0.0)
    if sampling.top_p < 1.0:
        total = 1.0 + kept * odds
        wanted = (sampling.top_p * total - 1.0) / odds.clip(1e-300)
        kept = np.minimum(kept, np.ceil(np.clip(wanted, 0.0, RIVALS)))
    total = 1.0 + kept * odds
    return 1.0 / total, odds / total, kept


def _lossy(
    rule: VerifyRule, margin: FloatArray, sampling: Sampling
) -> tuple[FloatArray, FloatArray]:
    """Return whether the first choice and a rival pass a lossy rule."""
    first, rival, kept = _first_choice(margin, Sampling(temperature=max(sampling.temperature, 1.0)))
    if rule is VerifyRule.RELAXED:
        return np.ones_like(first), (first - rival <= RELAXED_DELTA).astype(np.float64)
    entropy = -first * np.log(first) - kept * rival * np.log(np.maximum(rival, 1e-300))
    floor = np.minimum(TYPICAL_FLOOR, TYPICAL_SCALE * np.exp(-entropy))
    return (first >= floor).astype(np.float64), (rival >= floor).astype(np.float64)


@lru_cache(maxsize=8)
def _margins(mean_margin: float) -> FloatArray:
    """Return margins for each rate of the grid, shape (rates, nodes)."""
    mean = mean_margin * np.exp(MARGIN_GROWTH * logit(_RATE_GRID))
    margins: FloatArray = mean[:, None] * _MARGIN_UNITS
    return margins


@lru_cache(maxsize=8)
def _agreement(mean_margin: float) -> FloatArray:
    """Return P(same first choice | margin) so that its mean is each rate of the grid.

    By Newton's method, with a step to the middle of what is left where it would leave it.
    """
    growth = AGREEMENT_SLOPE * _margins(mean_margin)
    low, high = np.full(len(_RATE_GRID), -400.0), np.full(len(_RATE_GRID), 12.0)
    level = logit(_RATE_GRID) - growth.mean(axis=1)
    for _ in range(_MOST_ROUNDS):
        found: FloatArray = logistic(level[:, None] + growth)
        excess = found.mean(axis=1) - _RATE_GRID
        if np.abs(excess).max() < _CLOSE:
            break
        low, high = np.where(excess < 0.0, level, low), np.where(excess < 0.0, high, level)
        level = level - excess / np.maximum((found * (1.0 - found)).mean(axis=1), 1e-300)
        level = np.where((level >= low) & (level <= high), level, 0.5 * (low + high))
    return found
