"""Reading of acceptance by depth and rank from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from tuner.errors import InputError, Where


def read_rank_file(option: str, name: str, max_bytes: int) -> list[list[float]]:
    """Return the lists of a JSON file; shorter ones are filled up with zeros.

    Raises
    ------
    InputError
        The file cannot be read, is no JSON, or is no list of lists of chances.
    """
    value = _parsed(option, name, max_bytes)
    if not isinstance(value, list) or not value:
        raise _refusal(name, "must hold a list of lists, one list of chances a depth.")
    rows = [_row(name, place, row) for place, row in enumerate(value, start=1)]
    width = max(len(row) for row in rows)
    return [row + [0.0] * (width - len(row)) for row in rows]


def _parsed(option: str, name: str, max_bytes: int) -> object:
    try:
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{option}: {name} is a directory; name a JSON file.")
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{option}: {name}: {reason}.") from None
    if len(content) > max_bytes:
        raise InputError(f"{option}: {name} is larger than {max_bytes:,} bytes.")
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _refusal(name, "is not text in UTF-8.") from None
    except json.JSONDecodeError as error:
        where = Where(file=name, line=error.lineno)
        raise InputError(f"this is not JSON: {error.msg}.", where=where) from None
    except RecursionError:
        raise _refusal(name, "is nested too deeply.") from None
    except ValueError:  # Python refuses to read integers of more than 4,300 digits
        raise _refusal(name, "holds a number with too many digits; an entry is 0 to 1.") from None


def _row(name: str, place: int, row: object) -> list[float]:
    if not isinstance(row, list) or not row:
        raise _refusal(name, f"depth {place} must be a list of chances, such as [0.6, 0.1].")
    for value in row:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0.0 <= value <= 1.0:
            shown = repr(value) if len(repr(value)) <= 40 else f"{value!r:.37}…"
            raise _refusal(name, f"depth {place} holds {shown}: every entry is a chance, 0 to 1.")
    return [float(value) for value in row]


def _no_constant(text: str) -> NoReturn:
    raise json.JSONDecodeError(f"{text} is not a number of JSON", "", 0)


def _refusal(name: str, message: str) -> InputError:
    return InputError(message, where=Where(file=name))
