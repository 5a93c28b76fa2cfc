"""Latency beyond the mean time per token: prefill, dilution, limits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tuner.acceptance.evidence import DESIGN_EFFECT
from tuner.advise.arms import Arm
from tuner.advise.points import LOAD_GRID, Load
from tuner.advise.situation import Situation
from tuner.records.config import Prediction
from tuner.records.decision import Baseline, LatencyCheck
from tuner.records.workload import LatencyTarget
from tuner.units import MILLI

FloatArray = NDArray[np.float64]


def prefill_delta_s(situation: Situation, arm: Arm, load: Load) -> float:
    """Return how much longer prefill takes because the drafter reads the prompt too.

    The drafter's share is its parameters over the target's active ones (both passes are bound by
    compute in prefill); lookups and built-in heads without a stated size add one layer's share.
    """
    setup = situation.setup
    if setup is None or load.prefill_s == 0.0:
        return 0.0
    drafter = arm.plan.drafter
    if drafter is None:
        return 0.0
    if drafter.params is not None:
        share = drafter.params / setup.target.active_params
    else:
        share = (drafter.n_layers or 1) / setup.target.n_layers
    return load.prefill_s * share


def latency_check(
    limit_ms: float | None,
    plain_s: FloatArray,
    best_s: FloatArray,
    max_batch_plain: int | None,
    max_batch: int | None,
) -> LatencyCheck | None:
    """Return the largest batches that keep TPOT within a limit; inputs are over LOAD_GRID."""
    if limit_ms is None or np.isnan(plain_s).any():
        return None
    limit_s = limit_ms * MILLI
    end = int(LOAD_GRID[-1])
    return LatencyCheck(
        limit_s=limit_s,
        plain_batch=min(
            _largest(plain_s, limit_s), end if max_batch_plain is None else max_batch_plain
        ),
        best_batch=min(_largest(best_s, limit_s), end if max_batch is None else max_batch),
    )


def _largest(tpot_s: FloatArray, limit_s: float) -> int:
    """The last batch before TPOT first exceeds the limit, interpolated; 0 = none."""
    over = np.flatnonzero(tpot_s > limit_s)
    if over.size == 0:
        return int(LOAD_GRID[-1])
    first = int(over[0])
    if first == 0:
        return 0
    low, high = tpot_s[first - 1], tpot_s[first]
    share = (limit_s - low) / (high - low)
    return int(LOAD_GRID[first - 1] + share * (LOAD_GRID[first] - LOAD_GRID[first - 1]))


def request_gain(load: Load, baseline: Baseline, best: Prediction | None) -> float | None:
    """Return plain time ÷ speculative time of one whole request; None where times are unknown."""
    if best is None or best.tpot_s is None or baseline.tpot_s is None:
        return None
    return dilution(load, baseline.tpot_s.mean, best.tpot_s.mean, best.ttft_delta_s or 0.0)


def request_targets(
    target: LatencyTarget, plain: Prediction, best: Prediction | None, load: Load
) -> tuple[str, ...]:
    """Return a sentence for each limit on a request or its first token, met or not."""
    if best is None or best.e2e_s is None or plain.e2e_s is None:
        return ()
    first = load.prefill_s + (best.ttft_delta_s or 0.0)
    rows = (
        ("request", target.e2e_ms, plain.e2e_s, best.e2e_s),
        ("first-token", target.ttft_ms, load.prefill_s, first),
    )
    return tuple(
        _target_sentence(name, limit_ms * MILLI, plain_s, best_s)
        for name, limit_ms, plain_s, best_s in rows
        if limit_ms is not None
    )


def _target_sentence(name: str, limit_s: float, plain_s: float, best_s: float) -> str:
    verdict = {
        (True, True): "met with and without speculation",
        (True, False): "met by plain decoding only",
        (False, True): "met with speculation only",
        (False, False): "missed with and without speculation",
    }[(plain_s <= limit_s, best_s <= limit_s)]
    return (
        f"The {name} target of {limit_s:,.3g} s is {verdict}: {plain_s:,.3g} s plain, "
        f"{best_s:,.3g} s speculative, queueing not included."
    )


def dilution(load: Load, plain_s: float, spec_s: float, delta_s: float) -> float:
    """Return end-to-end speedup of one request, prefill included."""
    tokens = max(load.output_tokens - 1.0, 0.0)
    plain = load.prefill_s + tokens * plain_s
    spec = load.prefill_s + delta_s + tokens * spec_s
    return plain / spec if spec > 0.0 else 1.0


#: 99th percentile of the standard normal distribution
_Z99 = 2.3263478740408408


def request_tpot_s(
    tpot_s: float, per_position: tuple[float, ...], output_tokens: float
) -> tuple[float, float]:
    """Return time per output token of the median request and of the slowest in 100.

    A request of n tokens takes about n/τ steps, whose number varies by renewal theory with
    variance n Var(L) / τ³ (L = tokens of a step), times the design effect of steps that resemble
    each other within a request (``tuner.acceptance.evidence``). All steps take the same time.
    """
    if not per_position:
        return tpot_s, tpot_s
    tau = 1.0 + sum(per_position)
    # E[L²] = 1 + Σ (2 i + 1) survival_i, as in tuner.acceptance.positions.length_variance
    square = 1.0 + sum((2 * place + 1) * kept for place, kept in enumerate(per_position, 1))
    variance = max(square - tau * tau, 0.0)
    steps = max(output_tokens / tau, 1.0)
    spread = math.sqrt(DESIGN_EFFECT * variance / (tau * tau * steps))
    return tpot_s, tpot_s * math.exp(_Z99 * spread)


def chunk_tokens_p99(per_position: tuple[float, ...]) -> int:
    """Return the tokens that a streaming client gets at once in all but one of 100 chunks."""
    return 1 + sum(kept > 0.01 for kept in per_position)
