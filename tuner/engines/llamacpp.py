"""llama.cpp b11434: ``llama-server``, and requests whose answers hold its timings.

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
#: Short spellings for the options that people know by them.
SHORT_FLAGS = {"spec-draft-model": "-md", "spec-draft-hf": "-hfd"}
#: tools/server/server-common.cpp and server-context.cpp, b11434. Every step gives one token more
#: than it accepts.
ACCEPTANCE_APPEARS = (
    'prompts.jsonl holds lines of {"messages": [{"role": "user", "content": "…"}]}; each answer '
    "prints its timings: draft_n drafted and draft_n_accepted accepted tokens (absent without "
    "drafts), τ = predicted_n ÷ (predicted_n - draft_n_accepted); the server logs the same as "
    "'draft acceptance', and counts it at /metrics when started with --metrics"
)
#: One request of the client: sends a body, keeps the timings of the answer.
_ASK = (
    f'ask() {{ curl -s {ADDRESS}/v1/chat/completions -d "$1" | '
    'grep -o "\\"timings\\":{[^}]*}"; }'
)


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
    return argv, _file_warnings(operand(request.target), _quant(request.dtype))


def speculative(
    request: EmitRequest,
) -> tuple[list[str], dict[str, object], dict[str, str], tuple[Warning_, ...]]:
    """Return the speculative arguments, the mapping behind them, files, and warnings."""
    method = request.config.method
    length = request.config.num_speculative_tokens
    warnings: tuple[Warning_, ...] = ()
    config: dict[str, object] = {"spec-type": TYPE_WORDS[method]}
    if method is Method.NGRAM:
        config["spec-ngram-simple-size-n"] = request.ngram_max
        config["spec-ngram-simple-size-m"] = length
    else:
        name = drafter_name(request)
        if name is not None:
            drafter = request.config.drafter
            key, value = _drafter_words(name, drafter.dtype if drafter else "")
            config[key] = value
            warnings += _file_warnings(name, None)
        # The defaults of these have changed between builds, so they are always spelled out.
        config["spec-draft-n-max"] = length
        config["spec-draft-n-min"] = 0
        config["spec-draft-p-min"] = 0.0
        config |= _verify_rule(request)
    argv = [
        word
        for key, value in config.items()
        for word in option(SHORT_FLAGS.get(key, f"--{key}"), value)
    ]
    if length_rows(request)[0]:
        message = "llama.cpp keeps one K at every load; the schedule is left out"
        warnings += (warning("schedule-ignored-by-engine", message),)
    return argv, config, {}, warnings


def bench_argv(request: EmitRequest) -> list[str]:
    """Return a loop over prompts of the user's own, as many at once as the batch.

    The lines of the file are JSON objects, so their settings are put in before the last brace.
    """
    batch = request.max_batch or 1
    settings = json.dumps({"max_tokens": request.output_tokens, "temperature": request.temperature})
    tail = settings.removeprefix("{").replace('"', '\\"')
    bodies = f'sed "s/}}[[:space:]]*\\$/, {tail}/" prompts.jsonl'
    rounds = (
        'n=0; while IFS= read -r body || [ -n "$body" ]; do ask "$body" & n=$((n + 1)); '
        f"[ $((n % {batch})) -gt 0 ] || wait; done; wait"
    )
    return ["sh", "-c", f"{_ASK}; {bodies} | {{ {rounds}; }}"]


def _model_words(request: EmitRequest) -> list[str]:
    target, quant = operand(request.target), _quant(request.dtype)
    if _is_gguf_repository(target):
        return ["-hf", target if ":" in target or quant is None else f"{target}:{quant}"]
    return ["-m", _file_name(target, quant)]


def _drafter_words(name: str, dtype: str) -> tuple[str, str]:
    """Return the option for a drafter, without dashes, and its value."""
    quant = dtype.removeprefix(GGUF) if dtype.startswith(GGUF) else None
    if _is_gguf_repository(name):
        return "spec-draft-hf", name if ":" in name or quant is None else f"{name}:{quant}"
    return "spec-draft-model", _file_name(name, quant)


def _is_file(name: str) -> bool:
    """Whether a model is named as a file, rather than as ``user/model``."""
    return name.endswith(".gguf") or name.startswith(("/", "./", "../", "~")) or "/" not in name


def _is_gguf_repository(name: str) -> bool:
    """Whether a repository says that it holds GGUF files; ``-hf`` loads no other."""
    return not _is_file(name) and "gguf" in name.lower()


def _file_name(name: str, quant: str | None) -> str:
    """Return the file itself, or the usual name of a model's GGUF file."""
    if _is_file(name):
        return name
    base = name.rsplit("/", 1)[-1]
    return operand(f"{base}-{quant}.gguf" if quant else f"{base}.gguf")


def _quant(dtype: str | None) -> str | None:
    if dtype is None:
        return None
    if dtype.startswith(GGUF):
        return dtype.removeprefix(GGUF)
    if dtype in FLOAT_QUANTS:
        return FLOAT_QUANTS[dtype]
    raise InputError(
        f"llama.cpp runs GGUF weights; dtype {dtype} is none: write it like gguf:Q4_K_M."
    )


def _file_warnings(name: str, quant: str | None) -> tuple[Warning_, ...]:
    if _is_file(name) or _is_gguf_repository(name):
        return ()
    message = (
        f"{_file_name(name, quant)} stands for {name} as a GGUF file: put its path in, or convert "
        f"the checkpoint with llama.cpp's convert_hf_to_gguf.py"
    )
    return (warning("needs-gguf", message),)


def _verify_rule(request: EmitRequest) -> dict[str, object]:
    """By default the drafter's argmax is kept when the target samples the same token."""
    rule = request.config.verify_rule
    if rule is VerifyRule.RATIO:
        return {"spec-draft-sampling": "probabilistic"}
    if rule in (VerifyRule.BLOCK, VerifyRule.TYPICAL, VerifyRule.RELAXED):
        raise InputError(f"llama.cpp has no {rule.value} verification.")
    return {}
