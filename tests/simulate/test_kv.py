"""The KV cache under any sequence of passes: three implementations against a plain list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tuner.errors import InfeasibleError, InputError
from tuner.simulate.batched import run_batch
from tuner.simulate.kv import LengthCache, PagedCache, ScratchCache, replay
from tuner.simulate.models import random_table

CAPACITY = 256
VOCAB = 50


class CacheMachine(RuleBasedStateMachine):
    """Passes of any width, kept to any length, on a batch; rollback to any accepted count."""

    @initialize(batch=st.integers(1, 4), block_size=st.integers(1, 7))
    def start(self, batch: int, block_size: int) -> None:
        self.batch = batch
        blocks = batch * -(-CAPACITY // block_size)
        self.paged = PagedCache(batch, num_blocks=blocks, block_size=block_size)
        self.num_blocks = blocks
        self.caches = [LengthCache(batch, CAPACITY), ScratchCache(batch, CAPACITY), self.paged]
        self.truth: list[list[int]] = [[] for _ in range(batch)]
        #: kept entries behind a gap: what has to be moved
        self.moved = 0
        self.kept_in_all = 0
        self.written_in_all = 0

    @rule(data=st.data(), drafts=st.integers(0, 6))
    def verify_pass(self, data: st.DataObject, drafts: int) -> None:
        width = drafts + 1
        if max(map(len, self.truth)) + width > CAPACITY:
            return
        tokens = np.array(
            data.draw(
                st.lists(
                    st.lists(st.integers(0, VOCAB), min_size=width, max_size=width),
                    min_size=self.batch,
                    max_size=self.batch,
                )
            )
        )
        kept = np.array(
            data.draw(st.lists(st.integers(0, width), min_size=self.batch, max_size=self.batch))
        )
        for cache in self.caches:
            cache.write(tokens)
            cache.commit(kept)
        for sequence in range(self.batch):
            self.truth[sequence] += tokens[sequence, : kept[sequence]].tolist()
        self.kept_in_all += int(kept.sum())
        self.written_in_all += tokens.size

    @rule(data=st.data(), width=st.integers(1, 7))
    def tree_pass(self, data: st.DataObject, width: int) -> None:
        """An accepted path may lie anywhere among the written nodes; the root is always kept."""
        if max(map(len, self.truth)) + width > CAPACITY:
            return
        shape = {"min_size": width, "max_size": width}
        batch = {"min_size": self.batch, "max_size": self.batch}
        rows = st.lists(st.lists(st.integers(0, VOCAB), **shape), **batch)
        marks = st.lists(st.lists(st.booleans(), **shape), **batch)
        tokens, kept = np.array(data.draw(rows)), np.array(data.draw(marks))
        kept[:, 0] = True
        for cache in self.caches:
            cache.write(tokens)
            cache.commit_nodes(kept)
        for sequence in range(self.batch):
            path = tokens[sequence][kept[sequence]].tolist()
            holes = kept[sequence].tolist()
            self.moved += sum(1 for i, k in enumerate(holes) if k and not all(holes[:i]))
            self.truth[sequence] += path
        self.kept_in_all += int(kept.sum())
        self.written_in_all += tokens.size

    @invariant()
    def content_is_what_was_kept(self) -> None:
        for cache in self.caches:
            for sequence, tokens in enumerate(self.truth):
                assert cache.content(sequence) == tokens
            assert cache.length.tolist() == list(map(len, self.truth))

    @invariant()
    def every_kept_entry_was_computed_once(self) -> None:
        for cache in self.caches:
            assert cache.counts.computed == self.written_in_all
            assert cache.counts.committed == self.kept_in_all == sum(map(len, self.truth))
            assert cache.counts.discarded == self.written_in_all - self.kept_in_all
        length, scratch, paged = self.caches
        assert length.counts.copied == paged.counts.copied == self.moved
        assert scratch.counts.copied == self.kept_in_all

    @invariant()
    def blocks_are_owned_once_and_none_is_lost(self) -> None:
        owned = [block for table in self.paged.tables for block in table]
        assert len(owned) == len(set(owned))
        assert sorted(owned + self.paged.free) == list(range(self.num_blocks))
        for table, tokens in zip(self.paged.tables, self.truth, strict=True):
            assert len(table) == -(-len(tokens) // self.paged.block_size)
        assert self.paged.blocks_taken - self.paged.blocks_returned == len(owned)


CacheMachine.TestCase.settings = settings(
    deadline=None, derandomize=True, max_examples=30, stateful_step_count=15
)
TestCacheMachine = CacheMachine.TestCase


@pytest.mark.parametrize("kind", ["length", "scratch", "paged"])
def test_rollback_goes_to_prefix_plus_accepted_plus_one(kind: str) -> None:
    """Two sequences that accept 1 and 3 of three drafts; entries by hand."""
    cache = {
        "length": lambda: LengthCache(2, 32),
        "scratch": lambda: ScratchCache(2, 32),
        "paged": lambda: PagedCache(2, num_blocks=16, block_size=4),
    }[kind]()
    cache.write(np.array([[10, 11, 12], [20, 21, 22]]))  # the prompts
    cache.commit(np.array([3, 3]))
    cache.write(np.array([[13, 1, 2, 3], [23, 4, 5, 6]]))  # last token and three drafts
    cache.commit(np.array([1, 3]) + 1)
    assert cache.content(0) == [10, 11, 12, 13, 1]
    assert cache.content(1) == [20, 21, 22, 23, 4, 5, 6]
    assert cache.length.tolist() == [3 + 1 + 1, 3 + 3 + 1]
    assert cache.counts.discarded == 2


def test_replayed_run_computes_no_committed_entry_twice() -> None:
    rng = np.random.default_rng(0)
    target, drafter = random_table(rng, 8, 1), random_table(rng, 8, 1)
    run = run_batch(
        target,
        drafter,
        prompts=np.array([3]),
        batch=5,
        steps=30,
        num_speculative_tokens=4,
        rng=rng,
    )
    cache = PagedCache(5, num_blocks=5 * 40, block_size=4)
    replay(cache, np.full(5, 3), run.drafts, run.num_accepted, run.final)
    assert cache.counts.recomputed == 0
    assert cache.counts.computed == 30 * 5 * 5
    assert cache.counts.committed == int((run.num_accepted + 1).sum())
    for sequence in range(5):
        emitted = [3]
        for step in range(30):
            emitted += run.drafts[step, sequence, : run.num_accepted[step, sequence]].tolist()
            emitted.append(int(run.final[step, sequence]))
        # the final token of the last step has no entry yet
        assert cache.content(sequence) == emitted[:-1]


def test_a_cache_that_rolls_back_too_far_is_seen() -> None:
    class Forgetful(LengthCache):
        def commit(self, kept: np.ndarray) -> None:
            super().commit(kept)
            self.length = np.maximum(self.length - 1, 0)

    cache = Forgetful(1, 64)
    steps = np.ones((4, 1, 2), dtype=np.int64)
    ones = np.ones((4, 1), dtype=np.int64)
    replay(cache, np.array([0]), steps, ones, ones)
    assert cache.counts.recomputed == 3  # one entry dropped after each of four steps


def test_full_caches_and_impossible_counts_are_errors() -> None:
    for cache in (LengthCache(1, 4), PagedCache(1, num_blocks=2, block_size=2)):
        with pytest.raises(InfeasibleError):
            cache.write(np.zeros((1, 5), dtype=np.int64))
    scratch = ScratchCache(1, 4)
    scratch.write(np.zeros((1, 5), dtype=np.int64))
    with pytest.raises(InfeasibleError):
        scratch.commit(np.array([5]))
    cache = LengthCache(1, 4)
    cache.write(np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(InputError):
        cache.commit(np.array([3]))
    with pytest.raises(InputError):
        cache.commit_nodes(np.ones((1, 3), dtype=np.bool_))
