"""Digits, names and symbols: what a number or a name looks like on the screen."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tuner.records.interval import Interval
from tuner.report import numbers, symbols
from tuner.report.layout import Column, fitted_table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0251, "25.1 ms"),
        (0.00084, "0.84 ms"),
        (0.12, "120 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (1.696, "1.70 s"),
        (12.34, "12.3 s"),
        (2500.0, "2,500 s"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert numbers.time_text(seconds) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (0.0174, 0.0094, "17.4 → 9.4 ms"),
        (7.02, 3.81, "7.02 → 3.81 s"),
        (1.696, 0.88, "1.70 s → 880 ms"),
    ],
)
def test_changes_of_time_say_their_unit_once(before: float, after: float, text: str) -> None:
    assert numbers.time_change(before, after) == text


@pytest.mark.parametrize(("value", "text"), [(2.637, "2.64×"), (12.37, "12.4×"), (120.4, "120×")])
def test_factors(value: float, text: str) -> None:
    assert numbers.factor(value) == text


def test_a_span_gets_a_digit_more_where_its_ends_would_look_alike() -> None:
    assert numbers.span(Interval(mean=2.6, p10=2.21, p90=3.04)) == "2.2–3.0"
    assert numbers.span(Interval(mean=1.0, p10=0.98, p90=1.02)) == "0.98–1.02"


@pytest.mark.parametrize(
    ("share", "text"), [(0.97, "97 %"), (0.9999, "over 99 %"), (1.0, "100 %"), (0.0, "0 %")]
)
def test_near_certainty_is_not_certainty(share: float, text: str) -> None:
    assert numbers.percent(share) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the drafter is large.", "The drafter is large."),
        ("vLLM cannot do this.", "vLLM cannot do this."),
        ("vllm cannot do this.", "vllm cannot do this."),
        ("llama.cpp keeps one K.", "llama.cpp keeps one K."),
        ("awq weights come with it.", "awq weights come with it."),
        ("suffix is left out.", "suffix is left out."),
        ("p-eagle: K above 7.", "p-eagle: K above 7."),
        ("draft_model needs one.", "draft_model needs one."),
        ("suffix decoding, 8 draft tokens", "Suffix decoding, 8 draft tokens"),
        ("a draft model at K 3", "A draft model at K 3"),
        ("n-gram lookup at K 3", "N-gram lookup at K 3"),
        ("none of them fits.", "None of them fits."),
        ("llama-3.gguf stands for it", "llama-3.gguf stands for it"),
        ("", ""),
    ],
)
def test_sentences_start_with_a_capital_but_names_stay(text: str, shown: str) -> None:
    assert numbers.sentence(text) == shown


def test_names_lose_their_owner_before_their_middle() -> None:
    names = ["meta-llama/Llama-3.2-1B-Instruct", "meta-llama/Llama-3.2-3B-Instruct"]
    assert numbers.shorten_names(names, 21) == ["Llama-3.2-1B-Instruct", "Llama-3.2-3B-Instruct"]
    short = numbers.shorten_names(names, 16)
    assert len(set(short)) == 2
    assert max(map(len, short)) == 16


@given(names=st.lists(st.text(max_size=40), max_size=6), width=st.integers(0, 30))
@settings(deadline=None, derandomize=True, max_examples=80)
def test_shortened_names_fit(names: list[str], width: int) -> None:
    short = numbers.shorten_names(names, width)
    assert len(short) == len(names)
    assert all(len(name) <= width for name in short)


def test_symbols_become_words() -> None:
    text = "α 0.9 · K·c  2.64×  τ 3.49 ± .33  ▸ 2.2–3.0 ≤"
    plain = symbols.to_ascii(text)
    assert plain == "alpha 0.9 | K*c  2.64x  tau 3.49 +- .33  > 2.2-3.0 <="
    assert symbols.to_ascii("größe") == "gr??e"


def test_only_what_cannot_be_encoded_is_replaced() -> None:
    errors = symbols.register()
    assert "a · b × τ".encode("latin-1", errors) == b"a \xb7 b \xd7 tau"
    assert "a · b × τ".encode("ascii", errors) == b"a | b x tau"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", errors)


def shown(columns: list[Column], width: int, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=symbols.register())
    Console(file=stream, width=width + 1).print(fitted_table(columns, width=width + 1, indent=1))
    stream.seek(0)
    return [line[1:] for line in stream.read().splitlines()]


def test_columns_stay_aligned_where_symbols_become_words() -> None:
    columns = [
        Column(title="drafter", cells=("a-very-long-name", "b"), align="left", shortest=8),
        Column(title="τ", cells=("2.44 ± .82", "1.00"), align="left"),
        Column(title="α", cells=("0.67", "–")),
        Column(title="speedup", cells=("1.84×", "1.00×")),
    ]
    lines = shown(columns, 40, "ascii")
    assert lines[0].split() == ["drafter", "tau", "alpha", "speedup"]
    assert "2.44 +- .82" in lines[1]
    assert len({len(line) for line in lines}) == 1
    assert lines[1].startswith("a-ve~") or lines[1].startswith("a-very-long-name")
    assert shown(columns, 31, "ascii")[1].split()[0].count("~") == 1


def test_unimportant_columns_go_first_and_come_back_where_they_fit() -> None:
    columns = [
        Column(title="a", cells=("1",)),
        Column(title="wide", cells=("x" * 12,), drop_order=1),
        Column(title="small", cells=("2",), drop_order=2),
    ]
    assert shown(columns, 40)[0].split() == ["a", "wide", "small"]
    assert shown(columns, 15)[0].split() == ["a", "wide"]
    # the wide one does not fit; the less important small one does
    assert shown(columns, 10)[0].split() == ["a", "small"]


def test_a_column_without_content_is_left_out() -> None:
    columns = [Column(title="a", cells=("1",)), Column(title="b", cells=("",))]
    assert shown(columns, 40) == ["a", "1"]
