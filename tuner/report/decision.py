"""The decision in words: what to do first, then the numbers that carry it."""

from __future__ import annotations

from tuner.records.config import Prediction
from tuner.records.decision import BatchRow, Recommendation, State
from tuner.records.interval import Interval
from tuner.records.methods import METHOD_TITLES, Method
from tuner.report.names import config_text
from tuner.report.numbers import (
    counted,
    factor,
    percent,
    plain_number,
    sentence,
    span,
    time_change,
    time_text,
    whole_range,
)

STATE_WORDS = {State.ON: "ON", State.OFF: "OFF", State.MEASURE: "MEASURE"}
STATE_STYLES = {State.ON: "bold green", State.OFF: "bold red", State.MEASURE: "bold yellow"}


def headline(item: Recommendation, best: Prediction | None) -> str:
    """Return the first sentence."""
    if best is None:
        return sentence(item.decision.reason)
    batch = plain_number(round(item.baseline.batch, 1))
    gain = f"{factor(best.speedup.mean)}{belief(best.speedup)}"
    if item.decision.state is State.ON:
        return (
            f"{sentence(_what(best))}: {factor(best.speedup.mean)} as fast{belief(best.speedup)}."
        )
    if best.fits_memory is False or _is_off_though_faster(item, best):
        return sentence(item.decision.reason)
    if item.decision.state is State.MEASURE:
        return f"The evidence does not decide: {config_text(best.config)} would run at {gain}."
    return (
        f"No method pays at batch {batch}: the best, {config_text(best.config)}, "
        f"would run at {gain}."
    )


def decision_lines(item: Recommendation, best: Prediction | None) -> list[str]:
    """Return the lines under the headline, each a fact of its own."""
    if best is None:
        return _plain_lines(item)
    lines = []
    if item.decision.state is not State.OFF:
        lines.append(_speed_line(item, best))
        lines.append(_stream_line(best))
        lines.append(_limit_line(item))
        lines += item.targets
    lines.append(_break_even_line(item, best))
    if item.decision.state is State.OFF:
        lines.append(_limit_line(item))
        if not _is_off_though_faster(item, best):
            lines.append(_turning_line(item))
    if item.decision.state is State.MEASURE and item.next_measurement is not None:
        lines.append(f"What would decide: {item.next_measurement.what}.")
    return [line for line in lines if line]


def belief(interval: Interval) -> str:
    """Return " (80 % belief 2.2–3.0)", or nothing for an exact number."""
    if interval.p90 <= interval.p10:
        return ""
    return f" (80 % belief {span(interval, digits=2 if interval.mean < 2.0 else 1)})"


def _what(best: Prediction) -> str:
    config = best.config
    title = METHOD_TITLES[config.method]
    if config.tree:
        return f"{title}, tree {config.tree} (steps/topk/draft tokens)"
    return f"{title}, {counted(config.num_speculative_tokens, 'draft token')}"


def _plain_lines(item: Recommendation) -> list[str]:
    tpot = item.baseline.tpot_s
    return [] if tpot is None else [f"Plain decoding: TPOT {time_text(tpot.mean)}."]


def _speed_line(item: Recommendation, best: Prediction) -> str:
    plain = item.baseline.tpot_s
    if plain is None or best.tpot_s is None:
        return ""
    verb = "TPOT" if item.decision.state is State.ON else "TPOT would go"
    text = f"{verb} {time_change(plain.mean, best.tpot_s.mean)}"
    before = next((c for c in item.configs if c.config.method is Method.NONE), None)
    if before and before.e2e_s is not None and best.e2e_s is not None:
        request = time_change(before.e2e_s, best.e2e_s)
        text += f"; a whole request {request}, prefill included"
    if before and before.usd_per_million_tokens and best.usd_per_million_tokens:
        text += (
            f"; ${before.usd_per_million_tokens:.2f} → ${best.usd_per_million_tokens:.2f} "
            "a million output tokens"
        )
    return text + "."


def _is_off_though_faster(item: Recommendation, best: Prediction) -> bool:
    """Whether something else than the cost of a step decides: prefill takes the request."""
    return item.decision.state is State.OFF and best.speedup.mean > 1.0


def _stream_line(best: Prediction) -> str:
    """What a streaming client sees: tokens arrive in chunks, and luck differs between requests."""
    if best.chunk_gap_s is None or best.request_tpot_p99_s is None:
        return ""
    chunk = best.chunk_tokens_p99 or 1
    size = f", up to {chunk} tokens at once (99 of 100 chunks)" if chunk > 1 else ""
    return (
        f"A client gets a chunk every {time_text(best.chunk_gap_s)}{size}; one request in 100 "
        f"takes over {time_text(best.request_tpot_p99_s)} a token."
    )


def _limit_line(item: Recommendation) -> str:
    check = item.latency_check
    if check is None:
        return ""
    limit = plain_number(round(check.limit_s * 1000.0, 3))
    plain = (
        f"plain decoding holds it up to {check.plain_batch:,}"
        if check.plain_batch
        else "plain decoding misses it even alone"
    )
    if check.best_batch == 0:
        return f"The {limit} ms target is out of reach at every batch; {plain}."
    gain = ""
    if 0 < check.plain_batch < check.best_batch:
        times = factor(check.best_batch / check.plain_batch)
        gain = f": {times} the users on the same devices"
    return (
        f"The {limit} ms target holds up to {counted(check.best_batch, 'sequence')}; {plain}{gain}."
    )


def _break_even_line(item: Recommendation, best: Prediction) -> str:
    threshold = item.decision.break_even_acceptance_length
    if threshold is None:
        return ""
    tau = best.acceptance_length
    expected = f"expected τ {tau.mean:.2f}"
    if tau.p90 > tau.p10:
        expected += f" ({span(tau, digits=2)})"
    if item.decision.state is State.OFF:
        return (
            f"Break-even τ is {threshold:.2f}, {expected}: verifying {best.config.verify_tokens} "
            f"tokens a sequence costs {best.verify_cost_ratio:.2f} plain steps here, drafting "
            f"{best.step_cost_parts.draft:.2f}, the engine's own work "
            f"{best.step_cost_parts.overhead:.2f}."
        )
    sure = f"; {percent(item.decision.confidence)} sure that it pays"
    if item.decision.state is State.MEASURE or tau.p90 <= tau.p10:
        sure = ""
    return f"Pays while τ stays above {threshold:.2f}; {expected}{sure}."


def _turning_line(item: Recommendation) -> str:
    """Say at which batch speculation would pay, where the schedule has such rows."""
    rows = [row for row in item.schedule.by_batch if row.method is not Method.NONE]
    if not rows:
        return ""
    first = rows[0]
    where = ", ".join(_row_range(row) for row in rows)
    return (
        f"It would pay at batch {where}: {factor(first.speedup)} with "
        f"{METHOD_TITLES[first.method]} at batch {first.start:,}."
    )


def _row_range(row: BatchRow) -> str:
    setting = f"tree {row.tree}" if row.tree else f"K {row.num_speculative_tokens}"
    return f"{whole_range(row.start, row.end)} ({setting})"
