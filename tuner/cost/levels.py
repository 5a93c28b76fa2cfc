"""Which levels of the prior speak about a setup and a plan, and the parameters they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.cost.dtypes import weight_format
from tuner.cost.parts import model_parts
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.cost_prior import PARAMETERS, CostPrior
from tuner.records.methods import DraftKind

FloatArray = NDArray[np.float64]

#: level of engines that the product does not configure (research code, MLX …)
OTHER_ENGINE = "other"
#: start of the name of the level of an engine on a kind of device
BOTH = "engine+device:"
#: vendors of GPUs whose kernels and collectives are not CUDA's
OWN_SOFTWARE = frozenset({"amd", "intel"})


def setup_levels(setup: CostSetup) -> tuple[str, ...]:
    """Return the names of the levels of a setup, common to all its plans."""
    parts = model_parts(setup.target)
    engine = setup.engine.value if setup.engine is not None else OTHER_ENGINE
    device = setup.hardware.accelerator.kind.value
    weights = weight_format(setup.dtype).weight_class.value
    names = [f"engine:{engine}", f"device:{device}", f"weights:{weights}"]
    names.append(f"{BOTH}{engine}+{device}")
    vendor = setup.hardware.accelerator.vendor.lower()
    if vendor in OWN_SOFTWARE:
        names.append(f"vendor:{vendor}")
    if parts.is_moe:
        names.append("layers:moe")
    if parts.is_latent:
        names.append("layers:latent")
    if parts.n_linear_layers > 0.0:
        names.append("layers:linear")
    return tuple(names)


def sources_measured(prior: CostPrior, setup: CostSetup) -> int:
    """Return how many sources measured the engine of a setup on its kind of device."""
    name = next(name for name in setup_levels(setup) if name.startswith(BOTH))
    level = prior.levels.get(name)
    return 0 if level is None else level.n_sources


def plan_levels(setup: CostSetup, plan: DraftPlan) -> tuple[str, ...]:
    """Return the names of the levels of a plan; they shift draft parameters only."""
    if plan.kind is DraftKind.NONE:
        return ()
    return (f"kind:{plan.kind.value}", f"method:{plan.method.value}")


def log_parameters(prior: CostPrior, levels: tuple[str, ...]) -> FloatArray:
    """Return the prior mean of the logarithms, shape (N_PARAMETERS,)."""
    total = np.array(prior.mean)
    for name in levels:
        level = prior.levels.get(name)
        if level is not None:
            total += np.array(level.shift)
    return total


def spread(prior: CostPrior) -> FloatArray:
    """Return the standard deviation of each logarithm between setups, shape (N_PARAMETERS,)."""
    if len(prior.spread) != len(PARAMETERS):
        raise ValueError(f"the prior has {len(prior.spread)} spreads, not {len(PARAMETERS)}")
    return np.array(prior.spread)
