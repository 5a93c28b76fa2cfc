"""The words of published measurements, mapped to the names of the product."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.cost.dtypes import GGUF_BITS
from tuner.records.methods import Engine, Method, Task

#: spellings of a method that mean one that the product knows
_METHODS: dict[str, Method] = {
    **{method.value: method for method in Method},
    "dflash2": Method.DFLASH,
    "dfly": Method.DFLASH,
    "eagle4": Method.EAGLE3_1,
    "draft_model(distilled)": Method.DRAFT_MODEL,
    "ngram-static": Method.NGRAM,
    "ptd (parallel eagle)": Method.P_EAGLE,
    "medusa2": Method.MEDUSA,
    "eagle (meta production)": Method.EAGLE,
    "dspark-adaptive": Method.DSPARK,
    "mtp-adaptive": Method.MTP,
    "eagle-adaptive": Method.EAGLE3,
}
#: methods whose number of draft tokens is not fixed, whose output is not the target's, or whose
#: drafter is not named: they say nothing about a static choice
_NOT_STATIC = re.compile(r"adaptive|oracle|lossy|unnamed|sampling")

_ENGINES: tuple[tuple[str, Engine], ...] = (
    ("llama.cpp", Engine.LLAMACPP),
    ("llamacpp", Engine.LLAMACPP),
    ("tensorrt", Engine.TRTLLM),
    ("trt", Engine.TRTLLM),
    ("vllm", Engine.VLLM),
    ("sglang", Engine.SGLANG),
)

#: settings of the reference implementations where a paper or leaderboard says "default":
#: EAGLE-1 ``choices.py`` (26 nodes, 5 levels), EAGLE-2 and EAGLE-3 (60 nodes, topk 10), Medusa
#: ``mc_sim_7b_63`` (64 nodes, 4 levels); verified tokens count the root
USUAL_TREES: dict[Method, tuple[int, int, int]] = {
    Method.EAGLE: (5, 4, 26),
    Method.EAGLE2: (6, 10, 60),
    Method.EAGLE3: (8, 10, 60),
    Method.MEDUSA: (4, 10, 64),
}
#: prompt lookup drafts 10 tokens, assisted generation starts with 5, lookahead's window gives
#: n-grams of 5 (their repositories' defaults)
USUAL_LENGTHS: dict[Method, int] = {
    Method.NGRAM: 10,
    Method.DRAFT_MODEL: 5,
    Method.LOOKAHEAD: 4,
}

#: first match wins; a name that mixes several kinds of text stands in ``_MIXES``
_TASKS: tuple[tuple[str, Task], ...] = (
    (r"gsm8k|math|aime|pythagoras", Task.MATH),
    (
        r"humaneval|mbpp|livecodebench|cod(e|ing)\b|code_py|code-gen|instructcoder|bash|quicksort"
        r"|swe-bench|dynamic-sonnet code",
        Task.CODE,
    ),
    (r"tool|agentic|function", Task.AGENT),
    (r"extract|json|structured", Task.STRUCTURED),
    (r"cnn|summar|gov_report|xsum|pg19", Task.SUMMARIZATION),
    (r"\brag\b|hotpotqa|qasper|hagrid|financeqa", Task.RAG),
    (r"transl|wmt", Task.TRANSLATION),
    (r"reason|gpqa|thinking|stem\b", Task.REASONING),
    (r"natural-questions|\bqa\b|cmmlu|ceval|mmstar|humanities", Task.QA),
    (r"writing|creative|story|narrative|prose|roleplay|joke|trip plan|lm1b", Task.CREATIVE),
    (
        r"mt-bench|alpaca|sharegpt|chat|dialog|magpie|wildchat|multi-turn|persona|class zh"
        r"|long-context set",
        Task.CHAT,
    ),
)
#: averages over several data sets; shares are equal parts of the classes named by the source
_MIXES: tuple[tuple[str, tuple[Task, ...]], ...] = (
    (
        r"mt-bench/humaneval/gsm8k|all 12 prompts|12 prompts|12-prompt suite|mixed workload"
        r"|prose, code",
        (Task.CHAT, Task.CODE, Task.MATH),
    ),
    (r"^mean[4567]?$|range over datasets", (Task.CHAT, Task.CODE, Task.MATH)),
    (
        r"speed-bench( qualitative| throughput| average| 8k.*)?( \(.*)?$|spec-?bench(:overall)?$|"
        r"spec-bench 1000|spec-bench\+mt-bench",
        (Task.CHAT, Task.CODE, Task.MATH, Task.RAG, Task.SUMMARIZATION, Task.QA),
    ),
    (r"25 prompts in 5 classes", (Task.CHAT, Task.CODE, Task.CREATIVE, Task.REASONING)),
    (r"probe\.py overall", (Task.CODE, Task.CREATIVE)),
    (r"mtp-bench|default workload|transition workload", (Task.CHAT, Task.CODE, Task.CREATIVE)),
)
#: input that is random tokens: acceptance says nothing about text
_RANDOM = re.compile(r"random|\b\d+k?/\d+k?\b|isl", re.IGNORECASE)

_DTYPES: tuple[tuple[str, str], ...] = (
    (r"\b(?:ud-)?(iq\d\w*|q\d\w*)", "gguf"),
    (r"nvfp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"fp4", "nvfp4"),
    (r"awq", "awq"),
    (r"gptq|int4|w4a16|4-bit|4bit", "gptq"),
    (r"(?<!fp8 kv)fp8(?! kv)", "fp8"),
    (r"int8|8-bit|8bit", "int8"),
    (r"bf16", "bfloat16"),
    (r"fp16|float16", "float16"),
    (r"fp32|float32", "float32"),
)


_BY_BITS = {"2": "Q2_K", "3": "Q3_K_M", "4": "Q4_K_M", "5": "Q5_K_M", "6": "Q6_K", "8": "Q8_0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuName:
    """Where one hardware name of the measurements leads."""

    accelerator: str | None
    count_hint: int | None
    note: str


def method_of(text: str) -> tuple[Method | None, bool]:
    """Return the product's method, and whether the name stands for a static, lossless setting."""
    name = text.strip().lower()
    static = not _NOT_STATIC.search(name)
    if name in _METHODS:
        return _METHODS[name], static
    bare = re.sub(r"\s*\(.*\)$", "", name)
    return _METHODS.get(bare), static


def engine_of(text: str) -> Engine | None:
    """Return the engine; forks count as the engine that they come from."""
    name = text.lower()
    return next((engine for word, engine in _ENGINES if word in name), None)


def version_of(engine: str, column: str) -> str | None:
    """Return the engine's version from its own column or from the end of the engine's name."""
    if column.strip():
        return column.strip()
    found = re.search(r"\b\d+\.\d+(?:\.\w+)*", engine)
    return found.group() if found else None


def tasks_of(text: str) -> tuple[Task, ...]:
    """Return the classes of text in a data-set name, equal shares; () = not known."""
    name = text.strip().lower()
    if not name:
        return ()
    for pattern, tasks in _MIXES:
        if re.search(pattern, name):
            return tasks
    if name.startswith(("random", "isl")):
        return ()
    return next(((task,) for pattern, task in _TASKS if re.search(pattern, name)), ())


def is_random_text(text: str) -> bool:
    """Return whether the prompts were random tokens."""
    name = text.strip().lower()
    return name.startswith(("random", "isl")) or bool(re.fullmatch(r"\d+k?/\d+k?", name))


def dtypes_of(text: str, model: str) -> tuple[str | None, str | None]:
    """Return the weight and KV types in the profile's spelling, from the column or model name."""
    name = text.lower()
    kv = None
    found = re.search(r"(fp8|q8_0|q4_0|int8)\s*kv", name)
    if found:
        kv = {"fp8": "fp8", "int8": "int8"}.get(found.group(1), "int8")
        name = (name[: found.start()] + name[found.end() :]).strip(" ,")
    for where in (name, model.lower()):
        for pattern, dtype in _DTYPES:
            hit = re.search(pattern, where)
            if hit and not where.endswith("draft"):
                if dtype == "gguf":
                    return f"gguf:{_gguf_type(hit.group(1).upper())}", kv
                return dtype, kv
    return None, kv


def _gguf_type(name: str) -> str:
    """Return llama.cpp's own type; another's mixed type counts as the nearest (assumed)."""
    if name in GGUF_BITS:
        return name
    if name.replace("_K_XL", "_K_M") in GGUF_BITS:
        return name.replace("_K_XL", "_K_M")
    bits = re.search(r"\d", name)
    return _BY_BITS.get(bits.group() if bits else "", "Q4_K_M")


def plain_name(text: str) -> str:
    """Return a model's name without remarks in brackets at its end."""
    return re.sub(r"\s*\((?:assumed|.*assumed|not named.*)\)$", "", text.strip())
