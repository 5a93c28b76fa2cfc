"""The equations: derivatives, the soft maximum, and how many experts a pass touches."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cost.setups import DEEPSEEK, LLAMA_8B, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.layout import Block, Settings, step_layout, terms_of
from tuner.cost.levels import log_parameters, setup_levels
from tuner.cost.roofline import N_PARAMETERS, _soft_maximum
from tuner.cost.steps import step_parts
from tuner.cost.terms import effective_tokens, expert_coverage, expert_coverage_limit
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import Engine, Method

COMMON = settings(deadline=None, derandomize=True, max_examples=40)
SETUPS = [
    (on(LLAMA_8B, "H100-SXM"), plan(Method.EAGLE3)),
    (on(DEEPSEEK, "H200-SXM", count=8, dtype="fp8"), plan(Method.MTP)),
    (
        on("Qwen/Qwen3.6-27B", "RTX-3090", dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP),
        plan(Method.DRAFT_MODEL),
    ),
    (on(LLAMA_8B, "H100-SXM"), plan(Method.MEDUSA)),
    (on(LLAMA_8B, "H100-SXM"), plan(Method.DFLASH)),
    (on(LLAMA_8B, "H100-SXM"), plan(Method.LOOKAHEAD)),
    (on(LLAMA_8B, "H100-SXM"), plan(Method.NGRAM)),
]


@pytest.mark.parametrize(("setup", "draft"), SETUPS)
def test_gradient_is_the_derivative(setup: CostSetup, draft: DraftPlan) -> None:
    arrays = np.array(list(product((1.0, 40.0), (2.0, 7.0), (0.0, 3000.0)))).T
    batch, steps, context = arrays
    block = Block((Settings(draft, steps, steps + 1.0),), batch, context, is_paired=True)
    terms = terms_of([step_layout(setup, block)])
    centre = log_parameters(load_cost_prior(), setup_levels(setup))
    parts = step_parts(terms, centre)
    width = 1e-5
    for place in range(N_PARAMETERS):
        move = np.eye(N_PARAMETERS)[place] * width
        above, below = step_parts(terms, centre + move), step_parts(terms, centre - move)
        for name in ("step", "baseline", "draft"):
            slope = getattr(above, name).seconds - getattr(below, name).seconds
            expected = slope / (2.0 * width)
            assert getattr(parts, name).gradient[place] == pytest.approx(
                expected, rel=1e-4, abs=1e-9
            )


@COMMON
@given(
    first=st.floats(1e-6, 1.0),
    second=st.floats(1e-6, 1.0),
    sharpness=st.floats(1.0, 30.0),
)
def test_soft_maximum_lies_between_maximum_and_sum(
    first: float, second: float, sharpness: float
) -> None:
    value = float(_soft_maximum(np.array(first), np.array(second), np.array(sharpness))[0])
    assert max(first, second) * (1 - 1e-12) <= value <= (first + second) * (1 + 1e-12)
    swapped = float(_soft_maximum(np.array(second), np.array(first), np.array(sharpness))[0])
    assert value == pytest.approx(swapped, rel=1e-12)


def test_soft_maximum_is_the_sum_at_one_and_the_roofline_far_up() -> None:
    assert _soft_maximum(np.array(3.0), np.array(4.0), np.array(1.0))[0] == pytest.approx(7.0)
    assert _soft_maximum(np.array(3.0), np.array(4.0), np.array(2.0))[0] == pytest.approx(5.0)
    assert _soft_maximum(np.array(3.0), np.array(4.0), np.array(200.0))[0] == pytest.approx(4.0)


@pytest.mark.parametrize(("experts", "used", "tokens"), [(8, 2, 3), (6, 1, 4), (5, 3, 2)])
def test_coverage_of_independent_tokens_by_enumeration(
    experts: int, used: int, tokens: int
) -> None:
    """Every way in which the tokens can choose their experts, all equally likely."""
    from itertools import combinations

    choices = list(combinations(range(experts), used))
    assert len(choices) == comb(experts, used)
    touched = [len(set().union(*chosen)) for chosen in product(choices, repeat=tokens)]
    one = np.ones(1)
    routed = effective_tokens(one, tokens * one, one, one)
    found = expert_coverage(np.log1p(-used / experts) * one, routed)
    assert found[0] == pytest.approx(np.mean(touched) / experts, rel=1e-12)


@COMMON
@given(
    batch=st.integers(1, 512),
    tokens=st.integers(1, 16),
    spread=st.floats(0.0, 1.0),
    evenness=st.floats(0.3, 1.0),
)
def test_coverage_stays_within_its_limits(
    batch: int, tokens: int, spread: float, evenness: float
) -> None:
    experts, used = 256, 8
    routed = effective_tokens(
        np.array([float(batch)]), np.array([float(tokens)]), np.array(spread), np.array(evenness)
    )
    found = float(expert_coverage(np.array([np.log1p(-used / experts)]), routed)[0])
    assert used / experts * (1 - 1e-9) <= found
    assert found <= expert_coverage_limit(experts, used, batch * tokens) * (1 + 1e-9)


def test_drafts_of_one_sequence_share_experts() -> None:
    one = np.ones(1)
    apart = effective_tokens(one, 8.0 * one, one, one)
    alike = effective_tokens(one, 8.0 * one, 0.0 * one, one)
    assert apart[0] == 8.0
    assert alike[0] == 1.0
