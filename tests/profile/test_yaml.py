"""What hostile or accidental text does to the reader: an error of ours, quickly, or a profile."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuner.errors import InputError, ProfileError, TunerError
from tuner.profile import parse_profile, read_profile
from tuner.profile.nodes import MAX_NODES, Kind, read_tree
from tuner.profile.template import flow

SLOW = settings(
    deadline=None,
    derandomize=True,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WORDS = st.sampled_from(
    [
        *("target", "workload", "batch", "temperature", "task", "observed", "method", "eagle3"),
        *("tree", "5/4/8", "counts", "hardware", "gpu", "parallel", "tensor", "engine", "version"),
        *("-", ":", "{", "}", "[", "]", ",", "#", "&", "*", "!", "|", ">", "'", '"', "%", "@"),
        *("`", "~", "null", "true", "-3", "1e3", ".nan", ".inf", "0x10", "010", "1:30", "1_000"),
        *("2026-05-03", "<<", "?", "---", "...", "\n", "\n  ", "\t", "\0", "\u2028", "\U0001f600"),
    ]
)


def read_or_refuse(text: str, *sets: str) -> None:
    """Read, and let nothing escape but an error of ours that says something."""
    try:
        profile = parse_profile(text, file="p.yaml", name="p", sets=sets)
    except TunerError as error:
        said = error.lines()
    else:
        said = [profile.name]
    assert said


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_profile(text, file="p.yaml", name="p")
    return "\n".join(caught.value.lines())


@SLOW
@given(st.text(max_size=200))
def test_any_text_gives_a_profile_or_an_error_of_ours(text: str) -> None:
    read_or_refuse(text)


@SLOW
@given(st.lists(WORDS, max_size=40).map(" ".join))
def test_any_soup_of_yaml_gives_a_profile_or_an_error_of_ours(text: str) -> None:
    read_or_refuse(text)


@SLOW
@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_profile_or_an_error_of_ours(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(data)
    try:
        said = read_profile(str(file)).path or ""
    except TunerError as error:
        said = error.lines()[0]
    assert str(file) in said


@SLOW
@given(
    st.sampled_from(["workload.batch", "observed", "target", "a..b", "", "engine.name.x", "name"]),
    st.text(max_size=60),
)
def test_any_setting_gives_a_profile_or_an_error_of_ours(key: str, value: str) -> None:
    read_or_refuse("target: a/b\n", f"{key}={value}")


LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | (st.text(string.printable, max_size=20) | st.text(max_size=8)).filter(
        # YAML 1.1, which safe_dump writes, takes 1e3 for text; 1.2 and this reader for a number
        lambda text: re.fullmatch(r"[-+]?[0-9.]+[eE][-+]?[0-9]+", text) is None
    )
)
TREE = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def plain(node: object) -> object:
    """Return what a node means, as yaml.safe_load would."""
    kind = node.kind  # type: ignore[attr-defined]
    if kind is Kind.MAPPING:
        return {key: plain(value) for key, (_, value) in node.entries.items()}  # type: ignore[attr-defined]
    if kind is Kind.SEQUENCE:
        return [plain(item) for item in node.items]  # type: ignore[attr-defined]
    return node.value  # type: ignore[attr-defined]


@settings(deadline=None, derandomize=True, max_examples=200)
@given(TREE)
def test_what_yaml_writes_is_read_back(value: object) -> None:
    node = read_tree(yaml.safe_dump(value, allow_unicode=True), "p")
    assert plain(node) == value


@settings(deadline=None, derandomize=True, max_examples=200)
@given(TREE)
def test_what_we_write_is_read_back_by_yaml(value: object) -> None:
    node = read_tree(yaml.safe_dump(value, allow_unicode=True), "p")
    assert yaml.safe_load(flow(node)) == value


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "null", "1e3", "0x1", "2026-05-03"])
def test_words_that_some_reader_takes_for_a_value_are_quoted(word: str) -> None:
    node = read_tree(f'"{word}"', "p")
    assert yaml.safe_load(flow(node)) == word


def test_an_alias_bomb_is_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert f"more than {MAX_NODES:,} values" in message("\n".join(lines))


def test_an_alias_to_itself_is_stopped() -> None:
    assert "nested more than" in message("a: &a [*a]")


@pytest.mark.parametrize("opening", ["[", "- ", "? ", "{a: "])
def test_deep_nesting_is_stopped(opening: str) -> None:
    assert "nested" in message(opening * 50_000)


def test_a_modest_alias_is_fine() -> None:
    text = "target: &t a/b\ndrafter: {path_or_id: *t, method: eagle3}\n"
    profile = parse_profile(text, file="p", name="p")
    assert profile.drafter is not None
    assert profile.drafter.path_or_id == "a/b"


@pytest.mark.parametrize(
    "tag",
    ["!!python/object/apply:os.system ['id']", "!custom x", "!!binary aGk=", "!!set {a, b}"],
)
def test_tags_are_not_read(tag: str) -> None:
    assert message(f"target: {tag}").startswith("p.yaml:1: target: the YAML tag !")


def test_all_errors_come_in_one_go_in_the_order_of_the_file() -> None:
    text = "naem: x\nworkload:\n  temprature: 0.7\n  batch: -3\nhardware: {gpu: A, count: 0}\n"
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, file="p.yaml", name="p")
    places = [(p.where.line, p.where.key) for p in caught.value.problems]
    assert places == [
        (1, "naem"),
        (1, "target"),
        (3, "workload.temprature"),
        (4, "workload.batch"),
        (5, "hardware.count"),
    ]
    assert caught.value.lines()[-1] == "5 errors; nothing was computed."
