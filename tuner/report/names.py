"""Methods as a table, a heading and a sentence call them."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.engines import TITLES
from tuner.records.config import Prediction, SpecConfig
from tuner.records.methods import METHOD_TITLES, Engine, Method

_COLUMN_NAMES = {Method.NONE: "plain", Method.DRAFT_MODEL: "draft"}


def engine_titles(names: Sequence[str]) -> str:
    """Return engines as they spell themselves: "vLLM, SGLang"."""
    return ", ".join(TITLES[Engine(name)] for name in names)


def column_name(method: Method) -> str:
    """Return the short spelling for a table: the public one, "plain" and "draft"."""
    return _COLUMN_NAMES.get(method, method.value)


def setting_text(config: SpecConfig) -> str:
    """Return "K 5", "tree 5/4/8", or nothing for plain decoding."""
    if config.method is Method.NONE:
        return ""
    return f"tree {config.tree}" if config.tree else f"K {config.num_speculative_tokens}"


def config_text(config: SpecConfig) -> str:
    """Return "EAGLE-3 at K 5" for use inside a sentence."""
    setting = setting_text(config)
    title = METHOD_TITLES[config.method]
    return f"{title} at {setting}" if setting else title


def drafter_text(config: SpecConfig) -> str:
    """Return the drafter's name, or nothing where the method has none of its own."""
    return (config.drafter.path_or_id or "") if config.drafter else ""


def best_drafting(configs: tuple[Prediction, ...]) -> Prediction | None:
    """Return the first configuration that drafts; configurations come best first."""
    return next((item for item in configs if item.config.method is not Method.NONE), None)
