"""Find a name among known ones: exactly, whatever the case, or by an ending that fits one only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: a repository of GGUF files holds many; the most common one is assumed
ASSUMED_GGUF = "gguf:Q4_K_M"

#: endings of checkpoints that hold the same model in another number format, and that format
_VARIANTS = (
    (r"[-_.](fp8[-_](dynamic|block|kv|static[\w-]*)|fp8)$", "fp8"),
    (r"[-_.](nvfp4|fp4)$", "nvfp4"),
    (r"[-_.]mxfp4$", "mxfp4"),
    (r"[-_.]awq([-_.]?(int4|4bit))?$", "awq"),
    (r"[-_.]gptq([-_.]?(int4|int8|4bit|8bit))?$", "gptq"),
    (r"[-_.](quantized\.)?w4a16$", "gptq"),
    (r"[-_.](quantized\.)?w8a8$", "int8"),
    (r"[-_.]int8$", "int8"),
    (r"[-_.]int4$", "awq"),
    (r"[-_.](bf16|bfloat16)$", "bfloat16"),
    (r"([-_.]mtp)?[-_.]gguf$", ASSUMED_GGUF),
)


def tail(name: str) -> str:
    """Return the part of an id after its last slash, in lower case."""
    return name.rstrip("/").rsplit("/", 1)[-1].casefold()


def split_variant(name: str) -> tuple[str, str | None]:
    """Split ``org/Model-FP8`` into the base name and the number format that its ending states."""
    import re  # patterns are compiled only for names that are not known as they stand

    for pattern, dtype in _VARIANTS:
        base = re.sub(pattern, "", name, flags=re.IGNORECASE)
        if base and base != name:
            return base, dtype
    return name, None


def base_key(name: str) -> str:
    """Return one key for a model and its quantised copies, whoever published them."""
    return tail(split_variant(name)[0]).removeprefix("meta-")


def match(name: str, known: Mapping[str, object]) -> str | None:
    """Return the known id that ``name`` means, or None.

    An id fits when it is equal, equal up to case, or ends in ``/name``; an ending that fits
    several ids fits none.
    """
    if name in known:
        return name
    wanted = name.casefold()
    same = [key for key in known if key.casefold() == wanted]
    if same:
        return same[0]
    if "/" in name:
        return None
    ending = [key for key in known if tail(key) == wanted]
    return ending[0] if len(ending) == 1 else None


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known ids that look most like ``name``, best first."""
    import difflib

    by_tail: dict[str, str] = {}
    for key in known:
        by_tail.setdefault(tail(key), key)
    close = difflib.get_close_matches(tail(name), by_tail, n=count, cutoff=0.5)
    return [by_tail[key] for key in close]


def quoted(name: str) -> str:
    """Return a name in quotes for a message, a very long one cut."""
    return repr(name if len(name) <= 80 else f"{name[:79]}…")
