"""Rows of "K by batch" that one server can follow."""

from __future__ import annotations

from tuner.engines.words import warning
from tuner.frozen import dataclass
from tuner.records.emit import EmitRequest
from tuner.records.methods import Method
from tuner.records.sources import Warning_


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRow:
    """K for batches from ``start`` to ``end``, both included; 0 = plain decoding."""

    start: int
    end: int
    num_speculative_tokens: int


def length_rows(request: EmitRequest) -> tuple[tuple[LengthRow, ...], tuple[Warning_, ...]]:
    """Return the schedule of a request, or no rows where K never changes.

    Neighbours of equal K are joined, rows beyond ``max_batch`` are dropped, the first row is
    stretched down to 1; in a gap the engines go on with the K before it. A tree, or rows of
    another method, cannot follow a schedule.
    """
    rows = sorted(request.schedule, key=lambda row: row.start)
    if request.max_batch is not None:
        rows = [row for row in rows if row.start <= request.max_batch]
    if len(rows) < 2:
        return (), ()
    method = request.config.method
    others = {row.method for row in rows} - {method, Method.NONE}
    if others:
        names = ", ".join(sorted(other.value for other in others))
        message = (
            f"one server drafts with one method; the rows for {names} are left out of the command"
        )
        return (), (warning("schedule-mixes-methods", message),)
    if request.config.tree is not None:
        message = "a tree keeps its shape at every batch; the schedule is left out of the command"
        return (), (warning("schedule-needs-chain", message),)
    joined: list[LengthRow] = []
    for row in rows:
        length = 0 if row.method is Method.NONE else row.num_speculative_tokens
        last = joined[-1] if joined else None
        start = max(row.start, last.end + 1) if last else 1
        if row.end < start:
            continue
        if last and last.num_speculative_tokens == length:
            start = joined.pop().start
        joined.append(LengthRow(start=start, end=row.end, num_speculative_tokens=length))
    return (tuple(joined), ()) if len(joined) > 1 else ((), ())
