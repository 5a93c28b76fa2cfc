"""The quick frozen dataclass does what the standard one does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from tuner import frozen

ERRORS = (dataclasses.FrozenInstanceError, TypeError)


def build(decorate: Any) -> Any:
    @decorate(frozen=True, slots=True, kw_only=True)
    class Record:
        """Every kind of field that the project uses."""

        name: str
        size: float = 1.5
        tags: tuple[str, ...] = ()
        table: dict[str, float] = dataclasses.field(default_factory=dict, hash=False)

        @property
        def double(self) -> float:
            return self.size * 2

    return Record


QUICK, STANDARD = build(frozen.dataclass), build(dataclasses.dataclass)


@frozen.dataclass(frozen=True, slots=True)
class Point:
    """Positional fields and a check."""

    x: float
    y: float = 0.0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x")


@frozen.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Identity:
    """Compared by identity."""

    value: int


CASES: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "size": 2.0},
    {"name": "b", "tags": ("x",), "table": {"k": 1.0}},
]


@pytest.mark.parametrize("given", CASES)
def test_values_repr_hash_and_helpers_are_those_of_the_standard(given: dict[str, Any]) -> None:
    quick, standard = QUICK(**given), STANDARD(**given)
    assert repr(quick) == repr(standard)
    assert hash(quick) == hash(standard)
    assert dataclasses.asdict(quick) == dataclasses.asdict(standard)
    assert quick.double == standard.double
    assert dataclasses.replace(quick, size=9.0).size == 9.0
    names = [field.name for field in dataclasses.fields(quick)]
    assert names == [field.name for field in dataclasses.fields(standard)]


def test_equality_is_by_value_and_class() -> None:
    assert QUICK(name="a") == QUICK(name="a")
    assert QUICK(name="a") != QUICK(name="a", table={"k": 1.0})
    assert QUICK(name="a") != STANDARD(name="a")
    assert Identity(value=1) != Identity(value=1)
    assert len({QUICK(name="a"), QUICK(name="a")}) == 1


def test_factories_make_a_value_for_each_object() -> None:
    assert QUICK(name="a").table is not QUICK(name="a").table


@pytest.mark.parametrize("made", [QUICK, STANDARD])
def test_objects_are_frozen_and_have_no_other_attributes(made: Any) -> None:
    record = made(name="a")
    with pytest.raises(ERRORS):
        record.name = "b"
    with pytest.raises(ERRORS):
        record.other = 1
    with pytest.raises(ERRORS):
        del record.name
    assert not hasattr(record, "__dict__")


@pytest.mark.parametrize("made", [QUICK, STANDARD])
@pytest.mark.parametrize("given", [{}, {"name": "a", "nmae": 1}])
def test_wrong_arguments_are_type_errors(made: Any, given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        made(**given)
    with pytest.raises(TypeError):
        made("a")


def test_positional_fields_and_checks() -> None:
    assert Point(1.0) == Point(1.0, 0.0)
    with pytest.raises(ValueError, match="x"):
        Point(-1.0)


def test_copies_and_pickles() -> None:
    point = Point(1.0, 2.0)
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


def test_other_dataclasses_are_left_to_the_standard() -> None:
    @frozen.dataclass
    class Open:
        """Neither frozen nor with slots."""

        value: int = 0

    record = Open()
    record.value = 3
    assert record == Open(3)


def test_a_hash_is_computed_once() -> None:
    class Part:
        """Counts how often it is hashed."""

        hashed = 0

        def __hash__(self) -> int:
            self.hashed += 1
            return 7

    @frozen.dataclass(frozen=True, slots=True)
    class Whole:
        """Holds a part."""

        part: Part

    part = Part()
    whole = Whole(part)
    assert hash(whole) == hash(whole)
    assert part.hashed == 1
    assert hash(dataclasses.replace(whole)) == hash(whole)
    assert part.hashed == 2
