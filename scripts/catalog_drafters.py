"""Turn data/drafters.csv and data/draft_families.csv into rows of the drafters table."""

from __future__ import annotations

import re

from catalog_text import in_our_words

from tuner.catalog.names import base_key

Row = dict[str, object]

COLUMNS = [
    "base", "target", "method", "path_or_id", "params", "n_layers", "vocab_size", "trained_by",
    "engines", "engines_basis", "k", "steps", "topk", "draft_tokens", "settings_source",
    "trained_depth", "max_context", "acceptance_length", "acceptance_conditions", "licence",
    "not_offered", "source", "grade", "confidence", "note",
]  # fmt: skip

#: spellings of data/drafters.csv → method of the product
METHODS = {"mtp_assistant": "mtp", "dflash2": "dflash"}

#: what the product does not propose, and why
NOT_OFFERED = {
    "mlp_speculator": "MLP speculators were removed from current vLLM",
    "dfly": "served by the authors' own fork only",
    "jetspec": "served by TensorRT-Edge-LLM only",
    "eagle4": "needs forks of the engines",
}

ENGINES = ("vllm", "sglang", "trtllm", "llamacpp")
BUILT_IN = ("(built into target)", "(fused in checkpoint)")


def build(
    rows: list[dict[str, str]], engines: list[dict[str, str]], limits: list[dict[str, str]]
) -> list[Row]:
    """Return one row for each published drafter, in file order.

    ``engines`` adds engines seen to run a pair, ``limits`` the context a drafter was trained on.
    """
    for extra in engines:
        for row in rows:
            pair = (row["target_model"], row["draft_model"])
            if pair == (extra["target_model"], extra["draft_model"]):
                row["engines"] += f";{extra['engine']}"
                row["engines_basis"] += f"; {extra['engine']}: {extra['source_ref']}"
    contexts = {row["draft_model"]: row for row in limits}
    return [_limited(drafter_row(row), contexts) for row in rows]


def _limited(row: Row, contexts: dict[str, dict[str, str]]) -> Row:
    limit = contexts.get(str(row["path_or_id"]))
    if limit is None:
        return row
    remark = f"trained on contexts up to {limit['max_context']} ({limit['source_ref']})"
    note = "; ".join(str(text) for text in (row["note"], remark) if text)
    return {**row, "max_context": int(limit["max_context"]), "note": note}


def families(rows: list[dict[str, str]]) -> list[list[object]]:
    """Return what each family of models with one tokenizer rests on."""
    return [
        [row["engines"].split(";"), row["grade"], row["source_ref"], row["notes"] or None]
        for row in rows
    ]


def small_models(rows: list[dict[str, str]], ids: list[str]) -> dict[str, list[list[object]]]:
    """Return for each target the models that could draft for it, with the place of the family."""
    found: dict[str, list[list[object]]] = {}
    for place, row in enumerate(rows):
        for target in ids:
            if re.search(row["targets"], target):
                drafts = [draft for draft in row["drafts"].split(";") if draft != target]
                found.setdefault(target, []).extend([draft, place] for draft in drafts)
    return found


def drafter_row(row: dict[str, str]) -> Row:
    """Return the table row of one drafter."""
    target = re.sub(r" \(.*\)$", "", row["target_model"])
    draft_id = re.sub(r" \(ModelScope\)$", "", row["draft_model"])
    engines = [name for name in row["engines"].split(";") if name in ENGINES]
    steps, topk = _integer(row["rec_steps"]), _integer(row["rec_topk"])
    return {
        "base": base_key(target),
        "target": target,
        "method": METHODS.get(row["method"], row["method"]),
        "path_or_id": None if draft_id in BUILT_IN else draft_id,
        "params": round(float(row["draft_params_b"]) * 1e9) if row["draft_params_b"] else None,
        "n_layers": _integer(row["draft_layers"]),
        "vocab_size": _integer(row["draft_vocab_size"]),
        "trained_by": row["trained_by"] if row["trained_by"] != "no" else None,
        "engines": engines,
        "engines_basis": in_our_words(row["engines_basis"]),
        "k": _integer(row["rec_num_spec_tokens"]),
        "steps": steps,
        "topk": topk,
        "draft_tokens": _integer(row["rec_draft_tokens"]),
        "settings_source": in_our_words(row["rec_source"]),
        "trained_depth": _trained_depth(row),
        "max_context": _max_context(row["notes"]),
        "acceptance_length": float(row["acceptance_length"]) if row["acceptance_length"] else None,
        "acceptance_conditions": in_our_words(row["acceptance_conditions"]),
        "licence": row["licence"] or None,
        "not_offered": _not_offered(row, engines),
        "source": in_our_words(row["source_ref"]),
        "grade": {"high": "reported", "medium": "reported", "low": "assumed"}[row["confidence"]],
        "confidence": row["confidence"],
        "note": in_our_words(row["notes"]),
    }


def _not_offered(row: dict[str, str], engines: list[str]) -> str | None:
    if row["method"] in NOT_OFFERED:
        return NOT_OFFERED[row["method"]]
    if "exact repo id not read" in row["draft_model"]:
        return "the repository's exact id is not known"
    if "heterogeneous vocab" in row["notes"]:
        return (
            "its tokenizer is not the target's; only vLLM pairs two (use_heterogeneous_vocab, with "
            "drafts taken greedily)"
        )
    if "serving path not verified" in row["engines_basis"]:
        return "its serving path in a released engine was not verified"
    if not engines:
        return (
            "no released engine is known to serve it"
            if not row["engines"]
            else (f"served by {row['engines']} only")
        )
    return None


def _trained_depth(row: dict[str, str]) -> int | None:
    name, k = row["draft_model"], _integer(row["rec_num_spec_tokens"])
    if row["method"] in ("dflash", "dflash2", "dspark", "dfly"):
        if block := re.search(r"block size (\d+)|block (\d+)", row["notes"] + row["rec_source"]):
            return int(block.group(1) or block.group(2)) - 1
        return k
    if ttt := re.search(r"ttt(\d+)", name, re.IGNORECASE):
        return int(ttt.group(1))
    if "only usable for ONE" in row["notes"]:
        return 1
    if row["method"] == "mtp":
        return _integer(row["draft_layers"])
    return None


def _max_context(notes: str) -> int | None:
    found = re.search(r"max_model_len (\d+)|card: context (\d+)", notes)
    return int(found.group(1) or found.group(2)) if found else None


def _integer(text: str) -> int | None:
    found = re.match(r"\d+", text)
    return int(found.group()) if found else None
