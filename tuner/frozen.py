"""Frozen dataclasses that cost little to define.

The standard decorator writes and compiles six functions for every class when the class is made;
with some ninety records that is as much as the import of NumPy. Here only ``__init__`` is compiled,
and only when the first object of a class is made; the other functions are shared. For readers, type
checkers and :mod:`dataclasses` (``fields``, ``replace``, ``asdict``) nothing else differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True, order=False):
        """As ``dataclasses.dataclass``; quick for frozen classes with slots and no bases."""

        def make(plain):
            if frozen and slots and not order and plain.__mro__[1:] == (object,):
                return _make(plain, kw_only, eq)
            return dataclasses.dataclass(
                plain, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, order=order
            )

        return make if cls is None else make(cls)


__all__ = ["dataclass"]


def _make(plain: type, kw_only: bool, eq: bool) -> type:
    made = _with_slots(
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(plain), eq
    )

    def first_init(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _write_init(made)
        made.__init__(self, *args, **kwargs)

    shared = {
        "__init__": first_init,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__repr__": _repr,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
        **(_comparison(made) if eq else {}),
    }
    for name, function in shared.items():
        if plain.__dict__.get(name) is None:  # what a class writes itself stays
            setattr(made, name, function)
    return made  # type: ignore[no-any-return]


class _HashedOnce:
    """Records are keys of caches and hold other records: each remembers its hash."""

    __slots__ = ("_hash",)


def _with_slots(plain: type, eq: bool) -> Any:
    names = tuple(field.name for field in dataclasses.fields(plain))
    kept = {
        name: value
        for name, value in plain.__dict__.items()
        if name not in {*names, "__dict__", "__weakref__"}
    }
    kept |= {"__slots__": names, "__qualname__": plain.__qualname__}
    return type(plain)(plain.__name__, (_HashedOnce,) if eq else (object,), kept)


def _comparison(made: Any) -> dict[str, Any]:
    fields = dataclasses.fields(made)
    compared = _key(field.name for field in fields if field.compare)
    hashed = _key(
        field.name for field in fields if (field.compare if field.hash is None else field.hash)
    )

    def equals(self: Any, other: Any) -> Any:
        return compared(self) == compared(other) if type(other) is made else NotImplemented

    def hash_of(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            object.__setattr__(self, "_hash", hash(hashed(self)))
            return self._hash  # type: ignore[no-any-return]

    return {"__eq__": equals, "__hash__": hash_of}


def _key(names: Iterable[str]) -> Callable[[Any], Any]:
    found = tuple(names)
    return attrgetter(*found) if found else type


def _write_init(made: Any) -> Any:
    """Compile the ``__init__`` of a class, with the signature that the standard one has."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    heads: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(made):
        name, default, value = field.name, "", field.name
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            default, value = "=_missing", f"_make_{name}() if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        if field.kw_only and "*" not in heads:
            heads.append("*")
        heads.append(name + default)
        lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__(self, {', '.join(heads)}):\n" + "\n".join(lines or [" pass"]), scope)
    scope["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return scope["__init__"]


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
