"""Walk the header of a GGUF file: metadata and tensor sizes, within bounds, no weights.

The package ``gguf`` reads every token of a vocabulary into arrays of its own, seconds for a large
one; here long arrays are measured and skipped. Layout: ``docs/gguf.md`` of ggml, versions 2 and 3.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tuner.catalog.json_file import check_regular_file
from tuner.errors import InputError, Where

VERSIONS = (2, 3)
#: the largest files have a few thousand tensors and under a hundred entries
MAX_TENSORS = 100_000
MAX_ENTRIES = 10_000
MAX_KEY_BYTES = 65_535
#: elements of arrays in one file; vocabularies and merges are below a million
MAX_ELEMENTS = 10_000_000
#: arrays up to this length are kept, longer ones only counted
KEPT_ELEMENTS = 2_048
MAX_TEXT_BYTES = 1_000_000

_HEADER = struct.Struct("<4sIQQ")
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}


@dataclass(slots=True)
class GgufHeader:
    """What a GGUF file says about itself."""

    fields: dict[str, Any] = field(default_factory=dict)
    #: lengths of all arrays, kept or not
    lengths: dict[str, int] = field(default_factory=dict)
    #: dimensions and numeric type of each tensor
    tensors: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)


def read_header(path: Path) -> GgufHeader:
    """Return the header of a GGUF file.

    Raises
    ------
    InputError
        The file cannot be read, is no GGUF file, or its header is damaged.
    """
    where = Where(file=str(path))
    if check_regular_file(path, where) < _HEADER.size:
        raise InputError("not a GGUF file: too short.", where=where)
    try:
        with (
            path.open("rb") as handle,
            mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _Walk(data, where).header()
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}.", where=where) from None
    except struct.error:
        raise InputError("a damaged GGUF file: it ends inside its header.", where=where) from None


class _Walk:
    """A position in the file that only moves forward."""

    def __init__(self, data: mmap.mmap, where: Where) -> None:
        self.data = data
        self.where = where
        self.at = 0
        self.elements = 0

    def header(self) -> GgufHeader:
        magic, version, n_tensors, n_entries = _HEADER.unpack_from(self.data)
        if magic != b"GGUF":
            raise self.damaged("not a GGUF file: it does not start with GGUF.")
        if version not in VERSIONS:
            raise self.damaged(f"GGUF version {version} is not supported (2 and 3 are).")
        if n_tensors > MAX_TENSORS or n_entries > MAX_ENTRIES:
            raise self.damaged(f"claims {n_tensors} tensors and {n_entries} entries: damaged.")
        self.at = _HEADER.size
        found = GgufHeader()
        for _ in range(n_entries):
            key = self.text(MAX_KEY_BYTES)
            kind = self.number("I")
            value = self.value(kind)
            if kind == _ARRAY:
                found.lengths[key], value = value
            if value is not None:
                found.fields[key] = value
        for _ in range(n_tensors):
            name = self.text(MAX_KEY_BYTES)
            n_dims = self.number("I")
            if n_dims > 8:
                raise self.damaged(f"tensor {name[:60]!r} has {n_dims} dimensions: damaged.")
            dims = tuple(self.number("Q") for _ in range(n_dims))
            found.tensors[name] = (dims, self.number("I"))
            self.number("Q")
            if math.prod(dims) >= 2**63:
                raise self.damaged(f"tensor {name[:60]!r} is too large: damaged.")
        return found

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def text(self, limit: int) -> str:
        size = self.number("Q")
        if size > limit:
            raise self.damaged(f"a text of {size} bytes in the header: damaged.")
        self.skip(size)
        return self.data[self.at - size : self.at].decode("utf-8", "replace")

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise self.damaged("a damaged GGUF file: it ends inside its header.")
        self.at += size

    def value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text(MAX_TEXT_BYTES)
        if kind == _ARRAY:
            return self.array()
        raise self.damaged(f"a value of unknown type {kind}: damaged.")

    def array(self) -> tuple[int, list[Any] | None]:
        """Return the length, and the elements when they are few and no arrays themselves."""
        kind, length = self.number("I"), self.number("Q")
        self.elements += length
        if self.elements > MAX_ELEMENTS:
            raise self.damaged(f"arrays of {self.elements} elements in the header: damaged.")
        if kind in _SCALARS:
            code = _SCALARS[kind]
            start = self.at
            self.skip(length * struct.calcsize(f"<{code}"))
            if length > KEPT_ELEMENTS:
                return length, None
            return length, list(struct.unpack_from(f"<{length}{code}", self.data, start))
        if kind != _STRING:
            raise self.damaged(f"an array of type {kind}: damaged.")
        for _ in range(length):
            self.skip(self.number("Q"))
        return length, None

    def damaged(self, message: str) -> InputError:
        return InputError(message, where=self.where)
