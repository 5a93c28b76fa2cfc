"""Other ways to decide on a chain of drafts, exact and lossy, in one form.

A rule says, for given drafts, how likely it is that exactly j of them are kept, and from what the
final token is then drawn. That is all there is to a rule: the enumeration and the batched loop
both work from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tuner.simulate.models import FloatArray, IntArray, RowArray
from tuner.simulate.rules import acceptance_probability, residual
from tuner.simulate.sampling import one_hot

#: ε and δ of Medusa's released configuration (FasterDecoding/Medusa, medusa_model.py: posterior
#: threshold 0.09, posterior alpha 0.3)
TYPICAL_THRESHOLD = 0.09
TYPICAL_ALPHA = 0.3
#: top-N and δ that TensorRT-LLM's DeepSeek-R1 example uses for relaxed acceptance
RELAXED_TOP = 10
RELAXED_DELTA = 0.6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decision:
    """What a rule makes of drafted tokens."""

    #: chance that exactly 0 … N drafts are kept, shape (..., N + 1)
    accept_law: FloatArray
    #: distribution of the final token for each of these outcomes, shape (..., N + 1, V)
    final_rows: FloatArray


Decide = Callable[[FloatArray, FloatArray, IntArray], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRule:
    """A rule by name: how drafts are made and decided on."""

    name: str
    decide: Decide
    #: drafts are the drafter's most likely tokens instead of samples
    greedy_drafts: bool = False
    is_lossy: bool = False


def ratio(target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray) -> Decision:
    """Keep each draft with min(1, target / draft); Leviathan et al. 2023, algorithm 1.

    Parameters
    ----------
    target_rows : (..., N + 1, V)
    draft_rows : (..., N, V)
    drafts : (..., N) integers

    Returns
    -------
    Decision
    """
    keep = acceptance_probability(_at(target_rows[..., :-1, :], drafts), _at(draft_rows, drafts))
    replaced = np.asarray(residual(target_rows[..., :-1, :], draft_rows), dtype=np.float64)
    return Decision(accept_law=_one_by_one(keep), final_rows=_with_bonus(replaced, target_rows))


def draft_as_point_mass(
    target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray
) -> Decision:
    """Treat each draft as if the drafter could give nothing else: keep it with the target's chance.

    The ratio rule with a one-hot draft distribution. Exact for any way of drafting.
    """
    return ratio(target_rows, one_hot(drafts, target_rows.shape[-1]), drafts)


def same_as_sampled(target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray) -> Decision:
    """Let the target draw its own token at each place; keep drafts as long as they are the same.

    In law: kept with the target's chance of the draft, otherwise replaced by the target's other
    tokens in proportion. Exact for any way of drafting.
    """
    keep = _at(target_rows[..., :-1, :], drafts)
    others = np.where(one_hot(drafts, target_rows.shape[-1]) > 0.0, 0.0, target_rows[..., :-1, :])
    mass = others.sum(axis=-1, keepdims=True)
    replaced = np.divide(others, mass, out=target_rows[..., :-1, :].copy(), where=mass > 0.0)
    return Decision(accept_law=_one_by_one(keep), final_rows=_with_bonus(replaced, target_rows))


def block(target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray) -> Decision:
    """Decide on prefixes as a whole: keep the longest whose joint test succeeds.

    Sun et al. 2024, "Block Verification Accelerates Speculative Decoding" (arXiv:2403.10444),
    algorithm 2. With w_0 = 1 and w_i = min(1, w_(i-1) target / draft), a prefix of i < N passes
    with R / (R + 1 - w_i), where R is the mass of (w_i target - draft)+ at its end; the whole
    passes with w_N. The final token comes from that normalised positive part.
    """
    n = drafts.shape[-1]
    place_target = _at(target_rows[..., :-1, :], drafts)
    place_draft = _at(draft_rows, drafts)
    weight = np.ones((*drafts.shape[:-1], n + 1))
    for i in range(n):
        wanted = weight[..., i] * place_target[..., i]
        weight[..., i + 1] = acceptance_probability(wanted, place_draft[..., i])
    rest = np.maximum(weight[..., :-1, None] * target_rows[..., :-1, :] - draft_rows, 0.0)
    mass = rest.sum(axis=-1)
    below = mass + 1.0 - weight[..., :-1]
    passes = np.ones_like(weight)
    np.divide(mass, below, out=passes[..., :-1], where=below > 0.0)
    passes[..., n] = weight[..., n]
    passes[..., 0] = 1.0  # the empty prefix is what remains
    fails_beyond = np.cumprod(1.0 - passes[..., ::-1], axis=-1)[..., ::-1]
    law = passes.copy()
    law[..., :-1] *= fails_beyond[..., 1:]
    replaced = np.divide(
        rest, mass[..., None], out=target_rows[..., :-1, :].copy(), where=mass[..., None] > 0.0
    )
    return Decision(accept_law=law, final_rows=_with_bonus(replaced, target_rows))


def typical(target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray) -> Decision:
    """Keep a draft that the target finds likely enough: target > min(ε, δ exp(-entropy)). Lossy.

    Cai et al. 2024, "Medusa" (arXiv:2401.10774), section 2.3.1.
    """
    rows = target_rows[..., :-1, :]
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0.0)
    entropy = -(rows * logs).sum(axis=-1)
    limit = np.minimum(TYPICAL_THRESHOLD, TYPICAL_ALPHA * np.exp(-entropy))
    keep = (_at(rows, drafts) > limit).astype(np.float64)
    return Decision(accept_law=_one_by_one(keep), final_rows=target_rows)


def relaxed(target_rows: FloatArray, draft_rows: FloatArray, drafts: IntArray) -> Decision:
    """Keep a draft among the target's top N whose chance is at most δ below the best. Lossy.

    TensorRT-LLM's relaxed acceptance (``relaxed_topk``, ``relaxed_delta``).
    """
    rows = target_rows[..., :-1, :]
    chance = _at(rows, drafts)
    better = (rows > chance[..., None]).sum(axis=-1)
    close = chance >= rows.max(axis=-1) - RELAXED_DELTA
    keep = (close & (better < RELAXED_TOP) & (chance > 0.0)).astype(np.float64)
    return Decision(accept_law=_one_by_one(keep), final_rows=target_rows)


#: by the spelling of ``VerifyRule``
CHAIN_RULES: dict[str, ChainRule] = {
    rule.name: rule
    for rule in (
        ChainRule(name="ratio", decide=ratio),
        ChainRule(name="one_hot", decide=draft_as_point_mass, greedy_drafts=True),
        ChainRule(name="exact_match", decide=same_as_sampled, greedy_drafts=True),
        ChainRule(name="block", decide=block),
        ChainRule(name="typical", decide=typical, is_lossy=True),
        ChainRule(name="relaxed", decide=relaxed, is_lossy=True),
    )
}


def _at(rows: RowArray, tokens: IntArray) -> FloatArray:
    """Return each row's value at its token, shape (...)."""
    picked = np.take_along_axis(rows, tokens[..., None], axis=-1)[..., 0]
    return np.asarray(picked, dtype=np.float64)


def _one_by_one(keep: FloatArray) -> FloatArray:
    """Return the law of the number kept when each is kept with its chance until one is not."""
    ones = np.ones((*keep.shape[:-1], 1))
    law = np.concatenate([ones, np.cumprod(keep, axis=-1)], axis=-1, dtype=np.float64)
    law[..., :-1] *= 1.0 - keep
    return law


def _with_bonus(replaced: FloatArray, target_rows: FloatArray) -> FloatArray:
    return np.concatenate([replaced, target_rows[..., -1:, :]], axis=-2)
