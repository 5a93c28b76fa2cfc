"""Lists and ranges on the command line."""

from __future__ import annotations

import pytest

from tuner.cli.ranges import read_doubling, read_reals, read_wholes
from tuner.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.5", [0.5]),
        ("0.5,0.7 , 0.9", [0.5, 0.7, 0.9]),
        ("0.5:0.95:0.05", [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]),
        ("0:1.2:0.4,2", [0.0, 0.4, 0.8, 1.2, 2.0]),
        ("0:1:0.3", [0.0, 0.3, 0.6, 0.9]),
        ("1e-3:3e-3:1e-3", [0.001, 0.002, 0.003]),
        ("0.25:0.25:0.1", [0.25]),
    ],
)
def test_reals_are_the_decimals_that_were_typed(text: str, values: list[float]) -> None:
    assert read_reals("--alpha", text).tolist() == values


@pytest.mark.parametrize(
    ("text", "values"),
    [("4", [4]), ("1:5", [1, 2, 3, 4, 5]), ("1:9:4", [1, 5, 9]), ("1,3:4,8", [1, 3, 4, 8])],
)
def test_whole_ranges_step_by_one(text: str, values: list[int]) -> None:
    assert read_wholes("--k", text).tolist() == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:256", [1, 2, 4, 8, 16, 32, 64, 128, 256]),
        ("3:20", [3, 6, 12, 20]),
        ("8", [8]),
        ("1:9:4", [1, 5, 9]),
    ],
)
def test_batches_double_and_keep_the_end(text: str, values: list[int]) -> None:
    assert read_doubling("--over batch", text).tolist() == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty place"),
        ("0.5,,0.7", "empty place"),
        ("a", "'a' is not a number"),
        ("0.5:x:0.1", "'0.5:x:0.1' is not a number"),
        ("nan", "not a finite number"),
        ("inf", "not a finite number"),
        ("1e400", "too large"),
        ("0.5:0.9", "needs a step"),
        ("0.9:0.5:0.1", "ends before it starts"),
        ("0.5:0.9:0", "step of '0.5:0.9:0' must be above 0"),
        ("0.5:0.9:-0.1", "must be above 0"),
        ("1:2:3:4", "not a range"),
        ("0:1:1e-9", "more than 10,000,000 values"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_reals("--alpha", text)
    assert words in caught.value.message
    assert caught.value.message.startswith("--alpha: ")


@pytest.mark.parametrize("reader", [read_wholes, read_doubling])
def test_fractions_are_not_whole(reader: object) -> None:
    assert callable(reader)
    with pytest.raises(InputError, match=r"--k: 1\.5 is not a whole number"):
        reader("--k", "1,1.5")


def test_a_doubling_range_starts_above_zero() -> None:
    with pytest.raises(InputError, match="must start above 0"):
        read_doubling("--over batch", "0:8")
