"""What could be run: methods with their drafters and draft lengths, as the engine serves them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.advise.situation import Situation
from tuner.advise.trees import MOST_BATCH, SETTINGS
from tuner.engines import serves, serves_trees
from tuner.frozen import dataclass
from tuner.records.config import TreeSetting
from tuner.records.cost import DraftPlan
from tuner.records.methods import DRAFT_KIND, DraftKind, Method
from tuner.records.model import Drafter
from tuner.records.sources import Warning_

#: Draft lengths looked at, by the shape of the draft's cost. Serial heads: engines and authors use
#: 1–8 (the drafters table's own settings end at 8). Draft models and lookups repay longer drafts
#: on text that copies. Parallel blocks: up to the trained block.
LENGTHS: dict[DraftKind, tuple[int, ...]] = {
    DraftKind.SERIAL: tuple(range(1, 9)),
    DraftKind.PARALLEL: tuple(range(1, 16)),
    DraftKind.HEADS: tuple(range(1, 6)),
    DraftKind.LOOKUP: (1, 2, 3, 4, 5, 6, 8, 10, 12, 16),
    DraftKind.WINDOW: tuple(range(1, 8)),
}
DRAFT_MODEL_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
#: Draft lengths of the textbook formula, where α and c are given by hand.
FORMULA_LENGTHS = tuple(range(1, 65))

#: Methods that need no drafter of their own.
LOOKUPS = (Method.NGRAM, Method.SUFFIX)


@lru_cache(maxsize=256)
def _array(lengths: tuple[int, ...]) -> NDArray[np.int64]:
    found = np.array(lengths)
    found.setflags(write=False)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One method with one drafter, and the settings that make sense for it, smallest first."""

    plan: DraftPlan
    #: draft tokens a sequence and step of each setting
    lengths: tuple[int, ...]
    #: the tree of each setting; empty = chains
    trees: tuple[TreeSetting, ...] = ()

    @property
    def draft_steps(self) -> NDArray[np.int64]:
        """Serial draft passes of each setting."""
        return _array(tuple(tree.num_steps for tree in self.trees) or self.lengths)

    @property
    def verify_tokens(self) -> NDArray[np.int64]:
        """Verified positions a sequence of each setting, root included."""
        return _array(tuple(tree.draft_tokens - 1 for tree in self.trees) or self.lengths) + 1

    def index_of(self, num_speculative_tokens: int) -> int | None:
        """Return the place of a chain's draft length; None = not among the settings."""
        found = num_speculative_tokens in self.lengths and not self.trees
        return self.lengths.index(num_speculative_tokens) if found else None

    @property
    def method(self) -> Method:
        return self.plan.method

    @property
    def drafter_name(self) -> str | None:
        drafter = self.plan.drafter
        return drafter.path_or_id if drafter else None


#: Plain decoding: one setting, nothing drafted.
PLAIN_PLAN = DraftPlan(method=Method.NONE, kind=DraftKind.NONE)
PLAIN_ARM = Arm(plan=PLAIN_PLAN, lengths=(0,))


def build_arms(situation: Situation) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Return the arms that this engine serves, and a word about each family that is left out."""
    limits = situation.profile.candidates
    arms: list[Arm] = []
    warnings: list[Warning_] = []
    refused: set[Method] = set()
    for method, drafter in _proposals(situation):
        if limits.methods is not None and method not in limits.methods:
            continue
        support = serves(
            situation.engine, situation.engine_version, method, parallel=situation.parallel
        )
        if not support.ok:
            if method not in refused:
                refused.add(method)
                warnings.append(Warning_(code="method-not-served", message=support.reason))
            continue
        plan = DraftPlan(method=method, kind=DRAFT_KIND[method], drafter=drafter)
        lengths = _lengths(situation, method, drafter)
        if lengths and method is not Method.EAGLE2:
            arms.append(Arm(plan=plan, lengths=lengths))
        if _wants_trees(situation, method):
            sizes = tuple(tree.draft_tokens - 1 for tree in SETTINGS)
            arms.append(Arm(plan=plan, lengths=sizes, trees=SETTINGS))
    return tuple(arms), tuple(warnings)


def _wants_trees(situation: Situation, method: Method) -> bool:
    """Whether the engine verifies trees for the method, at a load where width can pay."""
    batches = situation.profile.workload.batch
    small = batches is not None and max(value for value, _share in batches) <= MOST_BATCH
    chains_only = situation.profile.candidates.num_speculative_tokens is not None
    return small and not chains_only and serves_trees(situation.engine, method)


def _proposals(situation: Situation) -> list[tuple[Method, Drafter | None]]:
    if situation.setup is None:
        return [(method, None) for method in _formula_methods(situation)]
    found: list[tuple[Method, Drafter | None]] = [(d.method, d) for d in situation.drafters]
    found += [(method, None) for method in LOOKUPS]
    return found


def _formula_methods(situation: Situation) -> list[Method]:
    named = [method for method, _ in situation.profile.overrides.acceptance_rate if method]
    return named or [Method.DRAFT_MODEL]


def _lengths(situation: Situation, method: Method, drafter: Drafter | None) -> tuple[int, ...]:
    allowed = situation.profile.candidates.num_speculative_tokens
    if allowed is not None:
        lengths = tuple(sorted(set(allowed) - {0}))
    elif is_formula(situation, method):
        lengths = FORMULA_LENGTHS
    elif method is Method.DRAFT_MODEL:
        lengths = DRAFT_MODEL_LENGTHS
    else:
        lengths = LENGTHS[DRAFT_KIND[method]]
    depth = drafter.trained_depth if drafter else None
    if depth is None:
        return lengths
    if DRAFT_KIND[method] in (DraftKind.PARALLEL, DraftKind.HEADS):
        return tuple(k for k in lengths if k <= depth)
    if method is Method.MTP and depth > 1:
        # Guard: vLLM refuses a K above the trained depth that is not a multiple of it
        # (config/speculative.py, 0.33.0).
        return tuple(k for k in lengths if k <= depth or k % depth == 0)
    return lengths


def override_for(table: tuple[tuple[Method | None, float], ...], method: Method) -> float | None:
    """Return the value given by hand for a method: its own, else the one for all."""
    values = dict(table)
    return values.get(method, values.get(None))


def is_formula(situation: Situation, method: Method) -> bool:
    """Whether α and c are both given by hand, so that the textbook formula is the answer."""
    overrides = situation.profile.overrides
    return (
        override_for(overrides.acceptance_rate, method) is not None
        and override_for(overrides.draft_cost_ratio, method) is not None
    )
