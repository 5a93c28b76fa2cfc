"""Where profiles are: a path, the name of a shipped one, or "-" for standard input."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache
from pathlib import Path

from tuner.errors import InputError, Where
from tuner.nearest import nearest
from tuner.profile.nodes import MAX_BYTES

SUFFIXES = (".yaml", ".yml")
STDIN = "-"


def read_text(path_or_name: str) -> tuple[str, str]:
    """Return the text of a profile and what to call its file in messages."""
    if path_or_name == STDIN:
        return _decode(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input"), "standard input"
    path = find_profile(path_or_name)
    try:
        with open(path, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise InputError("is a directory; name a file.", where=Where(file=path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}.", where=Where(file=path)) from None
    return _decode(data, path), path


def find_profile(path_or_name: str) -> str:
    """Return the path of a profile file given by path or by the name of a shipped one."""
    if os.path.lexists(path_or_name):
        return path_or_name
    shipped = shipped_profiles()
    if path_or_name in shipped:
        return shipped[path_or_name]
    if os.sep in path_or_name or path_or_name.endswith(SUFFIXES):
        raise InputError("there is no such file.", where=Where(file=path_or_name))
    near = nearest(path_or_name, shipped)
    hint = f"did you mean {near}?" if near else f"shipped are {', '.join(shipped) or 'none'}."
    shown = path_or_name if len(path_or_name) <= 60 else path_or_name[:57] + "…"
    raise InputError(f"{shown!r} is neither a file nor a shipped profile; {hint}")


@lru_cache(maxsize=1)
@lru_cache(maxsize=1)
def shipped_profiles() -> dict[str, str]:
    """Return name → path of the profiles that come with the program."""
    package = Path(__file__).parent.parent
    for folder in (package / "profiles", package.parent / "profiles"):  # a wheel; a checkout
        if folder.is_dir():
            files = sorted(f for f in folder.iterdir() if f.suffix in SUFFIXES)
            return {file.stem: str(file) for file in files}
    return {}


def _decode(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise InputError(
            f"larger than {MAX_BYTES // 1024:,} KiB; a profile is small.", where=Where(file=file)
        )
    if b"\0" in data:
        raise InputError("is not text (it contains NUL bytes).", where=Where(file=file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"is not UTF-8 text (byte 0x{data[error.start]:02x}).",
            where=Where(file=file, line=line),
        ) from None
