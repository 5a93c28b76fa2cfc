"""Trees against chains: the same verify tokens, the same draft time, the same models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tuner.errors import InputError
from tuner.records.config import TreeSetting
from tuner.simulate.batched import StepFunction, start_windows
from tuner.simulate.dynamic_trees import dynamic_step
from tuner.simulate.models import IntArray, NextToken
from tuner.simulate.schemes import SCHEMES, tree_batch_step
from tuner.simulate.tree_step import Siblings, TreeBatch, widths_tree
from tuner.simulate.trial import burnt_in
from tuner.trees.shape import DraftTree
from tuner.trees.static import EAGLE_1, named_tree

#: largest tree that is simulated, root included
MAX_VERIFY_TOKENS = 128

StepFactory = Callable[[NextToken, NextToken, np.random.Generator], StepFunction]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """One way of drafting a tree."""

    name: str
    #: target positions of a verify pass, root included
    verify_tokens: int
    #: draft passes in sequence
    draft_steps: int
    step: StepFactory


def static_plan(name: str, tree: DraftTree, siblings: Siblings) -> TreePlan:
    """Return the plan of a tree of fixed shape."""
    batch = TreeBatch(tree, siblings)

    def step(target: NextToken, drafter: NextToken, rng: np.random.Generator) -> StepFunction:
        return partial(tree_batch_step, batch, target=target, drafter=drafter, rng=rng)

    return TreePlan(name=name, verify_tokens=tree.verify_tokens, draft_steps=tree.depth, step=step)


def dynamic_plan(setting: TreeSetting) -> TreePlan:
    """Return the plan of an EAGLE-2-style tree."""

    def step(target: NextToken, drafter: NextToken, rng: np.random.Generator) -> StepFunction:
        return partial(dynamic_step, target=target, drafter=drafter, setting=setting, rng=rng)

    return TreePlan(
        name=f"dynamic {setting}",
        verify_tokens=setting.draft_tokens,
        draft_steps=setting.num_steps,
        step=step,
    )


def chain_plan(length: int, rule: str = "ratio") -> TreePlan:
    """Return the plan of a chain under a rule of ``SCHEMES``."""

    def step(target: NextToken, drafter: NextToken, rng: np.random.Generator) -> StepFunction:
        return SCHEMES[rule].batched(target, drafter, length, rng)

    return TreePlan(name=f"chain {length}", verify_tokens=length + 1, draft_steps=length, step=step)


def standard_plans() -> tuple[TreePlan, ...]:
    """Return the trees that are compared: full ones, EAGLE-1's static one, EAGLE-2-style ones.

    Siblings of full trees are drawn without replacement. EAGLE-1's shape is tried with both.
    """
    drawn, top = Siblings.WITHOUT_REPLACEMENT, Siblings.TOP
    eagle = named_tree(EAGLE_1)
    return (
        static_plan("[2, 2, 2]", widths_tree((2, 2, 2)), drawn),
        static_plan("[3, 3]", widths_tree((3, 3)), drawn),
        static_plan("EAGLE-1, drawn", eagle, drawn),
        static_plan("EAGLE-1, top", eagle, top),
        dynamic_plan(TreeSetting(num_steps=3, topk=4, draft_tokens=15)),
        dynamic_plan(TreeSetting(num_steps=5, topk=4, draft_tokens=26)),
    )


def read_plan(text: str) -> tuple[TreePlan, ...]:
    """Return the plans of "2x2x2", "eagle-1", "5/4/26" (steps/topk/draft tokens) or "all".

    Raises
    ------
    InputError
        If the text is none of them, or the tree is larger than ``MAX_VERIFY_TOKENS``.
    """
    word = text.strip().lower()
    if word == "all":
        return standard_plans()
    if word in ("eagle-1", "eagle1"):
        return standard_plans()[2:4]
    parts = word.split("/") if "/" in word else word.split("x")
    # Nine digits are far above the limit, and few enough for int to read.
    is_read = all(part.isdecimal() and len(part) <= 9 for part in parts)
    if not is_read or not all(0 < int(part) <= MAX_VERIFY_TOKENS for part in parts):
        shown = repr(text) if len(text) <= 40 else f"'{text[:37]}…'"
        raise InputError(
            f"{shown} is not a tree: 2x2x2 (children by level), 5/4/26 (steps/topk/draft "
            "tokens), eagle-1 or all."
        )
    numbers = tuple(map(int, parts))
    if "/" not in word:
        nodes = sum(int(np.prod(numbers[: level + 1])) for level in range(len(numbers)))
        _check_size(text, nodes + 1)
        tree = widths_tree(numbers)
        return (static_plan(f"[{', '.join(parts)}]", tree, Siblings.WITHOUT_REPLACEMENT),)
    if len(numbers) != 3 or numbers[2] < 2:
        raise InputError(f"{text!r} is not a dynamic tree: steps/topk/draft tokens, as 5/4/26.")
    _check_size(text, numbers[2])
    steps, topk, tokens = numbers
    return (dynamic_plan(TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)),)


def _check_size(text: str, verify_tokens: int) -> None:
    if verify_tokens > MAX_VERIFY_TOKENS:
        raise InputError(
            f"the tree {text} has {verify_tokens:,} verify tokens; at most {MAX_VERIFY_TOKENS} "
            "are simulated."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """τ with its standard error over sequences."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeComparison:
    """One tree beside two chains."""

    plan: TreePlan
    tree: Length
    #: a chain with as many verify tokens
    equal_verify: Length
    #: a chain with as many draft passes
    equal_draft: Length


def compare_trees(
    target: NextToken,
    drafter: NextToken,
    *,
    plans: tuple[TreePlan, ...],
    batch: int,
    steps: int,
    seed: int,
    report: Callable[[str], None] = lambda what: None,
) -> list[TreeComparison]:
    """Measure tokens a verify pass of each plan and of its two chains."""
    known: dict[str, Length] = {}

    def length_of(plan: TreePlan) -> Length:
        if plan.name not in known:
            rng = np.random.default_rng([seed, len(known)])
            known[plan.name] = measure(plan, target, drafter, batch=batch, steps=steps, rng=rng)
        return known[plan.name]

    found = []
    for plan in plans:
        report(plan.name)
        found.append(
            TreeComparison(
                plan=plan,
                tree=length_of(plan),
                equal_verify=length_of(chain_plan(plan.verify_tokens - 1)),
                equal_draft=length_of(chain_plan(plan.draft_steps)),
            )
        )
    return found


def measure(
    plan: TreePlan,
    target: NextToken,
    drafter: NextToken,
    *,
    batch: int,
    steps: int,
    rng: np.random.Generator,
) -> Length:
    """Run a plan and return its tokens a verify pass."""
    text: IntArray = burnt_in(target, drafter, batch=batch, rng=rng)
    windows = start_windows(text, batch, target, drafter)
    step_of = plan.step(target, drafter, rng)
    total = np.zeros(batch)
    for _ in range(steps):
        step = step_of(windows)
        windows = step.windows
        total += step.num_accepted + 1
    lengths = total / steps
    error = float(lengths.std(ddof=1) / np.sqrt(batch)) if batch > 1 else float("nan")
    return Length(mean=float(lengths.mean()), error=error)
