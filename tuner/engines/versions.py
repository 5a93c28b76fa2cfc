"""Which engine versions a command can be written for."""

from __future__ import annotations

import re
from functools import lru_cache

from tuner.errors import InputError, MissingDataError
from tuner.records.methods import Engine
from tuner.records.sources import Warning_

#: Newest release whose options were read, and the oldest that commands are written for.
NEWEST_KNOWN: dict[Engine, str] = {
    Engine.VLLM: "0.33.0",
    Engine.SGLANG: "0.5.23",
    Engine.LLAMACPP: "b11434",
}
OLDEST_SUPPORTED: dict[Engine, str] = dict(NEWEST_KNOWN)

TITLES: dict[Engine, str] = {
    Engine.VLLM: "vLLM",
    Engine.SGLANG: "SGLang",
    Engine.LLAMACPP: "llama.cpp",
    Engine.TRTLLM: "TensorRT-LLM",
}

_RELEASE = re.compile(
    r"v?(\d+(?:\.\d+)*)(?:[-.]?(?:a|b|rc|post|dev)\d*)*(?:\+[a-z0-9.]+)?", re.ASCII | re.IGNORECASE
)
#: development builds carry a date and a commit: "0.20.1rc1.dev16+g7a1eb8ac2.d20260930" has 36
MAX_VERSION_LENGTH = 80
_BUILD = re.compile(r"b?(\d+)", re.ASCII)


@lru_cache(maxsize=256)
def release_key(engine: Engine, version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; suffixes (rc, post, +cu) do not count."""
    pattern = _BUILD if engine is Engine.LLAMACPP else _RELEASE
    match = pattern.fullmatch(version.strip())
    if match is None or len(version) > MAX_VERSION_LENGTH:
        shape = "b11434" if engine is Engine.LLAMACPP else "0.33.0"
        shown = version[:MAX_VERSION_LENGTH]
        raise InputError(f"{shown!r} is not a version of {TITLES[engine]}: write it like {shape}.")
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def resolve_version(engine: Engine, version: str | None) -> tuple[str, tuple[Warning_, ...]]:
    """Return the version whose form is written, and what to know about the difference.

    Raises
    ------
    MissingDataError
        The engine has no adapter, or the version is older than supported.
    InputError
        The text is no version of that engine.
    """
    if engine not in NEWEST_KNOWN:
        known = ", ".join(sorted(e.value for e in NEWEST_KNOWN))
        raise MissingDataError(
            f"no launch command can be written for {TITLES[engine]} yet: "
            f"choose --engine out of {known}."
        )
    newest = NEWEST_KNOWN[engine]
    if version is None:
        return newest, ()
    key = release_key(engine, version)
    if key < release_key(engine, OLDEST_SUPPORTED[engine]):
        raise MissingDataError(
            f"{TITLES[engine]} {version} is older than {OLDEST_SUPPORTED[engine]}, the oldest "
            f"version that commands are written for: upgrade it, or leave the version unset to see "
            f"the form of {newest}."
        )
    if key > release_key(engine, newest):
        message = (
            f"{TITLES[engine]} {version} is newer than {newest}, the newest version known here: "
            f"the command is in the form of {newest}"
        )
        return newest, (Warning_(code="engine-newer-than-known", message=message),)
    return newest, ()
