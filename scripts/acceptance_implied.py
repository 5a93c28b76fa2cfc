"""Acceptance where a source states speeds or tree lengths alone, as chains with more doubt.

Many runs state a speed next to a plain run and no τ. A speed is τ over the step's cost, so the
fitted step times turn it into a τ; trees are turned into the chain whose acceptance would give
their length. Both say less than a counted chain and weigh less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scripts.acceptance_curves import LONGEST, TRUST, UNKNOWN_TARGET, AcceptanceCell
from scripts.cost_setups import USUAL_CONTEXT_TOKENS, plan_of, setup_of
from scripts.evidence import MeasuredRow, SpeedRow, speed_rows
from tuner.advise.trees import tree_curves
from tuner.cost.model import learn
from tuner.errors import TunerError
from tuner.records.config import TreeSetting
from tuner.records.cost_prior import CostPrior
from tuner.records.methods import DraftKind, Method

#: weight of a τ that a speed implies, and of a chain that a tree implies, next to a counted chain
#: (assumed: the predicted step is off by some ten per cent, and so is the tree's gain)
SPEED_WEIGHT, TREE_WEIGHT = 0.25, 0.4
#: steps of a lookup that have a draft (assumed: prompt lookup on mixed text)
LOOKUP_COVERAGE = 0.35
_RATES = np.linspace(0.02, 0.98, 97)


def implied_cells(rows: Sequence[MeasuredRow], cost: CostPrior) -> list[AcceptanceCell]:
    """Return one cell a configuration that states no chain τ."""
    found = (_cell(speed, cost) for speed in speed_rows(rows))
    return [cell for cell in found if cell is not None]


def _cell(speed: SpeedRow, cost: CostPrior) -> AcceptanceCell | None:
    row = speed.row
    if row.method in (None, Method.NONE) or row.setting is None or row.is_random_text:
        return None
    length, numbers = row.setting
    tau, weight = speed.acceptance_length, 1.0
    if tau is not None and numbers is None:
        return None  # a counted chain stands in its own cell
    if tau is None:
        tau, weight = _implied_length(speed, cost), SPEED_WEIGHT
    if tau is None or not 1.0 <= tau <= length + 1.0:
        return None  # a speed that no acceptance explains is the implementation's
    if numbers is not None:
        weight *= TREE_WEIGHT
        steps, topk, tokens = numbers
        tree = TreeSetting(num_steps=steps, topk=topk, draft_tokens=tokens)
        tau = chain_length(tree, tau)
    # a τ at the edge says only that acceptance is very low or very high
    tau = min(max(tau, 1.02), 1.0 + 0.97 * length)
    if length > LONGEST:
        return None
    return AcceptanceCell(
        source=row.source,
        target=row.target_id or row.target_raw,
        target_class=row.target_class() or UNKNOWN_TARGET,
        method=row.method or Method.NONE,
        drafter=row.draft_model,
        draft_params=row.draft_params,
        tasks=row.tasks,
        data_set=row.task_raw,
        temperature=row.temperature,
        context_tokens=row.context_tokens or 1024.0,
        engine=row.engine,
        weight=weight * TRUST.get(row.trust, 0.4),
        is_tree=False,
        lengths={length: tau},
        ids=speed.ids,
        is_implied=True,
    )


def _implied_length(speed: SpeedRow, cost: CostPrior) -> float | None:
    """Return speedup × predicted step cost ratio."""
    row = speed.row
    if speed.speedup is None or row.setting is None:
        return None
    setup, plan = setup_of(row), plan_of(row)
    if setup is None or plan is None:
        return None
    length, tree = row.setting
    verified = float(tree[2]) if tree else length + 1.0
    if plan.kind is DraftKind.LOOKUP:
        verified = 1.0 + LOOKUP_COVERAGE * (verified - 1.0)
    try:
        times = learn(cost, setup).step(
            replace(plan, drafter=plan.drafter),
            batch=row.batch or 1.0,
            draft_steps=length,
            verify_tokens=verified,
            context_tokens=row.context_tokens or USUAL_CONTEXT_TOKENS,
        )
    except TunerError:
        return None
    step = times.draft_s + times.verify_s + times.overhead_s
    return speed.speedup * float(step / times.baseline_s)


def chain_length(tree: TreeSetting, length: float) -> float:
    """Return τ of a chain as deep as the tree, at the acceptance that gives the tree's ``length``.

    Acceptance is taken as equal at all depths for this conversion.
    """
    depth = tree.num_steps
    of_tree = _tree_lengths(tree)
    rate = float(np.interp(length, of_tree, _RATES))
    return 1.0 + float((rate ** np.arange(1, depth + 1)).sum())


_TREES: dict[TreeSetting, np.ndarray] = {}


def _tree_lengths(tree: TreeSetting) -> np.ndarray:
    if tree not in _TREES:
        curves = (tree_curves((tree,), np.full(tree.num_steps, rate)) for rate in _RATES)
        _TREES[tree] = np.maximum.accumulate([float(curve[0, -1]) for curve in curves])
    return _TREES[tree]
