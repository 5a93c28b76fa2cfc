"""The exact rule in four small parts: accept, replace, bonus, keep.

The reference loop, the batched loop and the enumeration all take their arithmetic from here, so
what is proved is what samples. ``FAULTS`` holds the same recipe with one part done wrong, for
tests that must notice.

References
----------
Leviathan, Kalman, Matias 2023 (arXiv:2211.17192), algorithm 1; Chen et al. 2023
(arXiv:2302.01318), algorithm 2. Both keep a drafted token with min(1, target / draft) and draw the
replacement from the normalised positive part of target - draft.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tuner.simulate.models import FloatArray, IntArray, RowArray


def acceptance_probability(target_at: FloatArray, draft_at: FloatArray) -> FloatArray:
    """Return min(1, target / draft) at the drafted tokens.

    Parameters
    ----------
    target_at, draft_at : (...) floats in [0, 1]
        What target and drafter give to the drafted token.

    Returns
    -------
    (...) floats in [0, 1]. A token that its drafter could not have drawn (draft 0) is kept when
    the target can produce it and dropped otherwise.
    """
    possible = draft_at > 0.0
    ratio = np.divide(target_at, draft_at, out=np.zeros_like(target_at), where=possible)
    kept: FloatArray = np.where(possible, np.minimum(ratio, 1.0), target_at > 0.0)
    return kept


def residual(target_rows: RowArray, draft_rows: RowArray) -> RowArray:
    """Return the normalised positive part of target - draft, shape (..., V).

    Where nothing is left (equal distributions, or a difference lost in rounding) a rejection has
    probability 0 and the target's own row is returned.
    """
    rest: RowArray = np.maximum(target_rows - draft_rows, 0.0)
    mass = rest.sum(axis=-1, keepdims=True)
    if (mass > 0.0).all():
        rest /= mass
        return rest
    normal: RowArray = np.divide(rest, mass, out=target_rows.copy(), where=mass > 0.0)
    return normal


def _inverted_ratio(target_at: FloatArray, draft_at: FloatArray) -> FloatArray:
    return acceptance_probability(draft_at, target_at)


def _target_unchanged(target_rows: RowArray, draft_rows: RowArray) -> RowArray:
    return target_rows


def _bonus_of_target(target_rows: RowArray, draft_rows: RowArray) -> RowArray:
    return target_rows


def _bonus_of_drafter(target_rows: RowArray, draft_rows: RowArray) -> RowArray:
    return draft_rows


def kept_length(num_accepted: IntArray, num_speculative_tokens: int) -> IntArray:
    """Return how many tokens after the old context are valid: accepted drafts and the final one."""
    return num_accepted + 1


def _without_rollback(num_accepted: IntArray, num_speculative_tokens: int) -> IntArray:
    return np.maximum(num_accepted + 1, num_speculative_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to decide on drafted tokens; the defaults are the exact rule."""

    #: (target_at, draft_at) -> chance of keeping the drafted token
    accept: Callable[[FloatArray, FloatArray], FloatArray] = acceptance_probability
    #: (target_rows, draft_rows) -> rows that the replacement is drawn from
    replace: Callable[[RowArray, RowArray], RowArray] = residual
    #: (target_rows after all drafts, draft_rows of the last draft) -> rows of the bonus token
    bonus: Callable[[RowArray, RowArray], RowArray] = _bonus_of_target
    #: (num_accepted, num_speculative_tokens) -> tokens that stay in the context
    keep: Callable[[IntArray, int], IntArray] = kept_length


EXACT = Recipe()

#: planted faults by name: the same recipe with one part wrong
FAULTS: dict[str, Recipe] = {
    "residual": replace(EXACT, replace=_target_unchanged),
    "bonus": replace(EXACT, bonus=_bonus_of_drafter),
    "ratio": replace(EXACT, accept=_inverted_ratio),
    "rollback": replace(EXACT, keep=_without_rollback),
}

#: what each fault does, for screens
FAULT_TEXT: dict[str, str] = {
    "residual": "a rejected token is replaced from the target itself, not from the residual",
    "bonus": "the bonus token is drawn from the drafter",
    "ratio": "tokens are kept with min(1, draft / target)",
    "rollback": "rejected tokens stay in the context that both models see",
}
