"""How many users fit a limit, and where speculation stops paying, against drawn errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tuner.advise.capacity import _NORMAL_SHARES, TpotCurve, latency_check
from tuner.advise.points import LOAD_GRID
from tuner.advise.recommend import recommend
from tuner.advise.schedule import break_even
from tuner.optimize.choice import ROW_TOLERANCE
from tuner.profile import parse_profile

FloatArray = NDArray[np.float64]
#: a plain step that grows with the batch, and a speedup that falls with it
PLAIN_S = 0.012 + 0.0002 * LOAD_GRID
SPEEDUP = 2.2 / (1.0 + LOAD_GRID / 220.0)
PLAIN_SD, SPEEDUP_SD = 0.15, 0.12


def curve(tpot_s: FloatArray, speedup_sd: float, max_batch: int | None = None) -> TpotCurve:
    return TpotCurve(
        tpot_s=tpot_s,
        plain_log_sd=np.full(len(LOAD_GRID), PLAIN_SD),
        speedup_log_sd=np.full(len(LOAD_GRID), speedup_sd),
        max_batch=max_batch,
    )


def scanned(tpot_s: FloatArray, limit_s: float) -> int:
    """Try every batch in turn, as somebody would who raises the load until it is too slow."""
    batches = np.arange(1, 513)
    slow = np.flatnonzero(np.interp(batches, LOAD_GRID, tpot_s) > limit_s)
    return 512 if slow.size == 0 else int(batches[slow[0]]) - 1


def drawn(limit_s: float, count: int = 4000) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(5)
    plain = np.exp(PLAIN_SD * rng.standard_normal(count))
    speed = np.exp(SPEEDUP_SD * rng.standard_normal(count))
    before = [scanned(PLAIN_S * factor, limit_s) for factor in plain]
    after = [
        scanned(PLAIN_S / SPEEDUP * factor * other, limit_s)
        for factor, other in zip(plain, speed, strict=True)
    ]
    return np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)


@pytest.mark.parametrize("limit_ms", [18.1, 26.1])
def test_users_at_a_limit_are_those_of_drawn_servers(limit_ms: float) -> None:
    found = latency_check(limit_ms, curve(PLAIN_S, 0.0), curve(PLAIN_S / SPEEDUP, SPEEDUP_SD))
    assert found is not None
    assert found.plain_batch == scanned(PLAIN_S, limit_ms / 1e3)
    assert found.best_batch == scanned(PLAIN_S / SPEEDUP, limit_ms / 1e3)
    before, after = drawn(limit_ms / 1e3)
    assert found.plain_span == pytest.approx(np.quantile(before, (0.1, 0.9)), rel=0.06, abs=1.0)
    assert found.best_span == pytest.approx(np.quantile(after, (0.1, 0.9)), rel=0.06, abs=1.0)
    assert found.gain is not None
    with np.errstate(divide="ignore"):
        low, high = np.quantile(after / before, (0.1, 0.9), method="lower")
    assert found.gain.p10 == pytest.approx(low, rel=0.08)
    assert found.gain.p90 == pytest.approx(high, rel=0.08)


def test_the_ratio_is_surer_than_batches_that_err_on_their_own() -> None:
    found = latency_check(26.0, curve(PLAIN_S, 0.0), curve(PLAIN_S / SPEEDUP, 0.0))
    assert found is not None
    assert found.gain is not None
    assert found.plain_span is not None
    assert found.best_span is not None
    apart = (found.best_span[1] / found.plain_span[0]) / (found.best_span[0] / found.plain_span[1])
    assert found.gain.p90 / found.gain.p10 < 0.7 * apart


def test_memory_bounds_the_batch_and_its_belief() -> None:
    found = latency_check(60.0, curve(PLAIN_S, 0.0, 90), curve(PLAIN_S / SPEEDUP, SPEEDUP_SD, 80))
    assert found is not None
    assert (found.plain_batch, found.best_batch) == (90, 80)
    assert found.best_span == (80, 80)


def test_a_limit_that_plain_decoding_misses_has_no_ratio() -> None:
    found = latency_check(9.0, curve(PLAIN_S, 0.0), curve(PLAIN_S / SPEEDUP, SPEEDUP_SD))
    assert found is not None
    assert found.plain_batch == 0
    assert found.best_batch > 0
    assert found.gain is None
    assert latency_check(None, curve(PLAIN_S, 0.0), curve(PLAIN_S, 0.0)) is None


def test_nine_shares_of_the_normal_distribution() -> None:
    from scipy.special import ndtri

    assert pytest.approx(ndtri((np.arange(9) + 0.5) / 9), abs=1e-4) == _NORMAL_SHARES


@given(
    st.floats(0.8, 3.0),
    st.floats(0.05, 2.5),
    st.floats(0.02, 0.4),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_heat_ends_it_where_drawn_curves_say(start: float, fall: float, log_sd: float) -> None:
    heats = np.array([0.0, 0.3, 0.6, 0.9, 1.2])
    speed = start * np.exp(-fall * heats)
    found = break_even(speed, np.full(5, log_sd), heats)
    assert found is not None
    rng = np.random.default_rng(1)
    errors = np.exp(log_sd * rng.standard_normal(4000))
    losing = speed * errors[:, None] < 1.0 - ROW_TOLERANCE
    # the first heat that loses; beyond the last where none does
    ends = np.where(losing.any(axis=1), np.append(heats, 9.0)[losing.argmax(axis=1)], 9.0)
    for value, share in ((found.p10, 0.1), (found.p90, 0.9)):
        near = np.quantile(ends, (share - 0.02, share + 0.02), method="nearest")
        assert near[0] <= (9.0 if value is None else value) <= near[1]
    assert found.looked_up_to == 1.2


def test_a_curve_that_dips_and_recovers_has_no_single_end() -> None:
    speed = np.array([1.3, 0.9, 1.2, 1.1])
    assert break_even(speed, np.zeros(4), np.arange(1.0, 5.0)) is None
    assert break_even(speed[1:], np.zeros(3), np.arange(1.0, 4.0)) is None


CASE = """
target: meta-llama/Llama-3.1-8B-Instruct
hardware: {gpu: A100-80GB-SXM, count: 1}
workload: {task: chat, temperature: 0, batch: 8, prompt_tokens: 300, output_tokens: 300}
candidates: {methods: [eagle3]}
latency_target: {tpot_ms: 20}
"""


def test_the_end_agrees_with_the_rows() -> None:
    found = recommend(parse_profile(CASE, file="case.yaml", name="case"))
    rows, end = found.schedule.by_batch, found.schedule.pays_to_batch
    assert end is not None
    off = [row for row in rows if not row.num_speculative_tokens]
    if off:
        assert end.mean == off[0].start - 1
    else:
        assert end.mean is None
    assert end.p10 is not None
    assert end.mean is None or end.p10 <= end.mean


def test_users_of_a_real_profile_bracket_the_central_answer() -> None:
    found = recommend(parse_profile(CASE, file="case.yaml", name="case")).latency_check
    assert found is not None
    for count, span in ((found.plain_batch, found.plain_span), (found.best_batch, found.best_span)):
        assert span is not None
        assert span[0] <= count <= span[1]
    assert found.best_batch > found.plain_batch


def test_methods_that_nothing_tells_apart_are_said_to_be_alike() -> None:
    text = CASE.replace("methods: [eagle3]", "methods: [eagle3, dflash]").replace(
        "temperature: 0", "temperature: 0.7"
    )
    alike = recommend(parse_profile(text, file="case.yaml", name="case")).schedule
    methods = {row.method for row in alike.by_temperature}
    assert alike.methods_within_belief == (len(methods) > 1)
    sure = text.replace(
        "latency_target",
        "overrides: {acceptance_rate: {eagle3: 0.9, dflash: 0.2}, draft_cost_ratio: 0.02}\n"
        "latency_target",
    )
    found = recommend(parse_profile(sure, file="case.yaml", name="case")).schedule
    assert not found.methods_within_belief
