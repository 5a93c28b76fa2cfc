"""Read a JSON object from a file that may be anything."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from tuner.errors import InputError, Where

#: the largest config.json seen is 30 kB (a model with per-layer settings)
MAX_BYTES = 4_000_000
MAX_DEPTH = 40


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    InputError
        No such file, not a regular file, unreadable, larger than ``MAX_BYTES``, not UTF-8, not
        JSON, nested deeper than ``MAX_DEPTH``, or not an object.
    """
    where = Where(file=str(path))
    text = _read_text(path, where)
    if _depth(text) > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels.", where=where)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        place = Where(file=str(path), line=problem.lineno)
        raise InputError(f"not JSON: {problem.msg}.", where=place) from None
    except RecursionError:
        raise InputError("not JSON that can be read: nested too deeply.", where=where) from None
    except ValueError:  # Python refuses to read integers of more than 4,300 digits
        raise InputError(
            "not JSON that can be read: a number has too many digits.", where=where
        ) from None
    if not isinstance(value, dict):
        raise InputError("a JSON object is expected, such as a model's config.json.", where=where)
    return value


def check_regular_file(path: Path, where: Where) -> int:
    """Return the size of a regular file in bytes, or raise the error that fits."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError("no such file.", where=where) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a usable path"
        raise InputError(f"cannot be read: {reason}.", where=where) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError("is a directory; name the file in it.", where=where)
    if not stat.S_ISREG(status.st_mode):
        raise InputError("is not a regular file.", where=where)
    return status.st_size


def _read_text(path: Path, where: Where) -> str:
    size = check_regular_file(path, where)
    if size > MAX_BYTES:
        raise InputError(
            f"{size / 1e6:.0f} MB is too large for a config.json (limit {MAX_BYTES / 1e6:.0f} MB).",
            where=where,
        )
    try:
        with path.open("rb") as handle:
            return handle.read(MAX_BYTES + 1).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text.", where=where) from None
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}.", where=where) from None


def _depth(text: str) -> int:
    """Return an upper bound of the nesting (brackets inside strings count too)."""
    depth = deepest = 0
    for char in text:
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest
