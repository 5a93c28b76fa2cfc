"""Draft a tree, verify all its paths at once, keep the longest accepted one.

Children of a node are tried in order. Each is kept with min(1, target / draft); after a rejection
the target's row becomes its normalised positive part and the next child is tried against that.
What "draft" means for a child depends on how siblings are drawn.

References
----------
Miao et al. 2024, "SpecInfer" (arXiv:2305.09781), algorithm 2 (multi-step speculative sampling,
siblings drawn independently); Chen et al. 2024, "Sequoia" (arXiv:2402.12374), algorithm 2, and
Jeon et al. 2024, "Recursive Speculative Decoding" (arXiv:2402.14160), siblings drawn without
replacement; Li et al. 2024, "EAGLE" (arXiv:2401.15077), appendix, multi-round sampling.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tuner.simulate.batched import draw
from tuner.simulate.models import FloatArray, IntArray, NextToken, RowArray
from tuner.simulate.reference import Chance, Step, next_row
from tuner.simulate.rules import acceptance_probability, residual
from tuner.simulate.sampling import one_hot
from tuner.trees.shape import DraftTree

#: a place in a tree for which the drafter had no token left
NO_TOKEN = -1


class Siblings(StrEnum):
    """How the children of one node are drawn."""

    WITHOUT_REPLACEMENT = "without_replacement"
    """Each from what its elder siblings left (Sequoia, recursive rejection)."""
    WITH_REPLACEMENT = "with_replacement"
    """Independently; two may be the same (SpecInfer, multi-candidate)."""
    TOP = "top"
    """The most likely tokens, no chance involved (EAGLE-2, Medusa)."""


def next_sibling_row(row: FloatArray, token: IntArray, siblings: Siblings) -> FloatArray:
    """Return what the next sibling is drawn from after ``token``, shape (..., V).

    All zero when nothing is left.
    """
    if siblings is Siblings.WITH_REPLACEMENT:
        return row
    gone = one_hot(np.maximum(token, 0), row.shape[-1]) > 0.0
    rest = np.where(gone, 0.0, row)
    mass = rest.sum(axis=-1, keepdims=True)
    normal: FloatArray = np.divide(rest, mass, out=np.zeros_like(rest), where=mass > 0.0)
    return normal


def offered_row(row: FloatArray, token: IntArray, siblings: Siblings) -> FloatArray:
    """Return the distribution that ``token`` counts as a draw from, shape (..., V)."""
    if siblings is Siblings.TOP:
        return one_hot(np.maximum(token, 0), row.shape[-1])
    return row


def tree_step(
    context: tuple[int, ...],
    target: NextToken,
    drafter: NextToken,
    tree: DraftTree,
    chance: Chance,
    siblings: Siblings = Siblings.WITHOUT_REPLACEMENT,
) -> Step:
    """Draft and verify one tree for one sequence.

    Parameters
    ----------
    context : tokens so far
    target, drafter : models over one vocabulary
    tree : shape; children without gaps in rank
    chance : source of randomness
    siblings : how children are drawn

    Returns
    -------
    Step whose ``drafts`` are the accepted path.
    """
    children = tree.children()
    tokens, rows = _draft_tree(context, drafter, tree, children, chance, siblings)
    # One pass of the target over all nodes; only those on the accepted path are looked at.
    path: list[int] = []
    node = 0
    final_row = np.asarray(next_row(target, context), dtype=np.float64)
    while children[node]:
        draft_row = rows[node]
        for child in children[node]:
            token = np.array(tokens[child])
            offered = offered_row(draft_row, token, siblings)
            if tokens[child] != NO_TOKEN:
                keep = acceptance_probability(final_row[token], offered[token])
                if chance.coin(float(keep)):
                    path.append(tokens[child])
                    node = child
                    final_row = np.asarray(next_row(target, (*context, *path)), dtype=np.float64)
                    break
                final_row = np.asarray(residual(final_row, offered), dtype=np.float64)
            draft_row = next_sibling_row(draft_row, token, siblings)
        else:
            break
    final = chance.token(final_row)
    return Step(
        drafts=tuple(path),
        num_accepted=len(path),
        final=final,
        context=(*context, *path, final),
    )


def _draft_tree(
    context: tuple[int, ...],
    drafter: NextToken,
    tree: DraftTree,
    children: list[list[int]],
    chance: Chance,
    siblings: Siblings,
) -> tuple[list[int], list[FloatArray]]:
    """Return the token of each node, and the draft row under each node that has children."""
    tokens = [NO_TOKEN] * len(tree.parents)
    paths: list[tuple[int, ...]] = [()] * len(tree.parents)
    rows: list[FloatArray] = [np.zeros(0)] * len(tree.parents)
    for node, below in enumerate(children):
        if not below or (node and tokens[node] == NO_TOKEN):
            continue
        rows[node] = np.asarray(next_row(drafter, (*context, *paths[node])), dtype=np.float64)
        row = rows[node]
        for child in below:
            if row.any():
                is_top = siblings is Siblings.TOP
                tokens[child] = int(row.argmax()) if is_top else chance.token(row)
                row = next_sibling_row(row, np.array(tokens[child]), siblings)
            paths[child] = (*paths[node], tokens[child])
    return tokens, rows


def widths_tree(widths: tuple[int, ...]) -> DraftTree:
    """Return the full tree in which every node at depth d has ``widths[d]`` children."""
    parents, ranks, level = [-1], [0], [0]
    for width in widths:
        following = []
        for node in level:
            for rank in range(1, width + 1):
                following.append(len(parents))
                parents.append(node)
                ranks.append(rank)
        level = following
    return DraftTree(parents=tuple(parents), ranks=tuple(ranks))


class TreeBatch:
    """Trees of one shape for many sequences at once.

    Parameters
    ----------
    tree : shape; children without gaps in rank
    siblings : how children are drawn
    """

    def __init__(self, tree: DraftTree, siblings: Siblings) -> None:
        self.tree = tree
        self.siblings = siblings
        lists = tree.children()
        #: child of each node by rank, -1 where there is none, shape (nodes + 1, most children)
        self._child = np.full((len(lists), max(map(len, lists))), NO_TOKEN, dtype=np.int64)
        for node, below in enumerate(lists):
            self._child[node, : len(below)] = below

    def draft(
        self, windows: IntArray, drafter: NextToken, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Draft a tree for every sequence.

        Returns
        -------
        tokens : (B, nodes + 1), the root's entry unused
        node_windows : (B, nodes + 1, W) context after each node
        rows : (B, nodes + 1, V) draft rows under the nodes that have children
        """
        batch, window = windows.shape
        size = len(self.tree.parents)
        tokens = np.full((batch, size), NO_TOKEN, dtype=np.int64)
        node_windows = np.zeros((batch, size, window), dtype=np.int64)
        node_windows[:, 0] = windows
        rows = np.zeros((batch, size, drafter.vocab_size))
        for node in np.flatnonzero((self._child >= 0).any(axis=1)).tolist():
            seen = node_windows[:, node]
            row = np.asarray(drafter.probs(seen[:, window - drafter.order :]), dtype=np.float64)
            rows[:, node] = row
            for child in self._child[node][self._child[node] >= 0].tolist():
                if self.siblings is Siblings.TOP:
                    drawn = row.argmax(axis=1)
                else:
                    drawn = draw(row, rng.random(size=(batch,)))
                tokens[:, child] = np.where(row.any(axis=1), drawn, NO_TOKEN)
                row = next_sibling_row(row, tokens[:, child], self.siblings)
                known = np.maximum(tokens[:, child], 0)
                node_windows[:, child] = np.column_stack([seen, known])[:, 1:]
        return tokens, node_windows, rows

    def step(
        self,
        windows: IntArray,
        target: NextToken,
        drafter: NextToken,
        rng: np.random.Generator,
    ) -> tuple[IntArray, IntArray]:
        """Draft and verify a tree for every sequence.

        Returns
        -------
        emitted : (B, depth + 1) accepted path and final token from the left, then -1
        num_accepted : (B,)
        """
        batch, window = windows.shape
        tokens, node_windows, draft_rows = self.draft(windows, drafter, rng)
        target_rows = np.asarray(
            target.probs(node_windows[:, :, window - target.order :]), dtype=np.float64
        )
        node = np.zeros(batch, dtype=np.int64)
        num_accepted = np.zeros(batch, dtype=np.int64)
        emitted = np.full((batch, self.tree.depth + 1), NO_TOKEN, dtype=np.int64)
        final_rows = target_rows[:, 0].copy()
        walking = np.arange(batch)
        while walking.size:
            child = self._descend(walking, node, tokens, draft_rows, final_rows, rng)
            went = child >= 0
            walking, child = walking[went], child[went]
            emitted[walking, num_accepted[walking]] = tokens[walking, child]
            num_accepted[walking] += 1
            node[walking] = child
            final_rows[walking] = target_rows[walking, child]
        emitted[np.arange(batch), num_accepted] = draw(final_rows, rng.random(size=(batch,)))
        return emitted, num_accepted

    def _descend(
        self,
        walking: IntArray,
        node: IntArray,
        tokens: IntArray,
        draft_rows: RowArray,
        final_rows: FloatArray,
        rng: np.random.Generator,
    ) -> IntArray:
        """Try the children in order; return the one kept by each sequence, -1 = none.

        The rows of sequences that keep none become what their final token is drawn from.
        """
        kept = np.full(len(walking), NO_TOKEN, dtype=np.int64)
        open_places = np.arange(len(walking))
        row = np.asarray(draft_rows[walking, node[walking]], dtype=np.float64)
        for rank in range(self._child.shape[1]):
            children = self._child[node[walking[open_places]], rank]
            open_places, children = open_places[children >= 0], children[children >= 0]
            if not open_places.size:
                break
            sequence = walking[open_places]
            token = tokens[sequence, children]
            offered = offered_row(row[open_places], token, self.siblings)
            target_row = final_rows[sequence]
            at = np.maximum(token, 0)[:, None]
            keep = acceptance_probability(
                np.take_along_axis(target_row, at, axis=1)[:, 0],
                np.take_along_axis(offered, at, axis=1)[:, 0],
            )
            keep[token == NO_TOKEN] = 0.0
            is_kept = rng.random(size=(len(keep),)) < keep
            kept[open_places[is_kept]] = children[is_kept]
            is_tried = ~is_kept & (token != NO_TOKEN)
            final_rows[sequence[is_tried]] = residual(target_row[is_tried], offered[is_tried])
            row[open_places] = next_sibling_row(row[open_places], token, self.siblings)
            open_places = open_places[~is_kept]
        return kept
