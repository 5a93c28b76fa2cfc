"""The decision in words: what to do first, then the numbers that carry it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuner.advise.explain import batch_text
from tuner.records.config import Prediction
from tuner.records.decision import BatchRow, LatencyCheck, Recommendation, State
from tuner.records.interval import Interval
from tuner.records.methods import METHOD_TITLES, Method
from tuner.report.names import config_text
from tuner.report.numbers import (
    DASH,
    counted,
    factor,
    percent,
    plain_number,
    ratio,
    sentence,
    span,
    time_with_belief,
    whole_range,
)

STATE_WORDS = {State.ON: "ON", State.OFF: "OFF", State.MEASURE: "MEASURE"}
#: Batches that settle this close together are not told apart in a sentence (assumed: less than what
#: repeated runs of one setting differ by).
SAME_BATCH = 0.02
STATE_STYLES = {State.ON: "bold green", State.OFF: "bold red", State.MEASURE: "bold yellow"}


def headline(item: Recommendation, best: Prediction | None) -> str:
    """Return the first sentence."""
    if best is None:
        return sentence(item.decision.reason)
    batch = batch_text(item.baseline.batch)
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
        f"{_none(item.limited)} at batch {batch}: the best, {config_text(best.config)}, "
        f"would run at {gain}."
    )


def _none(limited: Sequence[str]) -> str:
    """Return whom the negative answer is about: all, or what the profile allows."""
    if not limited:
        return "No method pays"
    return f"None of the allowed {' and '.join(limited)} pays"


def decision_lines(item: Recommendation, best: Prediction | None) -> list[str]:
    """Return the lines under the headline, each a fact of its own."""
    if best is None:
        return _plain_lines(item)
    lines = []
    if item.decision.state is not State.OFF:
        lines.append(_speed_line(item, best))
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
    return [] if tpot is None else [f"Plain decoding: TPOT {time_with_belief(tpot)}."]


def _speed_line(item: Recommendation, best: Prediction) -> str:
    plain = item.baseline.tpot_s
    if plain is None or best.tpot_s is None:
        return ""
    verb = "TPOT" if item.decision.state is State.ON else "TPOT would go"
    before, after = time_with_belief(plain), time_with_belief(best.tpot_s)
    own, other = item.baseline.batch, best.batch
    if abs(own - other) <= SAME_BATCH * own:
        return f"{verb} {before} → {after}."
    both = batch_text(other)
    return (
        f"{verb} {before} → {after}, each at its own batch ({batch_text(own)} → {both}); "
        f"{factor(best.speedup.mean)} holds where both run at batch {both}."
    )


def _is_off_though_faster(item: Recommendation, best: Prediction) -> bool:
    """Whether something else than the cost of a step decides: prefill takes the request."""
    return item.decision.state is State.OFF and best.speedup.mean > 1.0


def _limit_line(item: Recommendation) -> str:
    check = item.latency_check
    if check is None:
        return ""
    limit = plain_number(round(check.limit_s * 1000.0, 3))
    plain = (
        f"plain decoding up to {_sequences(check.plain_batch, check.plain_span, check)}"
        if check.plain_batch
        else "plain decoding misses it even alone"
        + _at_best(check.plain_span, "by the high end of the belief it holds up to")
    )
    if check.best_batch == 0:
        chance = _at_best(check.best_span, "by the high end of the belief it holds up to")
        return f"The {limit} ms target is out of reach at every batch{chance}; {plain}."
    held = _sequences(check.best_batch, check.best_span, check)
    noun = "sequence" if check.best_batch == 1 else "sequences"
    return f"The {limit} ms target holds up to {held} {noun}; {plain}{_gain_text(check)}."


def _sequences(count: int, span_: tuple[int, int] | None, check: LatencyCheck) -> str:
    """Return "96 (61–96)"; "512 or more" where larger batches were not looked at."""
    more = " or more" if count == check.looked_up_to else ""
    if span_ is None or span_[0] == span_[1]:
        return f"{count:,}{more}"
    return f"{count:,}{more} ({whole_range(*span_)})"


def _at_best(span_: tuple[int, int] | None, words: str) -> str:
    return f" ({words} {span_[1]:,})" if span_ and span_[1] > 0 else ""


def _gain_text(check: LatencyCheck) -> str:
    """How many more users the same devices serve, or how many fewer devices the same users."""
    gain = check.gain
    if gain is None or gain.mean <= 1.0 or not math.isfinite(gain.mean):
        return ""
    users, saved = factor(gain.mean), percent(1.0 - 1.0 / gain.mean)
    if gain.p90 > gain.p10:
        users += f" ({_users_span(gain)})"
        spared = _saved_span(gain)
        saved += f" ({spared})" if spared else ""
    return f": {users} the users on the same devices, or as many on {saved} fewer"


def _users_span(gain: Interval) -> str:
    """Return the belief about a ratio of users, whose ends may be 0 and infinite.

    At 0 only plain decoding holds the limit even alone, at infinity only speculation does.
    """
    if gain.p10 > 0.0 and math.isfinite(gain.p90):
        return span(gain, digits=2 if gain.mean < 2.0 else 1)
    low = ratio(gain.p10) if gain.p10 > 0.0 else "none"
    if not math.isfinite(gain.p90):
        return f"{low} or more" if gain.p10 > 0.0 else "anything from none up"
    return f"{low} to {ratio(gain.p90)}"


def _saved_span(gain: Interval) -> str:
    """Return the belief about the percentage of devices spared; empty where it says nothing."""
    high = 100.0 * (1.0 - 1.0 / gain.p90) if math.isfinite(gain.p90) else None
    if gain.p10 <= 1.0:  # the low end takes as many devices, or more
        return "" if high is None else f"at most {high:.0f}"
    low = 100.0 * (1.0 - 1.0 / gain.p10)
    return f"{low:.0f} or more" if high is None else f"{low:.0f}{DASH}{high:.0f}"


def _break_even_line(item: Recommendation, best: Prediction) -> str:
    threshold = item.decision.break_even_acceptance_length
    if threshold is None:
        return ""
    tau = best.acceptance_length
    expected = f"expected τ {tau.mean:.2f}"
    if tau.p90 > tau.p10:
        expected += f" ({span(tau, digits=2)})"
    needed = f"{threshold:.2f}"
    if best.beliefs is not None and best.beliefs.step_cost_ratio.p90 > threshold:
        needed += f" ({span(best.beliefs.step_cost_ratio, digits=2)})"
    if item.decision.state is State.OFF:
        return (
            f"Break-even τ is {needed}, {expected}: verifying {best.config.verify_tokens} "
            f"tokens a sequence costs {best.verify_cost_ratio:.2f} plain steps here, drafting "
            f"{best.step_cost_parts.draft:.2f}, the engine's own work "
            f"{best.step_cost_parts.overhead:.2f}."
        )
    sure = f"; {percent(item.decision.confidence)} sure that it pays"
    if item.decision.state is State.MEASURE or tau.p90 <= tau.p10:
        sure = ""
    return f"Pays while τ stays above {needed}; {expected}{sure}."


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
