"""Where another setting is best, and where it stops paying: rows, ends and headline agree."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.advise.recommend import recommend
from tuner.advise.schedule import break_even
from tuner.optimize.choice import ROW_TOLERANCE
from tuner.profile import parse_profile, read_profile
from tuner.records.config import Prediction
from tuner.records.decision import BreakEven, Recommendation
from tuner.records.methods import Method

PROFILES = sorted(path.stem for path in (Path(__file__).parents[2] / "profiles").glob("*.yaml"))
LEAST = 1.0 - ROW_TOLERANCE


def end_of(item: BreakEven, end: str) -> tuple[float, float, bool]:
    """First and last value that pays, and whether any does."""
    last = getattr(item, end)
    first = getattr(item, f"{end}_from", None)
    return (-np.inf if first is None else first), (np.inf if last is None else last), last != 0.0


def holds(item: BreakEven, end: str, value: float, *, inclusive: bool) -> bool:
    first, last, any_ = end_of(item, end)
    return any_ and first <= value and (value <= last if inclusive else value < last)


@given(
    st.lists(st.floats(0.6, 1.8), min_size=2, max_size=8),
    st.floats(0.0, 0.4),
)
@settings(deadline=None, derandomize=True, max_examples=200)
def test_what_is_said_of_a_value_is_what_was_computed_there(
    speed: list[float], log_sd: float
) -> None:
    curve, values = np.array(speed), np.arange(1, len(speed) + 1) * 4
    found = break_even(curve, np.full(len(curve), log_sd), values, inclusive=True)
    if found is None:
        return
    for end, shift in (("mean", 0.0), ("p10", -1.2815515655), ("p90", 1.2815515655)):
        for value, gain in zip(values, curve, strict=True):
            pays = bool(gain * np.exp(shift * log_sd) >= LEAST)
            assert holds(found, end, float(value), inclusive=True) == pays


def test_a_low_end_that_pays_later_is_not_nowhere() -> None:
    rising = np.array([1.2, 1.3, 1.5, 1.7])
    found = break_even(rising, np.full(4, 0.25), np.array([1, 8, 64, 128]), inclusive=True)
    assert found == BreakEven(mean=None, p10=None, p90=None, looked_up_to=128.0, p10_from=64.0)
    hump = np.array([1.2, 1.5, 1.2, 0.9])
    found = break_even(hump, np.full(4, 0.25), np.array([1, 8, 64, 128]), inclusive=True)
    assert found is not None
    assert (found.mean, found.p10_from, found.p10, found.p90) == (127.0, 8.0, 63.0, None)


@pytest.fixture(scope="module")
def answers() -> list[Recommendation]:
    return [recommend(read_profile(name)) for name in PROFILES]


def test_rows_end_where_the_looking_ended(answers: list[Recommendation]) -> None:
    for found in answers:
        schedule = found.schedule
        if schedule.pays_to_batch:
            assert schedule.by_batch[-1].end == schedule.pays_to_batch.looked_up_to
            rows = schedule.by_batch
            assert [row.start for row in rows[1:]] == [row.end + 1 for row in rows[:-1]]
        if schedule.pays_to_temperature:
            heat = schedule.pays_to_temperature
            assert schedule.by_temperature[-1].end_exclusive == heat.looked_up_to


def test_no_end_contradicts_the_headline_at_its_own_load(answers: list[Recommendation]) -> None:
    asked = 0
    for found in answers:
        best = drafting(found)
        own = ((found.schedule.pays_to_batch, best.batch, True),
               (found.schedule.pays_to_temperature, best.temperature, False))  # fmt: skip
        for item, value, inclusive in own:
            # a curve over batches is looked up at the grid's next lower batch
            if item is None or value >= item.looked_up_to or best.fits_memory is False:
                continue
            asked += 1
            if best.speedup.p10 >= 1.0:
                assert holds(item, "p10", value, inclusive=inclusive)
            if best.speedup.p10 < LEAST - 0.03:
                assert not holds(item, "p10", value, inclusive=inclusive)
            if best.speedup.mean > 1.0:
                assert holds(item, "mean", value, inclusive=inclusive)
    assert asked > 20


def test_the_end_is_where_the_rows_switch_off(answers: list[Recommendation]) -> None:
    for found in answers:
        rows, item = found.schedule.by_batch, found.schedule.pays_to_batch
        off = [row.start for row in rows if not row.num_speculative_tokens]
        if item is not None:
            assert item.mean == (off[0] - 1 if off else None)


def drafting(found: Recommendation) -> Prediction:
    return next(item for item in found.configs if item.config.num_speculative_tokens)


TREES = """
target: meta-llama/Llama-3.3-70B-Instruct
hardware: {{gpu: H100-SXM, count: 4}}
engine: {{name: sglang}}
workload: {{task: chat, temperature: 0.7, batch: {batch}}}
candidates: {{methods: [eagle3]}}
"""


def test_where_width_stops_paying_chains_of_the_same_head_go_on() -> None:
    alone, two = (
        recommend(parse_profile(TREES.format(batch=batch), file="t.yaml", name="t"))
        for batch in (1, 16)
    )
    best = drafting(alone)
    assert best.config.tree is not None
    rows = alone.schedule.by_batch
    assert rows[0].tree == best.config.tree
    assert all(row.method in (best.config.method, Method.NONE) for row in rows)
    # the same head as chains, asked for at a load where no trees are looked at
    chains = two.schedule.by_batch
    assert drafting(two).config.tree is None
    for row, other in itertools.product(rows, chains):
        if row.tree is None and other.start == row.start >= 16:
            assert row.num_speculative_tokens == other.num_speculative_tokens
    assert alone.schedule.pays_to_batch is not None
    assert two.schedule.pays_to_batch is not None
    assert alone.schedule.pays_to_batch.mean == two.schedule.pays_to_batch.mean
