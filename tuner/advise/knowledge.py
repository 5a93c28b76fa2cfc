"""The priors that a recommendation rests on; passed in, so that they can be replaced."""

from __future__ import annotations

from functools import lru_cache

from tuner.frozen import dataclass
from tuner.records.acceptance_prior import AcceptancePrior
from tuner.records.cost_prior import CostPrior
from tuner.records.methods import CostBackend


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Knowledge:
    """What is known before anything was observed."""

    acceptance: AcceptancePrior
    cost: CostPrior
    #: what plain step times rest on besides the prior and the profile's own rows
    backend: CostBackend = CostBackend.BUILTIN


@lru_cache(maxsize=4)
def shipped_knowledge(backend: CostBackend = CostBackend.BUILTIN) -> Knowledge:
    """Return the priors that ship with the program."""
    from tuner.catalog.priors import load_acceptance_prior, load_cost_prior

    return Knowledge(acceptance=load_acceptance_prior(), cost=load_cost_prior(), backend=backend)
