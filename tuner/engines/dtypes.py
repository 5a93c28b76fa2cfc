"""Weight and cache dtypes of a profile in each engine's spelling."""

from __future__ import annotations

from tuner.engines.versions import TITLES
from tuner.engines.words import warning
from tuner.errors import InputError
from tuner.records.emit import EmitRequest
from tuner.records.methods import Engine
from tuner.records.sources import Warning_

FLOATS = ("bfloat16", "float16", "float32")
GGUF = "gguf:"

#: ``--kv-cache-dtype`` of vLLM 0.33.0 (config/cache.py, CacheDType) and SGLang 0.5.23
#: (arg_groups/fields/model.py); ``--cache-type-k`` of llama.cpp b11434 (common/arg.cpp).
KV_DTYPES: dict[Engine, dict[str, str]] = {
    Engine.VLLM: {
        "bfloat16": "bfloat16",
        "float16": "float16",
        "fp8": "fp8",
        "fp8_e4m3": "fp8_e4m3",
        "fp8_e5m2": "fp8_e5m2",
        "int8": "int8_per_token_head",
        "int4": "int4_per_token_head",
        "nvfp4": "nvfp4",
    },
    Engine.SGLANG: {
        "bfloat16": "bf16",
        "fp8": "fp8_e4m3",
        "fp8_e4m3": "fp8_e4m3",
        "fp8_e5m2": "fp8_e5m2",
        "mxfp8": "mxfp8",
        "nvfp4": "nvfp4",
    },
    Engine.LLAMACPP: {
        "bfloat16": "bf16",
        "float16": "f16",
        "float32": "f32",
        "int8": "q8_0",
        "int4": "q4_0",
        "q8_0": "q8_0",
        "q4_0": "q4_0",
    },
}


def weight_words(request: EmitRequest) -> tuple[list[str], tuple[Warning_, ...]]:
    """Return the options for the weights, of vLLM and SGLang, and what to know about them.

    Nothing is written where the checkpoint already has the dtype: both engines then read it from
    the checkpoint, and naming another method than the one it was quantised with is an error.
    """
    dtype, engine = request.dtype, request.engine
    if dtype is None or dtype == request.native_dtype:
        return [], ()
    if dtype in FLOATS:
        return ["--dtype", dtype], ()
    if dtype == "fp8":
        return ["--quantization", "fp8"], ()
    if dtype.startswith(GGUF):
        if engine is Engine.SGLANG:
            return ["--load-format", "gguf", "--quantization", "gguf"], ()
        raise InputError(
            f"{TITLES[engine]} loads no GGUF weights (dtype {dtype}): serve them with llama.cpp, "
            f"or name a safetensors checkpoint and its dtype."
        )
    message = (
        f"{dtype} weights come with the checkpoint: {request.target} must be one that was "
        f"quantised to {dtype}, and the engine reads the format from it"
    )
    return [], (warning("checkpoint-must-be-quantised", message),)


def kv_word(request: EmitRequest) -> str | None:
    """Return the cache dtype in the engine's spelling; None = leave the engine's default.

    Raises
    ------
    InputError
        The engine has no cache of that dtype.
    """
    dtype = request.kv_dtype
    if dtype is None or dtype == "auto":
        return None
    weights = request.dtype or request.native_dtype
    if request.engine is not Engine.LLAMACPP and dtype == weights and dtype in FLOATS:
        return None
    known = KV_DTYPES[request.engine]
    if dtype not in known:
        names = ", ".join(known)
        raise InputError(
            f"{TITLES[request.engine]} has no KV cache of dtype {dtype}: choose out of {names}."
        )
    return known[dtype]
