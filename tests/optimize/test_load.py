"""Requests in flight and arrivals against an event simulation and Little's law."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.optimize.load import batch_for_concurrency, batch_for_rate

GRID = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256], dtype=float)


def tpot(batch: np.ndarray | float) -> np.ndarray:
    """A step that costs 10 ms and 0.1 ms a sequence."""
    return np.asarray(0.010 + 0.0001 * np.asarray(batch))


def simulated_batch(concurrency: int, output_tokens: int, prefill_s: float) -> float:
    """Closed loop in small steps: every request prefills, then decodes at its batch's speed."""
    step, until = 0.002, 60.0
    left = np.linspace(1, output_tokens, concurrency)
    waiting: list[float] = []
    held, samples, now = 0.0, 0, 0.0
    while now < until:
        decoding = len(left)
        if decoding:
            left = left - step / float(tpot(decoding))
            done = int((left <= 0.0).sum())
            left = left[left > 0.0]
            for _ in range(done):
                heapq.heappush(waiting, now + prefill_s)
        while waiting and waiting[0] <= now:
            heapq.heappop(waiting)
            left = np.append(left, float(output_tokens))
        if now > until / 4:
            held, samples = held + len(left), samples + 1
        now += step
    return held / samples


@pytest.mark.parametrize(("concurrency", "prefill_s"), [(8, 0.5), (64, 0.25), (32, 2.0)])
def test_concurrency_agrees_with_a_simulation(concurrency: int, prefill_s: float) -> None:
    found = batch_for_concurrency(
        concurrency, GRID, tpot(GRID)[:, None], output_tokens=100, prefill_s=prefill_s
    )
    assert float(found[0]) == pytest.approx(simulated_batch(concurrency, 100, prefill_s), rel=0.05)


@given(st.floats(0.1, 20.0))
@settings(deadline=None, derandomize=True)
def test_rate_solves_littles_law(rate: float) -> None:
    found = float(batch_for_rate(rate, GRID, tpot(GRID)[:, None], output_tokens=100)[0])
    # batch = 100 rate (0.010 + 0.0001 batch) in closed form
    exact = rate / (1.0 - 0.01 * rate)
    assert found == pytest.approx(max(exact, 1.0), rel=1e-6)


def test_rate_beyond_capacity_is_said() -> None:
    found = batch_for_rate(500.0, GRID, tpot(GRID)[:, None], output_tokens=100)
    assert np.isnan(found).all()


@given(st.floats(1.0, 200.0), st.floats(1.0, 4.0))
@settings(deadline=None, derandomize=True)
def test_faster_decoding_shrinks_the_batch(concurrency: float, speedup: float) -> None:
    columns = np.stack([tpot(GRID), tpot(GRID) / speedup], axis=1)
    plain, fast = batch_for_concurrency(concurrency, GRID, columns, output_tokens=50, prefill_s=0.5)
    assert fast <= plain + 1e-9
