"""What a measured tree says about that tree, beyond what it says about the chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tuner.acceptance.evidence import length_of_tree
from tuner.advise.trees import tree_curves, tree_log_sd
from tuner.records.acceptance import AcceptanceBelief, AcceptanceObservation, AcceptanceQuery
from tuner.records.config import TreeSetting

FloatArray = NDArray[np.float64]


def observed_factors(
    trees: tuple[TreeSetting, ...],
    query: AcceptanceQuery,
    observed: Iterable[AcceptanceObservation],
    believe_chain: Callable[[AcceptanceQuery], AcceptanceBelief],
    run_log_sd: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the factor on each tree's τ, the doubt about the step from chain to tree, the run's.

    Doubts are standard deviations of ln; the run's is infinite where nobody measured the tree on
    the task and at the temperature of ``query``.

    A measured ln τ = chain + tree + run, each Gaussian. The belief about the chain has taken its
    part of the surprise already; of what is left, the tree explains s²/(s² + r²), with s the doubt
    about the step from chain to tree and r that of one run. Trees nobody measured keep factor 1.
    ``query`` is the question for the main task and temperature. The arrays have shape (trees,).
    """
    doubt = tree_log_sd()
    left: dict[TreeSetting, list[float]] = {}
    runs = np.full(len(trees), np.inf)
    for row in observed:
        length = length_of_tree(row)
        if row.tree is None or length is None:
            continue
        steps, topk, draft_tokens = row.tree
        tree = TreeSetting(num_steps=steps, topk=topk, draft_tokens=draft_tokens)
        if tree not in trees:
            continue
        asked = replace(
            query,
            task=query.task if row.task is None else row.task,
            temperature=query.temperature if row.temperature is None else row.temperature,
        )
        if asked == query:
            runs[trees.index(tree)] = run_log_sd
        expected = tree_curves((tree,), believe_chain(asked).conditional)[0, -1]
        left.setdefault(tree, []).append(float(np.log(length / expected)))
    factors, spreads = np.ones(len(trees)), np.full(len(trees), doubt)
    for index, tree in enumerate(trees):
        if tree in left:
            run_variance = run_log_sd**2 / len(left[tree])
            trust = doubt**2 / (doubt**2 + run_variance)
            factors[index] = np.exp(trust * np.mean(left[tree]))
            spreads[index] = doubt * np.sqrt(1.0 - trust)
    return factors, spreads, runs
