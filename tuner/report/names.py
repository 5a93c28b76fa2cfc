"""Methods as a table, a heading and a sentence call them."""

from __future__ import annotations

from tuner.records.config import Prediction, SpecConfig
from tuner.records.methods import Method

METHOD_TITLES: dict[Method, str] = {
    Method.NONE: "plain decoding",
    Method.DRAFT_MODEL: "draft model",
    Method.EAGLE: "EAGLE",
    Method.EAGLE2: "EAGLE-2",
    Method.EAGLE3: "EAGLE-3",
    Method.EAGLE3_1: "EAGLE-3.1",
    Method.P_EAGLE: "P-EAGLE",
    Method.MEDUSA: "Medusa",
    Method.MTP: "MTP",
    Method.DFLASH: "DFlash",
    Method.DSPARK: "DSpark",
    Method.NGRAM: "n-gram lookup",
    Method.SUFFIX: "suffix decoding",
    Method.LOOKAHEAD: "lookahead decoding",
}

_COLUMN_NAMES = {Method.NONE: "plain", Method.DRAFT_MODEL: "draft"}


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
