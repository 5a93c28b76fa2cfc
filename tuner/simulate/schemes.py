"""Every way of speculating that the proof can be run on, in one form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from tuner.simulate.batched import (
    BatchStep,
    StepFunction,
    batch_step,
    first_tokens,
    start_windows,
)
from tuner.simulate.chain_rules import CHAIN_RULES, ChainRule
from tuner.simulate.enumeration import Branches, StepRule
from tuner.simulate.models import IntArray, NextToken
from tuner.simulate.reference import Step, speculative_step
from tuner.simulate.rule_step import batch_rule_step, rule_step
from tuner.simulate.rules import EXACT, Recipe
from tuner.simulate.tree_step import Siblings, TreeBatch, tree_step
from tuner.trees.shape import DraftTree, tree_of_paths


class Scheme(Protocol):
    """A way of speculating with N drafts in a row (or a tree of N levels)."""

    @property
    def name(self) -> str:
        """Public spelling."""
        ...

    @property
    def is_lossy(self) -> bool:
        """Whether it is known to change the law."""
        ...

    def single(self, target: NextToken, drafter: NextToken, n: int) -> StepRule:
        """Return one step of one sequence under any source of chance."""
        ...

    def batched(
        self, target: NextToken, drafter: NextToken, n: int, rng: np.random.Generator
    ) -> StepFunction:
        """Return one step of a batch."""
        ...


@dataclass(frozen=True, slots=True)
class RecipeScheme:
    """The reference loop, exact or with a planted fault."""

    recipe: Recipe = EXACT
    name: str = "ratio"
    is_lossy: bool = False

    def single(self, target: NextToken, drafter: NextToken, n: int) -> StepRule:
        """See :class:`Scheme`."""

        def step(seen: tuple[int, ...], branches: Branches) -> Step:
            return speculative_step(seen, target, drafter, n, branches, self.recipe)

        return step

    def batched(
        self, target: NextToken, drafter: NextToken, n: int, rng: np.random.Generator
    ) -> StepFunction:
        """See :class:`Scheme`."""
        return partial(
            batch_step,
            target=target,
            drafter=drafter,
            num_speculative_tokens=n,
            rng=rng,
            recipe=self.recipe,
        )


@dataclass(frozen=True, slots=True)
class RuleScheme:
    """A chain under another acceptance rule."""

    rule: ChainRule

    @property
    def name(self) -> str:
        """See :class:`Scheme`."""
        return self.rule.name

    @property
    def is_lossy(self) -> bool:
        """See :class:`Scheme`."""
        return self.rule.is_lossy

    def single(self, target: NextToken, drafter: NextToken, n: int) -> StepRule:
        """See :class:`Scheme`."""

        def step(seen: tuple[int, ...], branches: Branches) -> Step:
            return rule_step(seen, target, drafter, n, branches, self.rule)

        return step

    def batched(
        self, target: NextToken, drafter: NextToken, n: int, rng: np.random.Generator
    ) -> StepFunction:
        """See :class:`Scheme`."""
        return partial(
            batch_rule_step,
            target=target,
            drafter=drafter,
            num_speculative_tokens=n,
            rng=rng,
            rule=self.rule,
        )


#: trees of N levels with few enough nodes to enumerate: the ranks on the way to each node
_SMALL_PATHS = {1: "1 2", 2: "1 2 11 12", 3: "1 2 11 12 111", 4: "1 2 11 111 1111"}


def _small_tree(levels: int) -> DraftTree:
    return tree_of_paths([int(rank) for rank in path] for path in _SMALL_PATHS[levels].split())


@dataclass(frozen=True, slots=True)
class TreeScheme:
    """A small tree of N levels."""

    name: str
    siblings: Siblings
    is_lossy: bool = False

    def single(self, target: NextToken, drafter: NextToken, n: int) -> StepRule:
        """See :class:`Scheme`."""
        tree = _small_tree(n)

        def step(seen: tuple[int, ...], branches: Branches) -> Step:
            return tree_step(seen, target, drafter, tree, branches, self.siblings)

        return step

    def batched(
        self, target: NextToken, drafter: NextToken, n: int, rng: np.random.Generator
    ) -> StepFunction:
        """See :class:`Scheme`."""
        trees = TreeBatch(_small_tree(n), self.siblings)

        def step(windows: IntArray) -> BatchStep:
            return tree_batch_step(trees, windows, target, drafter, rng)

        return step


def tree_batch_step(
    trees: TreeBatch,
    windows: IntArray,
    target: NextToken,
    drafter: NextToken,
    rng: np.random.Generator,
) -> BatchStep:
    """Run one tree step of every sequence; ``drafts`` of the result are the accepted paths."""
    emitted, num_accepted = trees.step(windows, target, drafter, rng)
    batch, window = windows.shape
    columns = (num_accepted + 1)[:, None] + np.arange(window)
    return BatchStep(
        drafts=emitted[:, :-1],
        num_accepted=num_accepted,
        final=emitted[np.arange(batch), num_accepted],
        windows=np.take_along_axis(np.concatenate([windows, emitted], axis=1), columns, axis=1),
    )


def restarted(
    scheme: Scheme,
    target: NextToken,
    drafter: NextToken,
    *,
    prompts: IntArray,
    restarts: int,
    length: int,
    n: int,
    rng: np.random.Generator,
) -> tuple[IntArray, int]:
    """Return the first ``length`` tokens of independent restarts, and the steps that it took."""
    windows = start_windows(prompts, restarts, target, drafter)
    return first_tokens(scheme.batched(target, drafter, n, rng), windows, length=length)


#: every scheme by name; "ratio" is the reference loop itself
SCHEMES: dict[str, Scheme] = {
    "ratio": RecipeScheme(),
    **{name: RuleScheme(rule) for name, rule in CHAIN_RULES.items() if name != "ratio"},
    "tree": TreeScheme("tree", Siblings.WITHOUT_REPLACEMENT),
    "tree_top": TreeScheme("tree_top", Siblings.TOP),
    "multi_candidate": TreeScheme("multi_candidate", Siblings.WITH_REPLACEMENT),
}
