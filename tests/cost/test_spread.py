"""How sure the prior is, by how much is known of an engine on a kind of device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.cost.setups import LLAMA_8B, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.levels import sources_measured
from tuner.cost.model import learn, missed_of
from tuner.records.cost import CostObservation, CostSetup
from tuner.records.cost_prior import PARAMETERS, CostLevel, CostPrior
from tuner.records.methods import Engine, Method

SETUP = on(LLAMA_8B, "H100-SXM")


def with_sources(count: int) -> CostPrior:
    prior = load_cost_prior()
    name = "engine+device:vllm+datacenter_gpu"
    level = CostLevel(shift=(0.0,) * len(PARAMETERS), n_sources=count)
    return replace(prior, levels=prior.levels | {name: level})


def log_sd(prior: CostPrior, setup: CostSetup) -> float:
    times = learn(prior, setup).step(
        plan(Method.EAGLE3), batch=1.0, draft_steps=3, verify_tokens=4, context_tokens=800.0
    )
    return float(times.ratio_log_sd)


def test_more_sources_are_surer() -> None:
    found = [log_sd(with_sources(count), SETUP) for count in (0, 1, 2, 5, 20)]
    assert np.all(np.diff(found) < 0.0)
    assert missed_of(with_sources(10_000), SETUP).offset == pytest.approx(
        load_cost_prior().method_offset, rel=1e-3
    )


def test_shipped_prior_is_surer_of_vllm_on_servers_than_of_what_nobody_measured() -> None:
    prior = load_cost_prior()
    unknown = on(LLAMA_8B, "RTX-4090", engine=Engine.TRTLLM)
    assert sources_measured(prior, SETUP) > 10
    assert sources_measured(prior, unknown) == 0
    # three published research builds on cards of their own: ln ratio or ln speed 0.6 to 1.2 off
    assert log_sd(prior, unknown) > 0.6 > 2.0 * log_sd(prior, SETUP)


def test_an_observed_run_settles_what_nobody_measured() -> None:
    unknown = on(LLAMA_8B, "RTX-4090", engine=Engine.TRTLLM)
    row = CostObservation(
        method=Method.EAGLE3,
        batch=1.0,
        num_speculative_tokens=3,
        draft_steps=3,
        verify_tokens=4,
        speedup=1.2,
        acceptance_length=2.9,
    )
    times = learn(load_cost_prior(), unknown, [row]).step(
        plan(Method.EAGLE3), batch=1.0, draft_steps=3, verify_tokens=4, context_tokens=800.0
    )
    step = times.draft_s + times.verify_s + times.overhead_s
    assert float(step / times.baseline_s) == pytest.approx(2.9 / 1.2, rel=0.01)
    assert float(times.ratio_log_sd) < 0.05


def test_a_typical_implementation_is_surer_than_one_that_may_be_at_fault() -> None:
    unknown = on(LLAMA_8B, "RTX-4090", engine=Engine.TRTLLM)
    asked = {"batch": 1.0, "draft_steps": 3, "verify_tokens": 4, "context_tokens": 800.0}
    prior = load_cost_prior()
    any_one = learn(prior, unknown).step(plan(Method.EAGLE3), **asked)
    typical = learn(prior, unknown, allows_faults=False).step(plan(Method.EAGLE3), **asked)
    assert float(typical.ratio_log_sd) < 0.5 * float(any_one.ratio_log_sd)
    assert typical.verify_s == any_one.verify_s
