"""Spellings that a profile may use for methods, engines, tasks and number formats."""

from __future__ import annotations

from typing import Any

from tuner.profile.kinds import Choice, Text
from tuner.records.methods import Engine, Method, Objective, Task

#: other names in use: SGLang's and vLLM's method names, papers, and habits
_METHOD_ALIASES = {
    "nextn": Method.MTP,
    "multi_token_prediction": Method.MTP,
    "vanilla": Method.DRAFT_MODEL,
    "draft": Method.DRAFT_MODEL,
    "standalone": Method.DRAFT_MODEL,
    "small_model": Method.DRAFT_MODEL,
    "eagle_1": Method.EAGLE,
    "eagle1": Method.EAGLE,
    "eagle_2": Method.EAGLE2,
    "eagle_3": Method.EAGLE3,
    "eagle_3.1": Method.EAGLE3_1,
    "eagle3_1": Method.EAGLE3_1,
    "peagle": Method.P_EAGLE,
    "parallel_eagle": Method.P_EAGLE,
    "d_flash": Method.DFLASH,
    "d_spark": Method.DSPARK,
    "n_gram": Method.NGRAM,
    "prompt_lookup": Method.NGRAM,
    "suffix_decoding": Method.SUFFIX,
    "lookahead_decoding": Method.LOOKAHEAD,
    "plain": Method.NONE,
}
_ENGINE_ALIASES = {
    "llama.cpp": Engine.LLAMACPP,
    "llama_cpp": Engine.LLAMACPP,
    "tensorrt_llm": Engine.TRTLLM,
    "trt_llm": Engine.TRTLLM,
}
_TASK_ALIASES = {
    "summarisation": Task.SUMMARIZATION,
    "coding": Task.CODE,
    "json": Task.STRUCTURED,
}


def _choice(name: str, members: Any, aliases: dict[str, Any]) -> Choice:
    """Accept each spelling in lower and upper case, with underscores or hyphens."""
    words: dict[str, Any] = {str(member.value): member for member in members}
    for spelling, value in [*words.items(), *aliases.items()]:
        for variant in (spelling, spelling.replace("_", "-"), spelling.replace("-", "_")):
            words.setdefault(variant, value)
            words.setdefault(variant.upper(), value)
    return Choice(name, words, tuple(str(member.value) for member in members))


METHOD = _choice("method", Method, _METHOD_ALIASES)
ENGINE = _choice("engine", Engine, _ENGINE_ALIASES)
TASK = _choice("task", Task, _TASK_ALIASES)
OBJECTIVE = _choice("objective", Objective, {})
CHOICES = (METHOD, ENGINE, TASK, OBJECTIVE)

#: methods that load a drafter, so that one of your own can be named
OWN_DRAFTER_METHODS = tuple(
    method
    for method in Method
    if method not in (Method.NONE, Method.NGRAM, Method.SUFFIX, Method.LOOKAHEAD)
)

_GGUF = r"gguf:(UD-)?(B?F16|F32|T?I?Q[1-8]_[A-Za-z0-9_]+|MXFP4(_MOE)?)"
_DTYPES = (
    "float32|bfloat16|float16|fp32|bf16|fp16|fp8|fp8_e4m3|fp8_e5m2|int8|w8a8|int4|w4a16|"
    "nvfp4|mxfp4|fp4|awq|gptq"
)
DTYPE = Text(
    says="float32, bfloat16, float16, fp8, int8, nvfp4, mxfp4, awq, gptq or gguf:TYPE such as "
    "gguf:Q4_K_M",
    pattern=rf"^({_DTYPES}|{_GGUF})$",
    max_length=40,
)
KV_DTYPE = Text(
    says="bfloat16, float16, float32, fp8, fp8_e4m3, fp8_e5m2, int8, q8_0, q5_1, q5_0, q4_1 "
    "or q4_0",
    pattern=r"^(bfloat16|float16|float32|bf16|fp16|fp32|fp8|fp8_e4m3|fp8_e5m2|int8"
    r"|q8_0|q5_1|q5_0|q4_1|q4_0)$",
    max_length=40,
)
