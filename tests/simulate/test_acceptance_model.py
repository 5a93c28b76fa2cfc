"""The acceptance model's analytic rules against drafts that are really made and judged.

The model describes text by a family: the target's first choice has log-odds m against each of
``RIVALS`` equal rivals, m is exponential over positions, and the drafter names the same first
choice with a chance that grows with m. Here such positions are drawn, drafted and verified.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tuner.acceptance.rules import (
    AGREEMENT_SLOPE,
    MARGIN_GROWTH,
    MEAN_MARGIN,
    RIVALS,
    Sampling,
    acceptance_under,
)
from tuner.records.methods import VerifyRule
from tuner.simulate.batched import draw
from tuner.simulate.chain_rules import CHAIN_RULES
from tuner.simulate.sampling import SamplingSetting, one_hot, reshape_rows

POSITIONS = 60_000
#: the model integrates over 96 margins and interpolates between 60 levels
TOLERANCE = 0.012


def simulated(rule: str, greedy_rate: float, setting: SamplingSetting) -> float:
    rng = np.random.default_rng(12)
    mean = MEAN_MARGIN * math.exp(MARGIN_GROWTH * math.log(greedy_rate / (1.0 - greedy_rate)))
    margin = rng.exponential(mean, size=POSITIONS)
    low, high = -400.0, 12.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        agree = 1.0 / (1.0 + np.exp(-(middle + AGREEMENT_SLOPE * margin)))
        low, high = (middle, high) if agree.mean() < greedy_rate else (low, middle)
    logits = np.zeros((POSITIONS, RIVALS + 1))
    logits[:, 0] = margin
    weights = np.exp(logits - margin[:, None])
    target = reshape_rows(weights / weights.sum(axis=1, keepdims=True), setting)
    draft = np.where(rng.random(POSITIONS) < agree, 0, 1)  # rivals are alike: name the first
    decision = CHAIN_RULES[rule].decide(
        np.stack([target, target], axis=1), one_hot(draft, RIVALS + 1)[:, None], draft[:, None]
    )
    accepted = draw(decision.accept_law, rng.random(POSITIONS))
    return float(accepted.mean())


@pytest.mark.parametrize("greedy_rate", [0.5, 0.7, 0.85])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("rule", ["exact_match", "one_hot"])
def test_greedy_drafts_fade_as_the_model_says(
    rule: str, temperature: float, greedy_rate: float
) -> None:
    wanted = acceptance_under(VerifyRule(rule), greedy_rate, Sampling(temperature=temperature))
    found = simulated(rule, greedy_rate, SamplingSetting(temperature=temperature))
    assert found == pytest.approx(wanted, abs=TOLERANCE)


@pytest.mark.parametrize("greedy_rate", [0.5, 0.8])
def test_typical_acceptance_at_temperature_one(greedy_rate: float) -> None:
    wanted = acceptance_under(VerifyRule.TYPICAL, greedy_rate, Sampling(temperature=1.0))
    found = simulated("typical", greedy_rate, SamplingSetting())
    assert found == pytest.approx(wanted, abs=TOLERANCE)


def test_at_temperature_zero_every_lossless_rule_is_the_greedy_one() -> None:
    for rule in ("exact_match", "one_hot", "ratio", "block"):
        found = simulated(rule, 0.7, SamplingSetting(temperature=0.0))
        assert found == pytest.approx(0.7, abs=TOLERANCE)
        assert acceptance_under(VerifyRule(rule), 0.7, Sampling()) == pytest.approx(0.7, abs=1e-9)
