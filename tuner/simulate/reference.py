"""The reference loop: one sequence, one page, in the order of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tuner.errors import InputError
from tuner.simulate.models import NextToken, RowArray, check_pair, last_tokens
from tuner.simulate.rules import EXACT, Recipe


class Chance(Protocol):
    """Where randomness comes from: a generator, or an enumeration of every outcome."""

    def token(self, row: RowArray) -> int:
        """Draw a token from a distribution, shape (V,)."""
        ...

    def coin(self, probability: float) -> bool:
        """Return True with this probability."""
        ...


class RandomChance:
    """Chance from a seeded generator; one uniform number for each decision."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def token(self, row: RowArray) -> int:
        """Draw a token by inverting the cumulative distribution."""
        cumulative = np.cumsum(row)
        point = self._rng.random() * cumulative[-1]
        return int(np.searchsorted(cumulative, point, side="right"))

    def coin(self, probability: float) -> bool:
        """Return True with this probability."""
        return bool(self._rng.random() < probability)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one draft-and-verify cycle gave."""

    drafts: tuple[int, ...]
    num_accepted: int
    #: replacement after a rejection, bonus token after none
    final: int
    #: what both models see in the next step
    context: tuple[int, ...]

    @property
    def emitted(self) -> tuple[int, ...]:
        """The tokens that the user receives: accepted drafts and the final one."""
        return (*self.drafts[: self.num_accepted], self.final)


def next_row(model: NextToken, context: tuple[int, ...]) -> RowArray:
    """Return the model's distribution after ``context``, shape (V,)."""
    return model.probs(last_tokens(np.array(context, dtype=np.int64), model.order))


def speculative_step(
    context: tuple[int, ...],
    target: NextToken,
    drafter: NextToken,
    num_speculative_tokens: int,
    chance: Chance,
    recipe: Recipe = EXACT,
) -> Step:
    """Draft, verify, accept or replace, add the bonus token.

    Parameters
    ----------
    context : tokens so far
    target, drafter : models over one vocabulary
    num_speculative_tokens : drafts in this step, at least 0 (0 = plain decoding)
    chance : source of randomness
    recipe : the exact rule, or a faulty one for tests

    Returns
    -------
    Step with 1 to ``num_speculative_tokens`` + 1 emitted tokens, distributed as the target's.
    """
    drafts: list[int] = []
    draft_rows: list[RowArray] = []
    for _ in range(num_speculative_tokens):
        draft_rows.append(next_row(drafter, (*context, *drafts)))
        drafts.append(chance.token(draft_rows[-1]))

    # One pass of the target gives its distribution before each draft and after the last one.
    target_rows = [next_row(target, (*context, *drafts[:i])) for i in range(len(drafts) + 1)]

    num_accepted = 0
    for token, target_row, draft_row in zip(drafts, target_rows, draft_rows, strict=False):
        keep = recipe.accept(np.array(target_row[token]), np.array(draft_row[token]))
        if not chance.coin(float(keep)):
            final_row = recipe.replace(target_row, draft_row)
            break
        num_accepted += 1
    else:
        last_draft_row = draft_rows[-1] if draft_rows else target_rows[-1]
        final_row = np.asarray(recipe.bonus(target_rows[-1], last_draft_row), dtype=np.float64)
    final = chance.token(final_row)

    # Rejected drafts leave the context: prefix, accepted drafts, final token.
    length = int(recipe.keep(np.array(num_accepted), num_speculative_tokens))
    written = [*drafts, final]
    written[num_accepted] = final
    return Step(
        drafts=tuple(drafts),
        num_accepted=num_accepted,
        final=final,
        context=(*context, *written[:length]),
    )


def generate(
    context: tuple[int, ...],
    target: NextToken,
    drafter: NextToken,
    *,
    num_tokens: int,
    num_speculative_tokens: int,
    chance: Chance,
    recipe: Recipe = EXACT,
) -> list[Step]:
    """Run steps until ``num_tokens`` tokens are out; the last step may give a few more.

    Raises
    ------
    InputError
        If the vocabularies differ or a count is negative.
    """
    check_pair(target, drafter)
    if num_speculative_tokens < 0 or num_tokens < 0:
        raise InputError("numbers of tokens cannot be negative.")
    steps: list[Step] = []
    emitted = 0
    while emitted < num_tokens:
        step = speculative_step(context, target, drafter, num_speculative_tokens, chance, recipe)
        steps.append(step)
        emitted += len(step.emitted)
        context = step.context
    return steps
