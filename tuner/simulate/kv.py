"""What happens to the KV cache: writes, commits, rollbacks, blocks.

A verify pass computes one entry for each of its tokens: the last emitted token (whose entry does
not exist yet) and the N drafts. After j accepted drafts the entries of the last token and of the
j drafts are right and the others are not: the logical length goes to prefix + j + 1. The final
token of the step has no entry until the next pass. Of a tree the entries of the accepted path are
kept, which need not lie side by side and are moved together.

An "entry" is here the token that it was computed for, enough to see whether a cache holds what it
should. Three ways of keeping it, as engines do: a scratch buffer that is copied on acceptance, one
buffer with a logical length, and a pool of blocks with a table for each sequence.

References
----------
Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention" (arXiv:2309.06180), for block tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tuner.errors import InfeasibleError, InputError
from tuner.simulate.models import BoolArray, IntArray

EMPTY = -1


@dataclass(slots=True, kw_only=True)
class KvCounts:
    """Work on a cache so far, in entries (one token, all layers)."""

    #: entries computed by verify passes
    computed: int = 0
    #: of these, entries that became part of a sequence
    committed: int = 0
    #: of these, entries of rejected drafts
    discarded: int = 0
    #: entries moved from one place to another
    copied: int = 0
    #: entries computed for a place of a sequence that already had a committed one
    recomputed: int = 0


class KvCache(Protocol):
    """A cache of B sequences: write the tokens of a verify pass, then keep a part of them."""

    counts: KvCounts
    #: valid entries of each sequence, shape (B,)
    length: IntArray

    def write(self, tokens: IntArray) -> None:
        """Hold the entries of a verify pass, shape (B, M), after the valid ones."""
        ...

    def commit(self, kept: IntArray) -> None:
        """Keep the first ``kept`` entries of the last write of each sequence, shape (B,)."""
        ...

    def commit_nodes(self, kept: BoolArray) -> None:
        """Keep the marked entries of the last write, in their order, shape (B, M)."""
        ...

    def content(self, sequence: int) -> list[int]:
        """Return the valid entries of one sequence in order."""
        ...


def _prefix(kept: IntArray, written: int) -> BoolArray:
    """Return marks for the first ``kept`` of the written entries, shape (B, M)."""
    if (kept < 0).any() or (kept > written).any():
        raise InputError(f"only 0 to {written} of {written} written entries can be kept.")
    return np.asarray(np.arange(written) < kept[:, None])


def _check_marks(kept: BoolArray, batch: int, written: int) -> None:
    if kept.shape != (batch, written):
        raise InputError(f"{kept.shape} marks do not fit {batch} × {written} written entries.")


class LengthCache:
    """One buffer for each sequence and a logical length; rollback sets the length back.

    Entries of a pass are written in place, so acceptance moves nothing. What lies beyond the
    length is stale and is overwritten by the next pass.
    """

    def __init__(self, batch: int, capacity: int) -> None:
        self.counts = KvCounts()
        self.length = np.zeros(batch, dtype=np.int64)
        self._entries = np.full((batch, capacity), EMPTY, dtype=np.int64)
        self._written = 0

    def write(self, tokens: IntArray) -> None:
        """Write after the valid entries; see :class:`KvCache`."""
        batch, width = tokens.shape
        if int(self.length.max(initial=0)) + width > self._entries.shape[1]:
            raise InfeasibleError("the cache is full.")
        places = self.length[:, None] + np.arange(width)
        self._entries[np.arange(batch)[:, None], places] = tokens
        self.counts.computed += tokens.size
        self._written = width

    def commit(self, kept: IntArray) -> None:
        """Move the logical length on; see :class:`KvCache`."""
        self.commit_nodes(_prefix(kept, self._written))

    def commit_nodes(self, kept: BoolArray) -> None:
        """Close the gaps between kept entries and move the length on; see :class:`KvCache`."""
        _check_marks(kept, len(self.length), self._written)
        sequence, source, place = _moves(kept)
        base = self.length[sequence]
        self._entries[sequence, base + place] = self._entries[sequence, base + source]
        self.counts.copied += int((source != place).sum())
        self.length = self.length + kept.sum(axis=1)
        _count(self.counts, kept)
        self._written = 0

    def content(self, sequence: int) -> list[int]:
        """Return the valid entries of one sequence."""
        entries: list[int] = self._entries[sequence, : self.length[sequence]].tolist()
        return entries


class ScratchCache:
    """Valid entries in one buffer, those of the running pass in another; acceptance copies."""

    def __init__(self, batch: int, capacity: int) -> None:
        self.counts = KvCounts()
        self.length = np.zeros(batch, dtype=np.int64)
        self._entries = np.full((batch, capacity), EMPTY, dtype=np.int64)
        self._scratch = np.empty((batch, 0), dtype=np.int64)

    def write(self, tokens: IntArray) -> None:
        """Hold the pass in the scratch buffer; see :class:`KvCache`."""
        self._scratch = tokens.copy()
        self.counts.computed += tokens.size

    def commit(self, kept: IntArray) -> None:
        """Copy what is kept behind the valid entries; see :class:`KvCache`."""
        self.commit_nodes(_prefix(kept, self._scratch.shape[1]))

    def commit_nodes(self, kept: BoolArray) -> None:
        """Copy the marked entries behind the valid ones; see :class:`KvCache`."""
        _check_marks(kept, len(self.length), self._scratch.shape[1])
        length = self.length + kept.sum(axis=1)
        if int(length.max(initial=0)) > self._entries.shape[1]:
            raise InfeasibleError("the cache is full.")
        sequence, source, place = _moves(kept)
        self._entries[sequence, self.length[sequence] + place] = self._scratch[sequence, source]
        self.length = length
        self.counts.copied += int(kept.sum())
        _count(self.counts, kept)
        self._scratch = self._scratch[:, :0]

    def content(self, sequence: int) -> list[int]:
        """Return the valid entries of one sequence."""
        entries: list[int] = self._entries[sequence, : self.length[sequence]].tolist()
        return entries


class PagedCache:
    """A pool of blocks shared by all sequences, and a table of block numbers for each.

    Blocks are taken before a pass writes and given back after a rollback when no valid entry is
    left in them.
    """

    def __init__(self, batch: int, *, num_blocks: int, block_size: int) -> None:
        self.counts = KvCounts()
        self.length = np.zeros(batch, dtype=np.int64)
        self.block_size = block_size
        self.tables: list[list[int]] = [[] for _ in range(batch)]
        self.free = list(range(num_blocks - 1, -1, -1))
        self.blocks_taken = 0
        self.blocks_returned = 0
        self.most_blocks = 0
        self._pool = np.full((num_blocks, block_size), EMPTY, dtype=np.int64)
        self._written = 0

    @property
    def blocks_in_use(self) -> int:
        """Blocks that belong to a sequence."""
        return sum(map(len, self.tables))

    def write(self, tokens: IntArray) -> None:
        """Take the blocks that the pass needs and write into them; see :class:`KvCache`."""
        width = tokens.shape[1]
        needed = [self._blocks(int(length) + width) for length in self.length]
        missing = sum(need - len(table) for need, table in zip(needed, self.tables, strict=True))
        if missing > len(self.free):
            raise InfeasibleError(f"{missing} blocks are needed and {len(self.free)} are free.")
        for need, table in zip(needed, self.tables, strict=True):
            while len(table) < need:
                table.append(self.free.pop())
                self.blocks_taken += 1
        self.most_blocks = max(self.most_blocks, self.blocks_in_use)
        for sequence, row in enumerate(tokens):
            places = int(self.length[sequence]) + np.arange(width)
            self._pool[self._address(sequence, places)] = row
        self.counts.computed += tokens.size
        self._written = width

    def commit(self, kept: IntArray) -> None:
        """Move the lengths on and give back blocks without a valid entry; see :class:`KvCache`."""
        self.commit_nodes(_prefix(kept, self._written))

    def commit_nodes(self, kept: BoolArray) -> None:
        """Close gaps across blocks, then as :meth:`commit`; see :class:`KvCache`."""
        _check_marks(kept, len(self.length), self._written)
        sequence, source, place = _moves(kept)
        for row in np.unique(sequence[source != place]).tolist():
            moved = sequence == row
            base = int(self.length[row])
            entries = self._pool[self._address(row, base + source[moved])]
            self._pool[self._address(row, base + place[moved])] = entries
        self.counts.copied += int((source != place).sum())
        self.length = self.length + kept.sum(axis=1)
        for table, length in zip(self.tables, self.length, strict=True):
            while len(table) > self._blocks(int(length)):
                self.free.append(table.pop())
                self.blocks_returned += 1
        _count(self.counts, kept)
        self._written = 0

    def content(self, sequence: int) -> list[int]:
        """Return the valid entries of one sequence, gathered through its table."""
        length = int(self.length[sequence])
        entries: list[int] = self._pool[self.tables[sequence]].ravel()[:length].tolist()
        return entries

    def _blocks(self, entries: int) -> int:
        return -(-entries // self.block_size)

    def _address(self, sequence: int, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return block numbers and slots of places in a sequence."""
        blocks = np.array(self.tables[sequence], dtype=np.int64)
        return blocks[places // self.block_size], places % self.block_size


def _moves(kept: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return sequence, column and place among the kept ones of each kept entry."""
    sequence, source = np.nonzero(kept)
    place = (kept.cumsum(axis=1) - 1)[sequence, source]
    return sequence, source, place


def _count(counts: KvCounts, kept: BoolArray) -> None:
    committed = int(kept.sum())
    counts.committed += committed
    counts.discarded += kept.size - committed


def replay(
    cache: KvCache, roots: IntArray, drafts: IntArray, num_accepted: IntArray, final: IntArray
) -> None:
    """Send the steps of a batch through a cache.

    Parameters
    ----------
    cache : of B sequences
    roots : (B,) token that each sequence emitted last before the first step
    drafts : (steps, B, N)
    num_accepted, final : (steps, B)
    """
    computed_rightly = cache.length + 0
    for step_drafts, accepted, last in zip(drafts, num_accepted, final, strict=True):
        # What lies beyond the valid length although it was right has to be computed again.
        lost = np.maximum(computed_rightly - cache.length, 0)
        cache.counts.recomputed += int(lost.sum())
        cache.write(np.concatenate([roots[:, None], step_drafts], axis=1))
        cache.commit(accepted + 1)
        computed_rightly = computed_rightly + accepted + 1 - lost
        roots = last
