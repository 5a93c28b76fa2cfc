"""Plans that are computed together have the times that each has alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.cost.setups import DEEPSEEK, LLAMA_8B, PLAIN, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.layout import Block, Settings
from tuner.cost.levels import plan_levels
from tuner.cost.model import learn, log_parameters_of_plan
from tuner.cost.roofline import INDEX
from tuner.records.cost import CostObservation, CostSetup, StepTimes
from tuner.records.cost_prior import DRAFT_PARAMETERS
from tuner.records.methods import DRAFT_KIND, Engine, Method

TIMES = (
    "baseline_s",
    "draft_s",
    "verify_s",
    "overhead_s",
    "baseline_log_sd",
    "ratio_log_sd",
    "draft_pass_s",
)
SETUPS = [
    on(LLAMA_8B, "H100-SXM"),
    on(DEEPSEEK, "H200-SXM", count=8, dtype="fp8"),
    on("Qwen/Qwen3.6-27B", "RTX-3090", dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP),
]
METHODS = (Method.EAGLE3, Method.NGRAM, Method.DRAFT_MODEL, Method.MEDUSA, Method.LOOKAHEAD)
#: nothing measured; the plain run; that and one method, whose belief is then its own
OBSERVED: list[tuple[CostObservation, ...]] = [
    (),
    (CostObservation(method=Method.NONE, batch=4.0, step_s=0.02),),
    (
        CostObservation(method=Method.NONE, batch=4.0, step_s=0.02),
        CostObservation(
            method=Method.EAGLE3, batch=4.0, draft_steps=3, verify_tokens=4, step_s=0.03
        ),
    ),
]
LENGTHS = np.array([1.0, 3.0, 7.0])


def settings() -> list[Settings]:
    found = [Settings(plan(method), LENGTHS, LENGTHS + 1.0) for method in METHODS]
    return [Settings(PLAIN, np.zeros(1), np.ones(1)), *found]


def same(together: StepTimes, alone: StepTimes) -> None:
    for name in TIMES:
        assert getattr(together, name) == pytest.approx(getattr(alone, name), rel=1e-12), name


@pytest.mark.parametrize("observed", OBSERVED)
@pytest.mark.parametrize("setup", SETUPS)
def test_company_changes_no_time(setup: CostSetup, observed: Sequence[CostObservation]) -> None:
    batch, context = np.array([1.0, 6.0, 40.0]), np.array([200.0, 5000.0, 900.0])
    model = learn(load_cost_prior(), setup, observed)
    every = settings()
    owners = np.repeat(np.arange(len(every)), [len(one.tokens) for one in every])
    paired_batch = 1.0 + 3.0 * np.arange(len(owners))
    grid, paired = model.steps(
        [
            Block(every, batch, context),
            Block(every, paired_batch, 100.0 * paired_batch, is_paired=True),
        ]
    )
    for place, one in enumerate(every):
        load = {"batch": batch[:, None], "context_tokens": context[:, None]}
        asked = {"draft_steps": one.draft_steps, "verify_tokens": one.tokens}
        same(grid[place], model.step(one.plan, **load, **asked))
        own = paired_batch[owners == place]
        load = {"batch": own, "context_tokens": 100.0 * own}
        same(paired[place], model.step(one.plan, **load, **asked))


def test_plans_shift_parameters_of_drafting_only() -> None:
    """The passes of all plans are timed with the parameters of the setup."""
    prior, setup = load_cost_prior(), on(LLAMA_8B, "H100-SXM")
    others = [place for name, place in INDEX.items() if name not in DRAFT_PARAMETERS]
    for method in DRAFT_KIND:
        if method is not Method.NONE:
            assert plan_levels(setup, plan(method))
            assert not log_parameters_of_plan(prior, setup, plan(method))[others].any()
