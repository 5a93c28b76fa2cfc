"""Rows that contradict each other, and rows at another temperature."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.acceptance.belief import CONTRADICTION, believe
from tuner.acceptance.disagreement import widen_disagreeing
from tuner.acceptance.evidence import Measured
from tuner.catalog.priors import load_acceptance_prior
from tuner.records.acceptance import (
    AcceptanceBelief,
    AcceptanceObservation,
    AcceptanceQuery,
    TargetClass,
)
from tuner.records.methods import Engine, Method, Task, VerifyRule


def asked(temperature: float = 0.0, rule: VerifyRule = VerifyRule.RATIO) -> AcceptanceQuery:
    target = TargetClass(target_id=None, total_params=70e9, active_params=70e9)
    return AcceptanceQuery(
        method=Method.EAGLE3,
        target=target,
        task=Task.CHAT,
        temperature=temperature,
        rule=rule,
        engine=Engine.VLLM,
    )


def seen(length: float, temperature: float | None = None) -> AcceptanceObservation:
    return AcceptanceObservation(
        method=Method.EAGLE3,
        num_speculative_tokens=3,
        acceptance_length=length,
        temperature=temperature,
    )


def after(query: AcceptanceQuery, *rows: AcceptanceObservation) -> AcceptanceBelief:
    return believe(load_acceptance_prior(), query, rows, max_k=3)


def test_two_rows_get_the_moment_estimate() -> None:
    # two values of equal variance v, d apart: Q = d²/2v, between = d²/2 − v
    measured = Measured(lengths=[(3, 1.0, 0.01, 0.0), (3, 2.0, 0.01, 0.0)])
    assert widen_disagreeing(measured) == (True, ((3, 1.0), (3, 2.0)))
    assert [row[2] for row in measured.lengths] == pytest.approx([0.5, 0.5])


def test_rows_that_agree_or_speak_of_different_things_are_left() -> None:
    rows = [(3, 1.0, 0.01, 0.0), (3, 1.05, 0.01, 0.0), (4, 2.0, 0.01, 0.0), (3, 3.0, 0.01, 0.5)]
    measured = Measured(lengths=list(rows))
    assert widen_disagreeing(measured) == (False, ())
    assert measured.lengths == rows


def test_contradicting_rows_are_covered_and_named() -> None:
    belief = after(asked(), seen(1.5), seen(3.5))
    reach = np.exp(1.2816 * belief.length_log_sd[3])
    assert belief.length[3] / reach <= 1.5 * (1.0 + 1e-9)
    assert belief.length[3] * reach >= 3.5 * (1.0 - 1e-9)
    assert CONTRADICTION in belief.notes
    assert CONTRADICTION not in after(asked(), seen(2.5), seen(2.53)).notes


@pytest.mark.parametrize("measured_at", [0.0, 1.0])
def test_a_row_carries_over_to_other_temperatures_without_a_jump(measured_at: float) -> None:
    heats = np.linspace(0.0, 1.0, 21)
    beliefs = [after(asked(heat), seen(2.2, measured_at)) for heat in heats]
    lengths = np.array([belief.length[3] for belief in beliefs])
    assert np.abs(np.diff(np.log(lengths))).max() < 0.03
    here = int(np.abs(heats - measured_at).argmin())
    assert lengths[here] == pytest.approx(2.2, rel=0.01)
    # the further from what was measured, the wider
    assert beliefs[here].length_log_sd[3] == min(belief.length_log_sd[3] for belief in beliefs)
