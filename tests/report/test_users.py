"""Users at a limit in words, where an end of the belief is none, less than plain, or infinite."""

from __future__ import annotations

import io
import itertools
import math
import re

import pytest
from rich.console import Console

from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.decision import LatencyCheck
from tuner.records.interval import Interval
from tuner.report.decision import _gain_text
from tuner.report.recommendation import render_recommendations

ENDS = (0.0, 1e-12, 0.4, 1.0, 1.3, 2.0, 7.5, math.inf)
CASE = """
target: Qwen/Qwen3-32B
hardware: {{gpu: H100-SXM, count: 2}}
workload: {{task: code, temperature: 0.2, batch: 8}}
latency_target: {{tpot_ms: {limit}}}
observed:
  - {{method: eagle3, num_speculative_tokens: 3, batch: 8, acceptance_length: 2.41,
     speedup: {speedup}}}
"""


def text_of(gain: Interval) -> str:
    return _gain_text(LatencyCheck(limit_s=0.02, plain_batch=10, best_batch=20, gain=gain))


def test_every_pair_of_ends_has_its_words() -> None:
    for low, high in itertools.product(ENDS, ENDS):
        if not low <= 2.0 <= high:
            continue
        text = text_of(Interval(mean=2.0, p10=low, p90=high))
        assert text.startswith(": 2.00× ")
        assert "or as many on 50 %" in text
        assert not re.search(r"\b(inf|nan)\b|-\d", text)
        # devices are spared for sure only where the low end serves more users
        assert ("at most" in text) == (low <= 1.0 and math.isfinite(high))


@pytest.mark.parametrize(
    ("low", "high", "users", "devices"),
    [
        (0.0, 4.0, "2.00× (none to 4.00)", "50 % (at most 75)"),
        (0.0, math.inf, "2.00× (anything from none up)", "50 %"),
        (0.5, math.inf, "2.00× (0.50 or more)", "50 %"),
        (0.8, 4.0, "2.00× (0.8–4.0)", "50 % (at most 75)"),
        (1.25, math.inf, "2.00× (1.25 or more)", "50 % (20 or more)"),
        (2.0, 2.0, "2.00×", "50 %"),
    ],
)
def test_users_and_devices(low: float, high: float, users: str, devices: str) -> None:
    said = text_of(Interval(mean=2.0, p10=low, p90=high))
    assert said == f": {users} the users on the same devices, or as many on {devices} fewer"


def test_slow_and_fast_runs_meet_every_limit_in_words() -> None:
    gains = []
    for speedup, limit in itertools.product((0.2, 0.6, 0.7, 0.9, 1.5, 2.3), (5, 12, 15, 20, 60)):
        text = CASE.format(speedup=speedup, limit=limit)
        found = recommend(parse_profile(text, file="case.yaml", name="case"))
        stream = io.StringIO()
        for part in render_recommendations([found], width=100):
            Console(file=stream, width=100).print(part, markup=False)
        assert f"{limit} ms target" in stream.getvalue()
        check = found.latency_check
        gains += [check.gain] if check and check.gain else []
    assert any(gain.p10 == 0.0 for gain in gains)
    assert any(math.isinf(gain.p90) for gain in gains)
