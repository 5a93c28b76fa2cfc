"""α and c by hand give the textbook formula's answer and nothing else."""

from __future__ import annotations

import pytest

from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.decision import State
from tuner.speedup import best_num_speculative_tokens, formula_time_per_token

BARE = "overrides: {{acceptance_rate: {rate}, draft_cost_ratio: {cost}}}\n"
KNOWN = "target: meta-llama/Llama-3.3-70B-Instruct\n" + BARE


@pytest.mark.parametrize("text", [BARE, KNOWN], ids=["bare", "known target"])
@pytest.mark.parametrize(
    ("rate", "cost"), [(0.8, 0.05), (0.9, 0.04), (0.6, 0.2), (0.95, 0.01), (0.3, 0.5)]
)
def test_the_formula_decides(text: str, rate: float, cost: float) -> None:
    found = recommend(
        parse_profile(text.format(rate=rate, cost=cost), file="formula.yaml", name="formula")
    )
    drafting = [item for item in found.configs if item.config.num_speculative_tokens]
    by_hand = [item for item in drafting if item.acceptance_source == "override"]
    best = max(by_hand, key=lambda item: item.speedup.mean)
    count = max(int(best_num_speculative_tokens(rate, cost, max_tokens=64)), 1)
    exact = 1.0 / float(formula_time_per_token(rate, cost, count))
    assert best.speedup.mean == pytest.approx(exact, rel=5e-3)
    at = best.config.num_speculative_tokens
    assert best.speedup.mean == pytest.approx(
        1.0 / float(formula_time_per_token(rate, cost, at)), rel=1e-12
    )
    assert best.speedup.p10 == best.speedup.p90 == best.speedup.mean


@pytest.mark.parametrize(
    ("rate", "cost", "count", "speedup"), [(0.8, 0.05, 8, 3.09208), (0.9, 0.04, 15, 5.09186)]
)
def test_known_optimum_is_among_the_answers(
    rate: float, cost: float, count: int, speedup: float
) -> None:
    found = recommend(
        parse_profile(BARE.format(rate=rate, cost=cost), file="formula.yaml", name="formula")
    )
    best = found.configs[0]
    assert best.config.num_speculative_tokens == count
    assert best.speedup.mean == pytest.approx(speedup, abs=1e-5)
    assert found.decision.state is State.ON
    assert found.baseline.tpot_s is None


def test_a_losing_formula_is_off() -> None:
    found = recommend(
        parse_profile(BARE.format(rate=0.2, cost=0.9), file="formula.yaml", name="formula")
    )
    assert found.decision.state is State.OFF
