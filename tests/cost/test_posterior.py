"""A few measured steps must suffice: what comes back, what carries over, what does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cost.setups import LLAMA_8B, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.model import CostModel, learn
from tuner.records.cost import CostObservation
from tuner.records.methods import Method

FORWARD = Path(__file__).parents[2] / "data" / "real_engine" / "forward_ms.csv"
#: MLX, MTP (ml-explore/mlx-lm pull request 990): plain step and steps at K = 1, 2, 3, 5, seconds
CONVEX_PLAIN = 41.3e-3
CONVEX = {1: 50.6e-3, 2: 75.9e-3, 3: 108.5e-3, 5: 181.9e-3}


def spec(method: Method, k: int, **timing: float) -> CostObservation:
    return CostObservation(
        method=method,
        batch=timing.pop("batch", 1.0),
        num_speculative_tokens=k,
        draft_steps=k,
        verify_tokens=k + 1,
        **timing,
    )


def steps(model: CostModel, method: Method, lengths: np.ndarray, batch: float = 1.0) -> np.ndarray:
    times = model.step(
        plan(method),
        batch=batch,
        draft_steps=lengths,
        verify_tokens=lengths + 1,
        context_tokens=1024.0,
    )
    return times.draft_s + times.verify_s + times.overhead_s


def test_convex_steps_on_no_single_line_come_back() -> None:
    setup = on("Qwen/Qwen3.6-27B", "M4-Max-40c", dtype="awq", engine=None)
    rows = [CostObservation(method=Method.NONE, batch=1.0, step_s=CONVEX_PLAIN)]
    rows += [spec(Method.MTP, k, step_s=value) for k, value in CONVEX.items()]
    model = learn(load_cost_prior(), setup, rows)
    found = steps(model, Method.MTP, np.array([0, *CONVEX]))
    assert found[0] == pytest.approx(CONVEX_PLAIN, rel=0.02)
    assert found[1:] == pytest.approx(np.array(list(CONVEX.values())), rel=0.04)
    between = steps(model, Method.MTP, np.array([3, 4, 5]))
    assert between[0] < between[1] < between[2]


@pytest.mark.parametrize("factor", [0.4, 1.0, 2.5])
def test_an_observed_row_comes_back_even_when_it_is_a_fault(factor: float) -> None:
    """An implementation that is 2.5 times slower than expected is believed."""
    setup = on(LLAMA_8B, "H100-SXM")
    expected = steps(learn(load_cost_prior(), setup), Method.EAGLE3, np.array([0, 3]), 8.0)
    rows = [
        CostObservation(method=Method.NONE, batch=8.0, step_s=float(expected[0])),
        spec(Method.EAGLE3, 3, batch=8.0, step_s=float(expected[1]) * factor),
    ]
    found = steps(learn(load_cost_prior(), setup, rows), Method.EAGLE3, np.array([0, 3]), 8.0)
    assert found == pytest.approx(expected * np.array([1.0, factor]), rel=0.04)


def test_time_a_token_times_length_is_a_step() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    by_step = [spec(Method.EAGLE3, 3, step_s=12e-3)]
    by_token = [spec(Method.EAGLE3, 3, tpot_s=5e-3, acceptance_length=2.4)]
    lengths = np.arange(6)
    first = steps(learn(load_cost_prior(), setup, by_step), Method.EAGLE3, lengths)
    second = steps(learn(load_cost_prior(), setup, by_token), Method.EAGLE3, lengths)
    assert first == pytest.approx(second, rel=1e-9)


def test_speedup_fixes_the_ratio_and_not_the_scale() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    plain = learn(load_cost_prior(), setup)
    rows = [spec(Method.EAGLE3, 3, speedup=1.5, acceptance_length=2.4)]
    model = learn(load_cost_prior(), setup, rows)
    found = steps(model, Method.EAGLE3, np.array([0, 3]))
    assert found[1] / found[0] == pytest.approx(2.4 / 1.5, rel=0.03)
    assert found[0] == pytest.approx(steps(plain, Method.EAGLE3, np.array([0]))[0], rel=0.15)


def test_rows_that_fix_no_step_change_nothing() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    rows = [
        spec(Method.EAGLE3, 3, tpot_s=5e-3),
        spec(Method.EAGLE3, 3, speedup=1.5),
        CostObservation(method=Method.NONE, batch=1.0),
    ]
    lengths = np.arange(6)
    assert steps(learn(load_cost_prior(), setup, rows), Method.EAGLE3, lengths) == pytest.approx(
        steps(learn(load_cost_prior(), setup), Method.EAGLE3, lengths)
    )


def test_a_plain_run_fixes_the_scale_of_everything() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    before = steps(learn(load_cost_prior(), setup), Method.EAGLE3, np.array([0, 3]))
    slow = CostObservation(method=Method.NONE, batch=1.0, step_s=float(before[0]) * 1.4)
    after = steps(learn(load_cost_prior(), setup, [slow]), Method.EAGLE3, np.array([0, 3]))
    assert after[0] == pytest.approx(1.4 * before[0], rel=0.02)
    assert 1.1 < after[1] / before[1] < 1.5


def test_another_method_keeps_its_own_draft_cost() -> None:
    """A slow EAGLE-3 run says little about n-gram lookup."""
    setup = on(LLAMA_8B, "H100-SXM")
    base = steps(learn(load_cost_prior(), setup), Method.NGRAM, np.array([0, 4]))
    rows = [
        CostObservation(method=Method.NONE, batch=1.0, step_s=float(base[0])),
        spec(Method.EAGLE3, 4, step_s=float(base[0]) * 3.0),
    ]
    after = steps(learn(load_cost_prior(), setup, rows), Method.NGRAM, np.array([0, 4]))
    assert after[1] / after[0] < 1.5 * base[1] / base[0]


def test_uncertainty_shrinks_where_it_was_measured() -> None:
    setup = on(LLAMA_8B, "H100-SXM")
    rows = [
        CostObservation(method=Method.NONE, batch=8.0, step_s=8e-3),
        spec(Method.EAGLE3, 3, batch=8.0, step_s=11e-3),
    ]
    asked = {"batch": np.array([8.0, 200.0]), "context_tokens": 1024.0}
    wide = learn(load_cost_prior(), setup).step(
        plan(Method.EAGLE3), draft_steps=3, verify_tokens=4, **asked
    )
    narrow = learn(load_cost_prior(), setup, rows).step(
        plan(Method.EAGLE3), draft_steps=3, verify_tokens=4, **asked
    )
    assert np.all(narrow.ratio_log_sd <= wide.ratio_log_sd)
    assert narrow.ratio_log_sd[0] < 0.25 * wide.ratio_log_sd[0]
    assert narrow.baseline_log_sd[0] < 0.25 * wide.baseline_log_sd[0]
    assert narrow.ratio_log_sd[1] > narrow.ratio_log_sd[0]
