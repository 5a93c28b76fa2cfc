"""The level of acceptance before anything is observed: linear in what the query states."""

from __future__ import annotations

import math

from tuner.records.acceptance import AcceptanceQuery, TargetClass
from tuner.records.methods import DRAFT_KIND, DraftKind, Method

#: Size to which the size term is relative (only its slope is fitted).
REFERENCE_PARAMS = 30e9
#: Draft model ÷ target to which its size term is relative (only its slope is fitted).
REFERENCE_DRAFT_SHARE = 0.05
#: Active parameters above which a mixture of experts counts as large (assumed; only a grouping).
LARGE_ACTIVE_PARAMS = 16e9
#: Context that public EAGLE heads were trained on where the drafter does not say: 2048 tokens
#: (their configs' max_position_embeddings; Arulmurugan's factorial, Jella et al.).
HEAD_CONTEXT = 2048.0
#: What stands for the engine of papers: their own code on top of transformers, and whatever else
#: the product does not configure. The same head accepts more there than in a served engine
#: (prompts, precision, trees built by hand).
RESEARCH = "research"
#: Methods whose heads are trained on short text unless stated.
SHORT_CONTEXT_METHODS = frozenset({Method.EAGLE, Method.EAGLE2, Method.EAGLE3, Method.MEDUSA})


def target_kind(target: TargetClass) -> str:
    """Return "dense", "moe-small" or "moe-large" (by active parameters)."""
    if not target.is_moe:
        return "dense"
    return "moe-small" if target.active_params < LARGE_ACTIVE_PARAMS else "moe-large"


def pooled_method(method: Method) -> Method:
    """Return the method whose measurements a method shares.

    Suffix decoding copies from the text as n-gram lookup does; its own offset comes on top.
    """
    return Method.NGRAM if method is Method.SUFFIX else method


def beyond_training(query: AcceptanceQuery) -> float:
    """Return ln(context ÷ context that the drafter was trained on), 0 inside it."""
    limit = float(query.max_context) if query.max_context else None
    if limit is None and query.method in SHORT_CONTEXT_METHODS:
        limit = HEAD_CONTEXT
    if limit is None or query.context_tokens <= limit:
        return 0.0
    return math.log(query.context_tokens / limit)


def drafter_key(drafter: str | None, method: Method, target_id: str | None) -> str:
    """Return the name under which a drafter's own offset is kept.

    A repository path names one drafter; anything else (built-in heads, "EAGLE head") is told apart
    by method and target.
    """
    return drafter if drafter and "/" in drafter else f"{method}@{target_id}"


def recipe_key(drafter: str | None, method: Method) -> str | None:
    """Return the name under which drafters trained the same way share an offset.

    Repositories are told apart by owner, heads trained with SpecForge go together whoever owns
    them, and a name without an owner ("dflash block-8") stands for itself on every target.
    """
    if not drafter:
        return None
    recipe = "SpecForge" if "specforge" in drafter.lower() else drafter.partition("/")[0]
    return f"{method}@{recipe}"


def design(query: AcceptanceQuery) -> tuple[tuple[str, float], ...]:
    """Return the terms of the level that apply to a query, with their values.

    Temperature is not among them: it acts through ``tuner.acceptance.temperature``.
    """
    kind = target_kind(query.target)
    pooled = pooled_method(query.method)
    terms = [
        ("base", 1.0),
        (f"method:{pooled}", 1.0),
        (f"kind:{kind}", 1.0),
        (f"{pooled}×{kind}", 1.0),
        (f"task:{query.task}", 1.0),
        (f"{pooled}×{query.task}", 1.0),
    ]
    if pooled is not query.method:
        terms.append((f"method:{query.method}", 1.0))
    engine = RESEARCH if query.engine is None else query.engine.value
    terms.append((f"engine:{engine}", 1.0))
    terms.append((f"{pooled}×engine:{engine}", 1.0))
    if query.target.total_params > 0.0:
        size = math.log(query.target.total_params / REFERENCE_PARAMS)
        terms.append(("size", size))
        if query.method is Method.DRAFT_MODEL and query.draft_params:
            share = query.draft_params / query.target.total_params
            terms.append(("draft share", math.log(share / REFERENCE_DRAFT_SHARE)))
    context = beyond_training(query)
    if context > 0.0:
        terms.append(("context", context))
    return tuple(terms)


def group_of(term: str) -> str:
    """Return the group of a term of ``design``, which shares a spread."""
    if "×" not in term:
        return term.partition(":")[0]
    last = term.rpartition("×")[2]
    if last.startswith("engine:"):
        return "method×engine"
    return "method×kind" if last.startswith(("dense", "moe")) else "method×task"


def is_lookup(method: Method) -> bool:
    """Whether drafts are copied from text, so that a step may have none."""
    return DRAFT_KIND[method] is DraftKind.LOOKUP
