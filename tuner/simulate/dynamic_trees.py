"""Trees that follow the drafter's confidence, for many sequences at once (EAGLE-2's rule).

At each level the most confident nodes propose their most likely children; of all proposals the
most confident are verified. Confidence is the product of draft probabilities from the root (Li et
al. 2024, "EAGLE-2", arXiv:2406.16858, section 4).

The drafts are the drafter's most likely tokens, so verification can let the target draw its token
after each node and go on as long as that token was drafted: the same law as trying the children
one by one as point masses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.records.config import TreeSetting
from tuner.simulate.batched import BatchStep, draw
from tuner.simulate.models import BoolArray, FloatArray, IntArray, NextToken

_ROOT = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drafted:
    """All proposals of every sequence, level by level, shape (B, proposals)."""

    tokens: IntArray
    #: place of the parent among the proposals, -1 = root
    parents: IntArray
    confidence: FloatArray
    #: whether the proposal is verified
    kept: BoolArray


def propose(windows: IntArray, drafter: NextToken, setting: TreeSetting) -> Drafted:
    """Draft a tree for every sequence.

    Parameters
    ----------
    windows : (B, W) context of each sequence
    drafter : model
    setting : levels, children a node (and nodes a level), verified tokens with the root
    """
    batch, window = windows.shape
    topk = min(setting.topk, drafter.vocab_size)
    frontier_windows = windows[:, None, :]
    frontier_confidence = np.ones((batch, 1))
    frontier_place = np.full((batch, 1), _ROOT, dtype=np.int64)
    levels: list[tuple[IntArray, IntArray, FloatArray]] = []
    count = 0
    for _ in range(setting.num_steps):
        rows = np.asarray(drafter.probs(frontier_windows[:, :, window - drafter.order :]), float)
        best = np.argsort(-rows, axis=-1, kind="stable")[..., :topk]
        chances = np.take_along_axis(rows, best, axis=-1)
        confidence = (frontier_confidence[..., None] * chances).reshape(batch, -1)
        tokens = best.reshape(batch, -1)
        parents = np.repeat(frontier_place, topk, axis=1)
        levels.append((tokens, parents, confidence))
        chosen = np.argsort(-confidence, axis=1, kind="stable")[:, :topk]
        frontier_confidence = np.take_along_axis(confidence, chosen, axis=1)
        frontier_place = count + chosen
        seen = np.take_along_axis(frontier_windows, (chosen // topk)[..., None], axis=1)
        added = np.take_along_axis(tokens, chosen, axis=1)[..., None]
        frontier_windows = np.concatenate([seen, added], axis=2)[:, :, 1:]
        count += tokens.shape[1]
    tokens, parents, confidence = (
        np.concatenate(part, axis=1) for part in zip(*levels, strict=True)
    )
    kept = np.zeros(tokens.shape, dtype=np.bool_)
    # Earlier proposals come first among equals, so a parent is never left out before its child.
    most = np.argsort(-confidence, axis=1, kind="stable")[:, : setting.draft_tokens - 1]
    np.put_along_axis(kept, most, True, axis=1)
    return Drafted(tokens=tokens, parents=parents, confidence=confidence, kept=kept)


def dynamic_step(
    windows: IntArray,
    target: NextToken,
    drafter: NextToken,
    setting: TreeSetting,
    rng: np.random.Generator,
) -> BatchStep:
    """Draft and verify a dynamic tree for every sequence; ``drafts`` are the accepted paths."""
    batch, window = windows.shape
    tree = propose(windows, drafter, setting)
    depth = setting.num_steps
    emitted = np.full((batch, depth + 1), -1, dtype=np.int64)
    num_accepted = np.zeros(batch, dtype=np.int64)
    final = np.zeros(batch, dtype=np.int64)
    place = np.full(batch, _ROOT, dtype=np.int64)
    seen = windows.copy()
    walking = np.arange(batch)
    for level in range(depth + 1):
        rows = target.probs(seen[walking, window - target.order :])
        token = draw(rows, rng.random(size=(len(walking),)))
        emitted[walking, level] = token
        fits = (
            tree.kept[walking]
            & (tree.parents[walking] == place[walking, None])
            & (tree.tokens[walking] == token[:, None])
        )
        goes_on = fits.any(axis=1)
        final[walking[~goes_on]] = token[~goes_on]
        place[walking] = fits.argmax(axis=1)
        walking = walking[goes_on]
        num_accepted[walking] += 1
        seen[walking] = np.column_stack([seen[walking], token[goes_on]])[:, 1:]
        if not walking.size:
            break
    columns = (num_accepted + 1)[:, None] + np.arange(window)
    return BatchStep(
        drafts=emitted[:, :-1],
        num_accepted=num_accepted,
        final=final,
        windows=np.take_along_axis(np.concatenate([windows, emitted], axis=1), columns, axis=1),
    )
