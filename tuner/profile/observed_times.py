"""Times of one observed row: those that contradict each other, and gains that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuner.records.methods import DRAFT_KIND, DraftKind, Method

Values = Mapping[str, Any]
#: two times of one run may differ by this much (assumed: runs repeat within 2 %, docs/accuracy.md;
#: the rest is rounding and warm-up)
TOLERANCE = 0.1
#: a throughput may be this much slower a token than TPOT (assumed: it counts prefill and the
#: emptier batch at both ends of a run, which TPOT leaves out)
RATE_SLACK = 0.5


def check_times(row: Values, depth: int | None, batch: float | None, note: Any) -> None:
    """Note times that no single run can have.

    ``depth`` is the number of draft tokens in sequence, 0 for plain decoding and None where it is
    not known; ``batch`` is the one that a throughput is of, None where that is open.
    """
    _check_rate(row, batch, note)
    _check_step(row, depth, batch, note)
    if row["method"] is not Method.NONE:
        _check_speedup(row, depth, note)


def _check_rate(row: Values, batch: float | None, note: Any) -> None:
    tpot_ms, rate_ms = row.get("tpot_ms"), _rate_ms(row, batch)
    if tpot_ms is None or rate_ms is None:
        return
    if not 1.0 - TOLERANCE <= rate_ms / tpot_ms <= 1.0 + RATE_SLACK:
        note(
            "output_tok_s",
            f"{_rate_text(row, rate_ms, batch)}, which contradicts tpot_ms {tpot_ms:g} "
            f"({_percent(TOLERANCE)} less is accepted, and with prefill {_percent(RATE_SLACK)} "
            "more): correct one of them or leave it out.",
        )


def _check_step(row: Values, depth: int | None, batch: float | None, note: Any) -> None:
    """A step takes τ times the time a token."""
    step_ms = row.get("step_ms")
    token_ms, slack = row.get("tpot_ms"), 0.0
    if token_ms is None:
        token_ms, slack = _rate_ms(row, batch), RATE_SLACK
    if step_ms is None or token_ms is None:
        return
    text = f"tpot_ms {token_ms:g}" if slack == 0.0 else _rate_text(row, token_ms, batch, full=True)
    length = _length(row)
    least = length or 1.0
    most = length or (None if depth is None else depth + 1.0)
    emitted = step_ms / token_ms
    too_short = emitted < least / (1.0 + max(TOLERANCE, slack))
    too_long = most is not None and emitted > most * (1.0 + TOLERANCE)
    if too_short or too_long:
        if row["method"] is Method.NONE:
            rule = "a plain step gives a sequence one token"
        elif length is not None:
            rule = f"this run emits {length:.3g} tokens a step"
        else:
            rule = f"a step emits 1 to {most:g} tokens" if most else "a step emits at least 1 token"
        note(
            "step_ms",
            f"{step_ms:g} contradicts {text}: their ratio is {emitted:.3g}, but {rule} "
            f"({_percent(TOLERANCE)} apart is accepted); correct one of them or leave it out.",
        )


def _check_speedup(row: Values, depth: int | None, note: Any) -> None:
    """No step is cheaper than a plain one: speculation gains at most τ, which is at most K + 1."""
    speedup = row.get("speedup")
    if speedup is None:
        return
    length = _length(row, is_bound=True)
    if depth is not None and speedup > depth + 1:
        note(
            "speedup",
            f"{speedup:g} is not possible: at most {depth + 1} with {depth} draft "
            f"token{'s' if depth > 1 else ''} in sequence, even if all are accepted at no cost; "
            "correct it or leave it out.",
        )
    elif length is not None and speedup > length * (1.0 + TOLERANCE):
        note(
            "speedup",
            f"{speedup:g} is not possible with {length:.3g} tokens a step: a step would take "
            f"{length / speedup:.2g} of a plain one, and it is no cheaper "
            f"({_percent(TOLERANCE)} is accepted as noise); correct one of them or leave it out.",
        )


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _rate_ms(row: Values, batch: float | None) -> float | None:
    rate = row.get("output_tok_s")
    return None if rate is None or batch is None else 1000.0 * batch / rate


def _rate_text(row: Values, rate_ms: float, batch: float | None, *, full: bool = False) -> str:
    name = "output_tok_s " if full else ""
    sequences = f"{batch:g} sequence{'s' if batch != 1 else ''}"
    return f"{name}{row['output_tok_s']:g} with {sequences} is {rate_ms:.3g} ms a token"


def _length(row: Values, *, is_bound: bool = False) -> float | None:
    """τ of the run; a lookup's counts leave out steps without a draft and only bound it."""
    method = row["method"]
    if method is Method.NONE:
        return 1.0
    length: float | None = row.get("acceptance_length")
    if length is not None:
        return length
    survival = row.get("acceptance_per_position")
    if survival is not None:
        is_whole = "tree" not in row or len(survival) >= int(row["tree"].split("/")[0])
        return 1.0 + float(sum(survival)) if is_whole else None
    counts = row.get("counts")
    if not isinstance(counts, dict) or (DRAFT_KIND[method] is DraftKind.LOOKUP and not is_bound):
        return None
    drafts, accepted = counts.get("num_drafts"), counts.get("num_accepted_tokens")
    return 1.0 + float(accepted) / float(drafts) if drafts and accepted is not None else None
