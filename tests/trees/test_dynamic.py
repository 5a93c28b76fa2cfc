"""EAGLE-2's rule, against a plain rendering of it, a hand-made case, and published runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tuner.errors import InputError
from tuner.records.config import TreeSetting
from tuner.trees.dynamic import (
    SERVED_LOG_SD,
    dynamic_length,
    setting_length,
    setting_tree,
)
from tuner.trees.expected import expected_tokens, rank_table
from tuner.trees.optimal import optimal_trees
from tuner.trees.ranks import SEQUOIA, rank_acceptance
from tuner.trees.shape import chain
from tuner.trees.spellings import nearest_settings

FloatArray = NDArray[np.float64]


def setting(steps: int, topk: int, tokens: int) -> TreeSetting:
    return TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)


def plainly(chosen: TreeSetting, table: FloatArray) -> float:
    """EAGLE-2 node by node, for rows that decrease and a drafter that is calibrated."""
    frontier = [((), 1.0)]
    every: list[float] = []
    for depth in range(chosen.num_steps):
        grown = [
            ((*path, rank), weight * table[depth, rank])
            for path, weight in frontier
            for rank in range(min(chosen.topk, table.shape[1]))
        ]
        every += [weight for _, weight in grown]
        frontier = sorted(grown, key=lambda item: -item[1])[: chosen.topk]
    return 1.0 + sum(sorted(every, reverse=True)[: chosen.draft_tokens - 1])


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.integers(1, 5),
    st.integers(2, 5),
    st.integers(2, 20),
    st.lists(st.floats(0.05, 0.95), min_size=5, max_size=5),
)
def test_calibrated_setting_is_eagle_2(
    steps: int, topk: int, tokens: int, conditional: list[float]
) -> None:
    table = -np.sort(-rank_acceptance(conditional, 6), axis=1)
    chosen = setting(steps, topk, tokens)
    length = setting_length(chosen, table, depth_discount=1.0)
    assert length == pytest.approx(plainly(chosen, table), abs=1e-9)
    tree = setting_tree(chosen, table, depth_discount=1.0)
    assert expected_tokens(tree, table) == pytest.approx(length, abs=1e-12)
    assert not tree.has_gaps
    assert tree.verify_tokens <= tokens
    best = optimal_trees(table, nodes=tokens - 1, depth=steps).lengths[-1]
    assert length <= best + 1e-12


def test_a_case_by_hand() -> None:
    """Two levels of two: .6 .3 | .36 .18 .18 .09; the best five are 1.62 in all."""
    chosen = setting(2, 2, 6)
    tree = setting_tree(chosen, [0.6, 0.3], depth_discount=1.0)
    assert tree.depth_histogram == (2, 3)
    assert setting_length(chosen, [0.6, 0.3], depth_discount=1.0) == pytest.approx(2.62)


@pytest.mark.parametrize("discount", [0.25, 1.0])
def test_topk_one_is_a_chain(discount: float) -> None:
    for steps in range(1, 8):
        chosen = setting(steps, 1, steps + 1)
        assert setting_tree(chosen, SEQUOIA, depth_discount=discount) == chain(steps)
        length = setting_length(chosen, SEQUOIA, depth_discount=discount)
        assert length == pytest.approx(expected_tokens(chain(steps), SEQUOIA))


@pytest.mark.parametrize("numbers", [(0, 1, 2), (3, 0, 4), (3, 4, 1), (3, 1, 5), (5, 1, 5)])
def test_numbers_that_contradict(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="tree"):
        setting_length(setting(*numbers), SEQUOIA)


def test_constant_confidence_is_the_setting_itself() -> None:
    vector = -np.sort(-SEQUOIA)[:8]

    def draw(rng: np.random.Generator, count: int) -> FloatArray:
        del rng
        return np.tile(vector, (count, 1))

    chosen = setting(4, 3, 9)
    length, error = dynamic_length(chosen, draw, np.random.default_rng(0), samples=3)
    assert length == pytest.approx(setting_length(chosen, vector, depth_discount=1.0))
    assert error == pytest.approx(0.0, abs=1e-12)


def test_confidence_that_varies_is_worth_more_than_its_mean() -> None:
    """Half of the contexts are easy: (0.9, 0.05), half hard: (0.4, 0.3)."""
    kinds = np.array([[0.9, 0.05], [0.4, 0.3]])

    def draw(rng: np.random.Generator, count: int) -> FloatArray:
        return np.asarray(kinds[rng.integers(0, 2, count)])

    chosen = setting(3, 2, 5)
    length, error = dynamic_length(chosen, draw, np.random.default_rng(5), samples=20_000)
    mean = setting_length(chosen, kinds.mean(axis=0), depth_discount=1.0)
    assert length > mean + 3.0 * error
    # the first level by hand: with one step and one node the better rank is always taken
    single, _ = dynamic_length(setting(1, 2, 2), draw, np.random.default_rng(5), samples=20_000)
    assert single == pytest.approx(1.0 + 0.65, abs=0.01)


#: SpecBundle (SGLang, EAGLE-3, T = 0): τ of chains 3, 5, 7 and of trees 5/3/6 and 7/4/8
SPECBUNDLE = [
    # Llama-3.1-8B-Instruct, SpecForge head: gsm8k, livecodebench, math500, mtbench
    ((2.548, 2.854, 2.973), (2.282, 2.367)),
    ((3.169, 3.996, 4.467), (3.236, 3.585)),
    ((3.479, 4.625, 5.403), (4.116, 4.256)),
    ((2.898, 3.516, 3.856), (3.006, 2.938)),
    # Qwen3-30B-A3B-Instruct-2507: gpqa, humaneval, mtbench
    ((2.596, 3.008, 3.217), (2.695, 2.917)),
    ((3.349, 4.384, 5.124), (3.790, 4.031)),
    ((2.496, 2.831, 2.982), (2.557, 2.742)),
    # Kimi-K2-Instruct: financeqa, mtbench
    ((2.985, 3.594, 3.945), (2.880, 2.510)),
    ((2.390, 2.739, 2.782), (2.394, 2.536)),
]


def conditional_of(lengths: tuple[float, float, float]) -> FloatArray:
    """Two positions share one conditional rate, by bisection on the τ of three chains."""
    survival, rates = 1.0, []
    for positions, gained in zip((3, 2, 2), np.diff([1.0, *lengths]), strict=True):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            total = sum(survival * middle**i for i in range(1, positions + 1))
            low, high = (middle, high) if total < gained else (low, middle)
        rates += [low] * positions
        survival *= low**positions
    return np.array(rates)


def test_served_trees_fall_short_of_chains_as_published() -> None:
    errors = []
    for chains, trees in SPECBUNDLE:
        table = rank_acceptance(conditional_of(chains), 4)
        for numbers, line, measured in zip(((5, 3, 6), (7, 4, 8)), chains[1:], trees, strict=True):
            predicted = setting_length(setting(*numbers), table)
            assert predicted < line
            errors.append(np.log(predicted / measured))
    assert np.median(np.abs(errors)) < 0.12
    assert np.std(errors) < 1.3 * SERVED_LOG_SD


def test_nearest_settings() -> None:
    table = rank_table(SEQUOIA, 9)
    sglang, trtllm = nearest_settings(table, 63)
    best = optimal_trees(SEQUOIA, nodes=63, depth=9).lengths[-1]
    for spelling in (sglang, trtllm):
        chosen = spelling.setting
        assert chosen.draft_tokens <= 64
        assert spelling.expected_tokens <= best + 1e-9
        again = setting_length(chosen, table, depth_discount=1.0)
        assert again == pytest.approx(spelling.expected_tokens)
    total = trtllm.setting.draft_tokens - 1
    steps = trtllm.setting.num_steps
    assert steps <= total <= trtllm.setting.topk * steps


def test_nearest_setting_of_one_rank_is_the_chain() -> None:
    sglang, trtllm = nearest_settings(rank_table([0.8], 5), 63)
    assert sglang.setting == trtllm.setting == setting(5, 1, 6)
