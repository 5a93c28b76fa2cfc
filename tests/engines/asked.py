"""Requests for commands, and options read back from them."""

from __future__ import annotations

from typing import Any

from tuner.records.config import SpecConfig
from tuner.records.decision import BatchRow
from tuner.records.emit import EmitRequest
from tuner.records.methods import DRAFT_KIND, DraftKind, Engine, Method
from tuner.records.model import Drafter

ENGINES = [Engine.VLLM, Engine.SGLANG, Engine.LLAMACPP]


def config_of(method: Method, length: int = 4, **more: Any) -> SpecConfig:
    needs_model = DRAFT_KIND[method] not in (DraftKind.LOOKUP, DraftKind.NONE)
    built_in = method is Method.MTP
    name = "org/drafter" if needs_model and not built_in else None
    return SpecConfig(
        method=method,
        drafter=Drafter(path_or_id=name, method=method),
        num_speculative_tokens=length,
        **more,
    )


def request_of(engine: Engine, config: SpecConfig, **more: Any) -> EmitRequest:
    return EmitRequest(engine=engine, target="org/target", config=config, **more)


def row(start: int, end: int, length: int, method: Method = Method.EAGLE3) -> BatchRow:
    return BatchRow(
        start=start,
        end=end,
        method=method if length else Method.NONE,
        num_speculative_tokens=length,
        speedup=1.0,
    )


def flags_of(argv: tuple[str, ...]) -> dict[str, str | None]:
    """Read options back; every option used here has one value or none."""
    words = list(argv)
    found: dict[str, str | None] = {}
    for word, following in zip(words, [*words[1:], "-"], strict=True):
        if word.startswith("-"):
            found[word] = None if following.startswith("-") else following
    return found
