"""The loop for models without context: all steps of all sequences at once.

When no distribution depends on what came before, nothing has to wait: drafts, decisions and final
tokens of every step are drawn as three arrays. Tokens are drawn by the alias method, one uniform
number and two table look-ups each.

References
----------
Walker 1977, "An efficient method for generating discrete random variables with general
distributions"; Vose 1991 for building the table in linear time.
"""

from __future__ import annotations

import numpy as np

from tuner.errors import InputError
from tuner.simulate.batched import BatchRun
from tuner.simulate.models import FloatArray, IntArray, RowArray, TableModel, check_pair
from tuner.simulate.rules import acceptance_probability, residual

#: steps handled together: their arrays stay in a core's cache
CHUNK_STEPS = 8192


class AliasTable:
    """Draws from one distribution in constant time a token.

    Parameters
    ----------
    row : (V,) distribution
    """

    def __init__(self, row: RowArray) -> None:
        size = len(row)
        scaled = (row * (size / row.sum())).tolist()
        self._cut = np.ones(size)
        self._other = np.arange(size)
        small = [i for i, share in enumerate(scaled) if share < 1.0]
        large = [i for i, share in enumerate(scaled) if share >= 1.0]
        while small and large:
            low, high = small.pop(), large[-1]
            self._cut[low], self._other[low] = scaled[low], high
            scaled[high] -= 1.0 - scaled[low]
            if scaled[high] < 1.0:
                small.append(large.pop())

    def draw(self, uniforms: FloatArray) -> IntArray:
        """Return one token for each uniform number in [0, 1); the numbers are overwritten."""
        uniforms *= len(self._cut)
        column = uniforms.astype(np.int64)
        uniforms -= column
        return np.where(uniforms < self._cut[column], column, self._other[column])


def run_independent(
    target: TableModel,
    drafter: TableModel,
    *,
    steps: int,
    batch: int,
    num_speculative_tokens: int,
    rng: np.random.Generator,
) -> BatchRun:
    """Run ``steps`` steps of ``batch`` sequences with models of order 0.

    Same law as :func:`tuner.simulate.batched.run_batch`, other use of the random numbers.

    Raises
    ------
    InputError
        If a model has context or the vocabularies differ.
    """
    check_pair(target, drafter)
    if target.order or drafter.order:
        raise InputError("only models without context can run all steps at once.")
    target_row, draft_row = target.rows[0], drafter.rows[0]
    keep = acceptance_probability(target_row, draft_row)
    tables = AliasTable(draft_row), AliasTable(residual(target_row, draft_row))
    drafts_from, replacements_from = tables
    bonus_from = AliasTable(target_row)

    n, count = num_speculative_tokens, steps * batch
    drafts = np.empty((count, n), dtype=np.int64)
    num_accepted = np.empty(count, dtype=np.int64)
    final = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK_STEPS):
        part = slice(start, min(start + CHUNK_STEPS, count))
        size = part.stop - part.start
        drafted = drafts_from.draw(rng.random(size=(size, n)))
        rejected = np.ones((size, n + 1), dtype=np.bool_)
        np.greater_equal(rng.random(size=(size, n)), keep[drafted], out=rejected[:, :n])
        accepted = rejected.argmax(axis=1)
        drafts[part], num_accepted[part] = drafted, accepted
        uniforms = rng.random(size=(size,))
        is_full = accepted == n
        chosen = np.empty(size, dtype=np.int64)
        chosen[is_full] = bonus_from.draw(uniforms[is_full])
        chosen[~is_full] = replacements_from.draw(uniforms[~is_full])
        final[part] = chosen
    return BatchRun(
        drafts=drafts.reshape(steps, batch, n),
        num_accepted=num_accepted.reshape(steps, batch),
        final=final.reshape(steps, batch),
    )
