"""Latency beyond the mean time per token: prefill, dilution, luck, what clients see."""

from __future__ import annotations

import math
from dataclasses import replace

from tuner.acceptance.evidence import DESIGN_EFFECT
from tuner.advise.arms import Arm
from tuner.advise.points import Load
from tuner.advise.situation import Situation
from tuner.records.config import Prediction, PredictionBeliefs
from tuner.records.decision import Baseline
from tuner.records.interval import Interval
from tuner.records.workload import LatencyTarget
from tuner.units import MILLI


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


def request_gain(load: Load, baseline: Baseline, best: Prediction | None) -> float | None:
    """Return plain time ÷ speculative time of one whole request; None where times are unknown."""
    if best is None or best.tpot_s is None or baseline.tpot_s is None:
        return None
    return dilution(load, baseline.tpot_s.mean, best.tpot_s.mean, best.ttft_delta_s or 0.0)


def request_targets(
    target: LatencyTarget, plain: Prediction, best: Prediction | None, load: Load
) -> tuple[str, ...]:
    """Return a sentence for each limit on a request or its first token, met or not."""
    if best is None or best.beliefs is None or plain.beliefs is None:
        return ()
    first = load.prefill_s + (best.ttft_delta_s or 0.0)
    rows = (
        ("request", target.e2e_ms, plain.beliefs.e2e_s, best.beliefs.e2e_s),
        (
            "first-token",
            target.ttft_ms,
            Interval.exact(load.prefill_s),
            Interval.exact(first),
        ),
    )
    return tuple(
        _target_sentence(name, limit_ms * MILLI, before, after)
        for name, limit_ms, before, after in rows
        if limit_ms is not None
    )


def _target_sentence(name: str, limit_s: float, plain_s: Interval, best_s: Interval) -> str:
    verdict = {
        (True, True): "met with and without speculation",
        (True, False): "met by plain decoding only",
        (False, True): "met with speculation only",
        (False, False): "missed with and without speculation",
    }[(plain_s.mean <= limit_s, best_s.mean <= limit_s)]
    is_exact = best_s.p90 <= best_s.p10
    given = "prefill as computed, " if is_exact else ""
    return (
        f"The {name} target of {limit_s:,.3g} s is {verdict}: {_with_belief(plain_s)} plain, "
        f"{_with_belief(best_s)} speculative, {given}queueing not included."
    )


def _with_belief(time_s: Interval) -> str:
    text = f"{time_s.mean:,.3g} s"
    if time_s.p90 <= time_s.p10:
        return text
    return f"{text} ({time_s.p10:,.3g}–{time_s.p90:,.3g})"


def client_beliefs(
    load: Load,
    *,
    step_ratio: Interval,
    tpot_s: Interval | None,
    gap_s: Interval | None,
    slow_s: float | None,
    delta_s: float | None,
    tokens_per_s: float | None,
    usd_per_million: float | None,
    falls_behind: bool = False,
) -> PredictionBeliefs | None:
    """Return what clients see with beliefs, at this batch and with prefill as computed.

    Throughput, cost and the slowest request in 100 move with TPOT; of a whole request only the
    tokens after the first do. Arrivals that are
    kept up with fix throughput and cost. ``slow_s`` is the time per token of the slowest request
    in 100.
    None where the target's speed is not known.
    """
    if tpot_s is None or gap_s is None or slow_s is None or tokens_per_s is None:
        return None
    first_s = load.prefill_s + (delta_s or 0.0)
    later = max(load.output_tokens - 1.0, 0.0)
    relative = tpot_s.scaled(1.0 / tpot_s.mean)
    is_fixed = load.request_rate is not None and not falls_behind
    served = Interval.exact(1.0) if is_fixed else relative
    return PredictionBeliefs(
        step_cost_ratio=step_ratio,
        output_tok_s=Interval(
            mean=tokens_per_s,
            p10=tokens_per_s / served.p90,
            p90=tokens_per_s / served.p10,
        ),
        chunk_gap_s=gap_s,
        request_tpot_p99_s=relative.scaled(slow_s),
        e2e_s=Interval(
            mean=first_s + later * tpot_s.mean,
            p10=first_s + later * tpot_s.p10,
            p90=first_s + later * tpot_s.p90,
        ),
        usd_per_million_tokens=(
            None if usd_per_million is None else served.scaled(usd_per_million)
        ),
    )


def dilution(load: Load, plain_s: float, spec_s: float, delta_s: float) -> float:
    """Return end-to-end speedup of one request, prefill included."""
    tokens = max(load.output_tokens - 1.0, 0.0)
    plain = load.prefill_s + tokens * plain_s
    spec = load.prefill_s + delta_s + tokens * spec_s
    return plain / spec if spec > 0.0 else 1.0


def crowded(load: Load, batch: float) -> Load:
    """Return the load as requests see it whose steps hold the prefill of the others.

    Where prefill and decoding share the devices (chunked prefill), every request that ends is
    followed by the prefill of another. By Little's law a request of a full house of ``batch``
    then takes ``batch`` times the server's time for one: its own decode steps, and ``batch``
    prefills. A bound: tokens that ride along with a chunk at no cost would take less.
    """
    return replace(load, prefill_s=load.prefill_s * max(batch, 1.0))


#: 99th percentile of the standard normal distribution
_Z99 = 2.3263478740408408


def request_tpot_s(
    tpot_s: float, per_position: tuple[float, ...], output_tokens: float
) -> tuple[float, float]:
    """Return time per output token of the median request and of the slowest in 100.

    A request of n tokens takes about n/τ steps, whose number varies by renewal theory with
    variance n Var(L) / τ³ (L = tokens of a step), times the design effect of steps that resemble
    each other within a request (``tuner.acceptance.evidence``). All steps take the same time, and
    none gives less than a token, so no request takes more than τ times the mean.
    """
    if not per_position:
        return tpot_s, tpot_s
    tau = 1.0 + sum(per_position)
    # E[L²] = 1 + Σ (2 i + 1) survival_i, as in tuner.acceptance.positions.length_variance
    square = 1.0 + sum((2 * place + 1) * kept for place, kept in enumerate(per_position, 1))
    variance = max(square - tau * tau, 0.0)
    steps = max(output_tokens / tau, 1.0)
    spread = math.sqrt(DESIGN_EFFECT * variance / (tau * tau * steps))
    return tpot_s, tpot_s * min(math.exp(_Z99 * spread), tau)


def chunk_tokens_p99(per_position: tuple[float, ...]) -> int:
    """Return the tokens that a streaming client gets at once in all but one of 100 chunks."""
    return 1 + sum(kept > 0.01 for kept in per_position)
