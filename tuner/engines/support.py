"""Which engine serves which method, since when, and under which layout."""

from __future__ import annotations

from tuner.engines.versions import TITLES, release_key, resolve_version
from tuner.frozen import dataclass
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Whether an engine serves a method. ``since`` = first release that was seen to have it."""

    ok: bool
    reason: str = ""
    since: str | None = None
    source: str = ""


def _since(version: str | None, source: str) -> Support:
    return Support(ok=True, since=version, source=source)


def _not(reason: str, source: str) -> Support:
    return Support(ok=False, reason=reason, source=source)


_VLLM = "vllm/config/speculative.py, releases 0.8.2 to 0.33.0"
_SGLANG = "sglang/srt/speculative and arg_groups/speculative_hook.py, releases 0.4.2 to 0.5.23"
_LLAMACPP = "llama.cpp common/speculative.cpp and common/arg.cpp, b11434 (older builds not read)"

#: First studied release with the method, in the way the command spells it.
SUPPORT: dict[Engine, dict[Method, Support]] = {
    Engine.VLLM: {
        Method.NONE: _since(None, _VLLM),
        Method.DRAFT_MODEL: _since("0.15.0", _VLLM),
        Method.EAGLE: _since("0.8.5", _VLLM),
        Method.EAGLE2: _not(
            "vLLM verifies chains only (token trees went in 0.21.0); the same head runs as eagle",
            _VLLM,
        ),
        Method.EAGLE3: _since("0.9.1", _VLLM),
        Method.EAGLE3_1: _since(
            "0.9.1", "vllm-project/recipes: EAGLE-3.1 heads under method eagle3"
        ),
        Method.P_EAGLE: _since("0.16.0", f"{_VLLM}: parallel_drafting"),
        Method.MEDUSA: _not("vLLM dropped Medusa heads in 0.33.0", _VLLM),
        Method.MTP: _since("0.11.0", _VLLM),
        Method.DFLASH: _since("0.20.0", _VLLM),
        Method.DSPARK: _since("0.25.0", _VLLM),
        Method.NGRAM: _since("0.8.2", _VLLM),
        Method.SUFFIX: _since("0.11.1", _VLLM),
        Method.LOOKAHEAD: _not("vLLM has no lookahead decoding", _VLLM),
    },
    Engine.SGLANG: {
        Method.NONE: _since(None, _SGLANG),
        Method.DRAFT_MODEL: _since("0.5.2", f"{_SGLANG}: STANDALONE"),
        Method.EAGLE: _since("0.4.2", _SGLANG),
        Method.EAGLE2: _since("0.4.2", f"{_SGLANG}: EAGLE with topk > 1"),
        Method.EAGLE3: _since("0.4.5", _SGLANG),
        Method.EAGLE3_1: _since("0.4.5", "vllm-project/recipes: EAGLE-3.1 heads under EAGLE3"),
        Method.P_EAGLE: _not("SGLang has no option for parallel EAGLE drafting", _SGLANG),
        Method.MEDUSA: _not("SGLang has no Medusa heads", _SGLANG),
        Method.MTP: _since("0.4.2", f"{_SGLANG}: NEXTN, an alias of EAGLE"),
        Method.DFLASH: _since("0.5.11", _SGLANG),
        Method.DSPARK: _since("0.5.16", _SGLANG),
        Method.NGRAM: _since("0.5.3", _SGLANG),
        Method.SUFFIX: _not(
            "SGLang has no suffix decoding; its n-gram trie is method ngram", _SGLANG
        ),
        Method.LOOKAHEAD: _not("SGLang has no lookahead decoding", _SGLANG),
    },
    Engine.LLAMACPP: {
        Method.NONE: _since(None, _LLAMACPP),
        Method.DRAFT_MODEL: _since("b11434", f"{_LLAMACPP}: draft-simple"),
        Method.EAGLE: _not("llama.cpp drafts with EAGLE-3 heads, not with EAGLE-1", _LLAMACPP),
        Method.EAGLE2: _not("llama.cpp verifies chains only", _LLAMACPP),
        Method.EAGLE3: _since("b11434", f"{_LLAMACPP}: draft-eagle3"),
        Method.EAGLE3_1: _not("EAGLE-3.1 heads are not named among llama.cpp's types", _LLAMACPP),
        Method.P_EAGLE: _not("llama.cpp has no parallel EAGLE drafting", _LLAMACPP),
        Method.MEDUSA: _not("llama.cpp has no Medusa heads", _LLAMACPP),
        Method.MTP: _since("b11434", f"{_LLAMACPP}: draft-mtp"),
        Method.DFLASH: _since("b11434", f"{_LLAMACPP}: draft-dflash"),
        Method.DSPARK: _since("b11434", f"{_LLAMACPP}: draft-dspark"),
        Method.NGRAM: _since("b11434", f"{_LLAMACPP}: ngram-simple"),
        Method.SUFFIX: _not(
            "llama.cpp has no suffix decoding; its lookups are method ngram", _LLAMACPP
        ),
        Method.LOOKAHEAD: _not("llama-server has no lookahead decoding", _LLAMACPP),
    },
}

#: Engines and methods that can verify a tree.
TREE_METHODS: dict[Engine, frozenset[Method]] = {
    Engine.SGLANG: frozenset(
        {
            Method.EAGLE,
            Method.EAGLE2,
            Method.EAGLE3,
            Method.EAGLE3_1,
            Method.MTP,
            Method.DRAFT_MODEL,
        }
    ),
}


def serves(
    engine: Engine, version: str | None, method: Method, *, parallel: Parallel | None = None
) -> Support:
    """Say whether the engine serves the method, without raising.

    ``version`` None = the newest known; a version that no command can be written for is a refusal.
    """
    if engine not in SUPPORT:
        return Support(
            ok=False, reason=f"no launch command can be written for {TITLES[engine]} yet"
        )
    support = SUPPORT[engine][method]
    if not support.ok:
        return support
    form, _ = resolve_version(engine, version)
    if support.since is not None and release_key(engine, form) < release_key(engine, support.since):
        reason = f"{TITLES[engine]} serves {method.value} since {support.since}, not in {form}"
        return Support(ok=False, reason=reason, since=support.since, source=support.source)
    refusal = _layout_refusal(engine, method, parallel) if parallel else ""
    if refusal:
        return Support(ok=False, reason=refusal, since=support.since, source=support.source)
    return support


def serves_trees(engine: Engine, method: Method) -> bool:
    """Whether the engine verifies a draft tree of this method (others verify chains)."""
    return method in TREE_METHODS.get(engine, frozenset())


def _layout_refusal(engine: Engine, method: Method, parallel: Parallel) -> str:
    """Layouts that SGLang 0.5.23 rejects itself (arg_groups/speculative_hook.py)."""
    if (
        engine is Engine.SGLANG
        and parallel.pipeline > 1
        and method in (Method.DFLASH, Method.DSPARK)
    ):
        return f"SGLang serves {method.value} without pipeline parallelism only"
    return ""
