"""One step under any chain rule: for one sequence and any chance, and for a batch."""

from __future__ import annotations

import numpy as np

from tuner.simulate.batched import BatchStep, drafted, draw, finished_step, target_windows
from tuner.simulate.chain_rules import ChainRule
from tuner.simulate.models import IntArray, NextToken, RowArray
from tuner.simulate.reference import Chance, Step, next_row


def rule_step(
    context: tuple[int, ...],
    target: NextToken,
    drafter: NextToken,
    num_speculative_tokens: int,
    chance: Chance,
    rule: ChainRule,
) -> Step:
    """Draft, decide by ``rule``, add the final token; see ``reference.speculative_step``."""
    drafts: list[int] = []
    draft_rows: list[RowArray] = []
    for _ in range(num_speculative_tokens):
        row = next_row(drafter, (*context, *drafts))
        draft_rows.append(row)
        drafts.append(int(row.argmax()) if rule.greedy_drafts else chance.token(row))
    target_rows = [next_row(target, (*context, *drafts[:i])) for i in range(len(drafts) + 1)]
    decision = rule.decide(
        np.array(target_rows, dtype=np.float64),
        np.array(draft_rows, dtype=np.float64),
        np.array(drafts, dtype=np.int64),
    )
    num_accepted = chance.token(decision.accept_law)
    final = chance.token(decision.final_rows[num_accepted])
    emitted = (*drafts[:num_accepted], final)
    return Step(
        drafts=tuple(drafts),
        num_accepted=num_accepted,
        final=final,
        context=(*context, *emitted),
    )


def batch_rule_step(
    windows: IntArray,
    target: NextToken,
    drafter: NextToken,
    num_speculative_tokens: int,
    rng: np.random.Generator,
    rule: ChainRule,
) -> BatchStep:
    """Run one step of every sequence; see ``batched.batch_step`` for the parameters."""
    batch, window = windows.shape
    n = num_speculative_tokens
    history, draft_rows = drafted(windows, drafter, n, rng, greedy=rule.greedy_drafts)
    drafts = history[:, window : window + n].copy()
    decision = rule.decide(
        np.asarray(target.probs(target_windows(history, window, n, target.order)), np.float64),
        np.stack(draft_rows, axis=1).astype(np.float64),
        drafts,
    )
    num_accepted = draw(decision.accept_law, rng.random(size=(batch,)))
    final = draw(decision.final_rows[np.arange(batch), num_accepted], rng.random(size=(batch,)))
    return finished_step(history, drafts, num_accepted, final, num_accepted + 1)
