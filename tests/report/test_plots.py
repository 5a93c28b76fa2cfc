"""Plots made of text: what each line holds, and that none is wider than asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.report.plots import (
    Series,
    bars,
    can_draw_blocks,
    histogram,
    line_plot,
    short_number,
    spark,
    spark_lines,
)

HEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=40)


def test_a_filled_curve_line_for_line() -> None:
    series = Series(label="", x=[1, 2, 3, 4], y=[0.0, 1.0, 2.0, 4.0])
    assert line_plot([series], width=24, height=4, x_label="K", y_label="tokens", mark_x=4) == [
        "  tokens",
        "  4 ┤            ████",
        "    ┤            ████",
        "  2 ┤        ████████",
        "    ┤▁▁▁▁████████████",
        "  0 └────────────────",
        "                   ▲",
        "       1   2   3   4   K",
    ]


def test_the_same_in_ascii() -> None:
    series = Series(label="", x=[1, 2], y=[1.0, 2.0])
    assert line_plot([series], width=24, height=2, mark_x=2, blocks=False) == [
        "  2 |        ########",
        "  1 |################",
        "  0 +----------------",
        "                 ^",
        "         1       2",
    ]


def test_several_curves_differ_by_symbol() -> None:
    lines = line_plot(
        [Series(label="low", x=[1, 2], y=[1, 1]), Series(label="high", x=[1, 2], y=[3, 3])],
        width=40,
    )
    text = "\n".join(lines)
    assert "● low" in text
    assert "▲ high" in text
    low = next(place for place, line in enumerate(lines) if "●" in line)
    high = next(place for place, line in enumerate(lines) if "▲" in line)
    assert high < low


def test_more_curves_than_symbols_become_spark_lines() -> None:
    series = [Series(label=f"n{n}", x=[1, 2, 3], y=[n, n + 1, n + 2]) for n in range(6)]
    lines = line_plot(series, width=60)
    assert len(lines) == 6
    assert [line.split()[0] for line in lines] == [f"n{n}" for n in range(6)]


def test_a_gap_is_left_empty() -> None:
    series = Series(label="", x=[1, 2, 3], y=[1.0, float("nan"), 1.0])
    top = line_plot([series], width=24, height=1)[0]
    assert top.split("┤")[1] == "█████" + " " * 5 + "█████"


def test_nothing_to_draw() -> None:
    assert line_plot([Series(label="", x=[1], y=[float("nan")])]) == []
    assert bars([]) == []
    assert histogram([float("nan")]) == []
    assert spark_lines([]) == []


def test_batches_are_spaced_by_their_logarithm() -> None:
    batches = [1, 2, 4, 8]
    lines = line_plot([Series(label="", x=batches, y=[4, 3, 2, 1])], width=40, x_log=True)
    labels = lines[-1]
    places = [labels.index(str(batch)) for batch in batches]
    assert len(set(np.diff(places))) == 1


def test_bars_start_at_zero_and_keep_proportions() -> None:
    lines = bars([("a", 1.0), ("bb", 2.0), ("c", 0.0)], width=20)
    filled = [sum(char in "▏▎▍▌▋▊▉█" for char in line) for line in lines]
    assert filled[1] == 2 * filled[0]
    assert filled[2] == 0
    assert lines[2] == "   c  0"


def test_a_histogram_counts_everything_once() -> None:
    values = np.array([0.0, 0.1, 0.9, 1.0, float("nan")])
    lines = histogram(values, bins=2, width=40)
    assert [int(line.split()[3]) for line in lines] == [2, 2]


def test_a_spark_line_has_one_character_a_value() -> None:
    assert spark([0.0, 0.5, 1.0, float("nan")], low=0.0, high=1.0) == "▁▄█ "
    assert spark([0.0, 1.0], low=0.0, high=1.0, blocks=False) == ".#"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.3616, "3.36"),
        (12.0, "12"),
        (0.04, "0.04"),
        (123456.0, "123456"),
        (2e7, "2.00e+07"),
        (-2.5, "-2.5"),
        (float("nan"), "-"),
    ],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short_number(value) == text


@pytest.mark.parametrize(
    ("encoding", "possible"),
    [("utf-8", True), ("utf-16", True), ("ascii", False), ("latin-1", False), ("nonsense", False)],
)
def test_which_streams_take_blocks(encoding: str, possible: bool) -> None:
    assert can_draw_blocks(encoding) is possible


def test_an_unknown_encoding_is_taken_for_ascii() -> None:
    assert not can_draw_blocks(None)


@given(
    heights=st.lists(HEIGHTS, min_size=1, max_size=6),
    width=st.integers(24, 120),
    blocks=st.booleans(),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_no_line_is_wider_than_asked(heights: list[list[float]], width: int, blocks: bool) -> None:
    series = [
        Series(label=f"curve {place}", x=np.arange(1, len(y) + 1), y=y)
        for place, y in enumerate(heights)
    ]
    lines = line_plot(series, width=width, x_label="K", mark_x=1, blocks=blocks)
    assert lines
    assert max(map(len, lines)) <= width
    if not blocks:
        assert all(line.isascii() for line in lines)
