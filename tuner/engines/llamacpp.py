"""llama.cpp b11434: ``llama-server``, and one request that returns its timings.

Options as in common/arg.cpp and common/speculative.cpp of build 11434.
"""

from __future__ import annotations

import json

from tuner.engines.dtypes import GGUF, kv_word
from tuner.engines.schedules import length_rows
from tuner.engines.words import drafter_name, operand, option, warning
from tuner.errors import InputError
from tuner.records.emit import EmitRequest
from tuner.records.methods import Method, VerifyRule
from tuner.records.sources import Warning_

TYPE_WORDS: dict[Method, str] = {
    Method.DRAFT_MODEL: "draft-simple",
    Method.EAGLE3: "draft-eagle3",
    Method.MTP: "draft-mtp",
    Method.DFLASH: "draft-dflash",
    Method.DSPARK: "draft-dspark",
    Method.NGRAM: "ngram-simple",
}
#: Names of float checkpoints among GGUF files.
FLOAT_QUANTS = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
ADDRESS = "http://127.0.0.1:8080"


def server_argv(request: EmitRequest) -> tuple[list[str], tuple[Warning_, ...]]:
    """Return the server's arguments without speculation."""
    slots = request.max_batch
    context = request.max_context_tokens
    argv = ["llama-server", *_model_words(request)]
    # -c is shared by all slots: each of the -np sequences gets its part.
    argv += option("-c", context * (slots or 1) if context is not None else None)
    argv += option("-np", slots)
    argv += ["--split-mode", "row"] if request.parallel.tensor > 1 else []
    cache = kv_word(request)
    argv += option("-ctk", cache) + option("-ctv", cache)
    return argv, _model_warnings(request)


def speculative(
    request: EmitRequest,
) -> tuple[list[str], dict[str, object], dict[str, str], tuple[Warning_, ...]]:
    """Return the speculative arguments, the mapping behind them, files, and warnings."""
    method = request.config.method
    length = request.config.num_speculative_tokens
    config: dict[str, object] = {"--spec-type": TYPE_WORDS[method]}
    if method is Method.NGRAM:
        config["--spec-ngram-simple-size-n"] = request.ngram_max
        config["--spec-ngram-simple-size-m"] = length
    else:
        name = drafter_name(request)
        if name is not None:
            config["-md" if is_file(name) else "-hfd"] = name
        # The defaults of these have changed between builds, so they are always spelled out.
        config["--spec-draft-n-max"] = length
        config["--spec-draft-n-min"] = 0
        config["--spec-draft-p-min"] = 0.0
        config |= _verify_rule(request)
    argv = [word for key, value in config.items() for word in option(key, value)]
    rows, _ = length_rows(request)
    message = "llama.cpp keeps one K at every load; the schedule is left out"
    warnings = (warning("schedule-ignored-by-engine", message),) if rows else ()
    return argv, config, {}, warnings


def bench_argv(request: EmitRequest) -> list[str]:
    """Return one request; the answer's ``timings`` hold the speed and the accepted drafts."""
    body = {
        "prompt": "put a prompt of your own here",
        "n_predict": request.output_tokens,
        "temperature": request.temperature,
    }
    return ["curl", "-s", f"{ADDRESS}/completion", "-d", json.dumps(body)]


def is_file(name: str) -> bool:
    """Whether a model is a file rather than a repository (``user/model``, perhaps ``:quant``)."""
    return (
        name.endswith(".gguf") or name.startswith(("/", "./", "../", "~")) or name.count("/") != 1
    )


def _model_words(request: EmitRequest) -> list[str]:
    target = operand(request.target)
    if is_file(target):
        return ["-m", target]
    quant = _quant(request)
    return ["-hf", target if ":" in target or quant is None else f"{target}:{quant}"]


def _quant(request: EmitRequest) -> str | None:
    dtype = request.dtype
    if dtype is None:
        return None
    if dtype.startswith(GGUF):
        return dtype.removeprefix(GGUF)
    if dtype in FLOAT_QUANTS:
        return FLOAT_QUANTS[dtype]
    raise InputError(
        f"llama.cpp runs GGUF weights; dtype {dtype} is none: write it like gguf:Q4_K_M."
    )


def _model_warnings(request: EmitRequest) -> tuple[Warning_, ...]:
    target = operand(request.target)
    if is_file(target) or "gguf" in target.lower():
        return ()
    message = f"{target} must be a repository of GGUF files; if it is not, give a file with -m"
    return (warning("needs-gguf", message),)


def _verify_rule(request: EmitRequest) -> dict[str, object]:
    """By default the drafter's argmax is kept when the target samples the same token."""
    rule = request.config.verify_rule
    if rule is VerifyRule.RATIO:
        return {"--spec-draft-sampling": "probabilistic"}
    if rule in (VerifyRule.BLOCK, VerifyRule.TYPICAL, VerifyRule.RELAXED):
        raise InputError(f"llama.cpp has no {rule.value} verification.")
    return {}
