"""Files that a command writes: refused before anything is computed, and never half-written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tuner.errors import InputError

PLOT_ENDINGS = (".png", ".svg")


def check_out_file(option: str, name: str, *, endings: tuple[str, ...] = ()) -> Path:
    """Return the path when it can be written; raise `InputError` with the reason otherwise."""
    path = Path(name)
    if not name.strip() or "\0" in name:
        raise InputError(f"{option}: {name!r} is not a file name.")
    if endings and path.suffix.lower() not in endings:
        allowed = " or ".join(endings)
        raise InputError(f"{option}: {name} must end in {allowed}; that decides the format.")
    try:
        _check_place(option, name, path)
    except OSError as error:
        raise InputError(f"{option}: {name}: {error.strerror}.") from None
    return path


def write_file(option: str, path: Path, chunks: Iterable[bytes]) -> None:
    """Write all chunks, then put the file in place; on failure nothing of it is left.

    A device or pipe (such as /dev/stdout) is written directly.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                stream.writelines(chunks)
            return
        _write_beside(path, chunks)
    except OSError as error:
        raise InputError(f"{option}: {path}: {error.strerror}; nothing was written.") from None


def _check_place(option: str, name: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{option}: {name} is a directory; name a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{option}: the directory {folder} does not exist.")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise InputError(f"{option}: {name} is not writable.")
    elif not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option}: the directory {folder} is not writable.")


def _write_beside(path: Path, chunks: Iterable[bytes]) -> None:
    target = path.resolve()  # a link stays a link
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(chunks)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
