"""Up to where it pays, in words, where an end of the belief pays in a stretch only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from tuner.records.decision import BreakEven, Recommendation
from tuner.report.schedule import schedule_parts


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (BreakEven(mean=None, p10=None, p90=None, looked_up_to=226, p10_from=64),
         "pays at every batch looked at, up to 226 (low end of the belief: from batch 64)"),
        (BreakEven(mean=None, p10=127, p90=None, looked_up_to=226, p10_from=8),
         "pays at every batch looked at, up to 226 (low end of the belief: batch 8 to 127)"),
        (BreakEven(mean=191, p10=47, p90=None, looked_up_to=264, p10_from=8),
         "pays up to batch 191 (low end of the belief: batch 8 to 47; high end: at every batch "
         "looked at)"),
        (BreakEven(mean=191, p10=0.0, p90=255, looked_up_to=264),
         "pays up to batch 191 (80 % belief: nowhere to 255)"),
        (BreakEven(mean=0.0, p10=0.0, p90=None, looked_up_to=264, p90_from=96),
         "pays nowhere (high end of the belief: from batch 96)"),
    ],
)  # fmt: skip
def test_stretches_in_words(switched_on: Recommendation, item: BreakEven, words: str) -> None:
    schedule = replace(switched_on.schedule, pays_to_batch=item, by_temperature=())
    console = Console(width=300)
    with console.capture() as said:
        for part in schedule_parts(schedule):
            console.print(part, markup=False)
    assert words in " ".join(said.get().split())
