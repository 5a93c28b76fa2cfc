"""Every key of a profile in one table: what it holds, its default, and why.

The validator, ``specdec-tune schema`` and the list of defaults are all made from this table.
Limits are generous: they catch slips of unit and of type, not unusual setups.
"""

from __future__ import annotations

from typing import Any

from tuner.profile.fields import Field, NameOr, Section
from tuner.profile.kinds import ByMethod, Date, Flag, ListOf, Mix, Number, Text, ValueKind
from tuner.profile.words import (
    DTYPE,
    ENGINE,
    KV_DTYPE,
    METHOD,
    OBJECTIVE,
    TASK,
)
from tuner.records.workload import MOST_TEMPERATURE

MODEL_NAME = Text("a model id, {config: FILE}, {gguf: FILE} or {params_b: NUMBER}")
TREE = Text("a tree STEPS/TOPK/DRAFT_TOKENS such as 5/4/8", r"^[0-9]{1,4}/[0-9]{1,4}/[0-9]{1,5}$")
VERSION = Text('a version in quotes such as "0.33.0"', r"^[A-Za-z]*[0-9][A-Za-z0-9.+_-]*$", 40)
PATH = Text("a path")
BATCH = Number(1, 65_536, whole=True)
COUNT = Number(1, 65_536, whole=True)
TOKENS = Number(1, 10_000_000, whole=True)
DRAFT_TOKENS = Number(1, 256, whole=True)
EVENTS = Number(0, 10**15, whole=True)
SHARE = Number(0, 1)
TEMPERATURE = Number(0, MOST_TEMPERATURE)
BILLIONS = Number(0, 100_000, above=True)
MILLISECONDS = Number(0, 10_000_000, above=True)
POSITIVE = Number(0, 10**9, above=True)
KEY_NUMBER = {"pattern": r"^[0-9]*\.?[0-9]+$"}

ELSEWHERE: dict[str, str] = {}


def _section(what: str, **fields: Field) -> Section:
    return Section(fields, what, ELSEWHERE)


def _optional(kind: ValueKind, doc: str, reason: str = "", default: Any = None) -> Field:
    return Field(kind=kind, doc=doc, reason=reason, default=default)


TARGET = _section(
    "a model id or a mapping",
    config=_optional(PATH, "A Hugging Face config.json of the target."),
    gguf=_optional(PATH, "A GGUF file of the target."),
    params_b=_optional(BILLIONS, "All parameters, in billions, where nothing else is known."),
    active_params_b=_optional(
        BILLIONS, "Parameters used for one token, in billions.", "dense: all of them"
    ),
    mtp_layers=_optional(
        Number(0, 64, whole=True), "Trained multi-token-prediction layers.", "none", 0
    ),
)

HARDWARE = _section(
    "a mapping",
    gpu=_optional(
        Text("the name of a device, such as H100-SXM"), "The device by name.", "H100-SXM"
    ),
    count=_optional(
        COUNT, "Devices in all.", "one, or tensor × pipeline × data where parallel says them", 1
    ),
    memory_gb=_optional(
        Number(0, 100_000, above=True), "Device memory in GB (10^9), of a device without a name."
    ),
    bandwidth_tb_s=_optional(
        Number(0, 1_000, above=True), "Peak memory bandwidth in TB/s of such a device."
    ),
    bf16_tflops=_optional(
        Number(0, 1_000_000, above=True),
        "Dense bfloat16 peak in TFLOPS of such a device.",
        "only the memory limit is modelled",
    ),
)

PARALLEL = _section(
    "a mapping",
    tensor=_optional(COUNT, "Tensor parallel size.", "the device count ÷ (pipeline × data)"),
    pipeline=_optional(COUNT, "Pipeline parallel size.", "no pipeline", 1),
    data=_optional(COUNT, "Data parallel size.", "one copy", 1),
    expert=_optional(COUNT, "Expert parallel size.", "experts are not spread", 1),
)

ENGINE_SECTION = _section(
    "a mapping",
    name=_optional(ENGINE, "The serving engine.", "the engine with most measurements", "vllm"),
    version=_optional(VERSION, "Its version, in quotes.", "the newest known"),
)

DRAFTER = _section(
    "a mapping",
    path_or_id=Field(PATH, "Model id or path of the drafter.", required=True),
    method=Field(METHOD, "The method that it serves.", required=True),
    params_b=_optional(BILLIONS, "Its parameters in billions.", "looked up"),
    dtype=_optional(DTYPE, "Its weight format.", "bfloat16, as drafters ship", "bfloat16"),
    tensor_parallel=_optional(COUNT, "Its tensor parallel size.", "the engine's choice"),
    max_context=_optional(TOKENS, "Longest context that it was trained on.", "looked up"),
)

SAMPLING = _section(
    "a mapping",
    min_p=_optional(SHARE, "min_p of the requests.", "off"),
    penalties=_optional(Flag(), "Presence, frequency or repetition penalties.", "none", False),
    structured_output=_optional(Flag(), "Output forced to a grammar or schema.", "free", False),
    lora=_optional(Flag(), "Requests use LoRA adapters.", "none", False),
)

WORKLOAD = _section(
    "a mapping",
    task=_optional(
        Mix(TASK, "{chat: 0.7, code: 0.3}", TASK.schema()),
        "What the output is; shares are of output tokens.",
        "the most common use",
        "chat",
    ),
    temperature=_optional(
        Mix(TEMPERATURE, "{0.0: 0.4, 1.0: 0.6}", KEY_NUMBER),
        "Sampling temperature; shares are of output tokens.",
        "the default of OpenAI-compatible servers",
        1.0,
    ),
    top_p=_optional(Number(0, 1, above=True), "Nucleus sampling.", "off", 1.0),
    top_k=_optional(Number(1, 10_000_000, whole=True), "Top-k sampling.", "off"),
    min_p=_optional(SHARE, "min_p sampling.", "off"),
    batch=_optional(
        Mix(BATCH, "{1: 0.5, 32: 0.5}", KEY_NUMBER),
        "Sequences decoded together; shares are of decode time.",
        "one sequence at a time, where neither concurrency nor request_rate is given",
        1,
    ),
    concurrency=_optional(Number(0, 10**6, above=True), "Requests in flight, instead of batch."),
    request_rate=_optional(
        Number(0, 10**6, above=True), "Requests that arrive each second, instead of batch."
    ),
    prompt_tokens=_optional(TOKENS, "Prompt length.", "assumed", 1000),
    output_tokens=_optional(TOKENS, "Answer length.", "assumed", 400),
    prefix_cache_hit=_optional(
        SHARE, "Share of prompt tokens served from the prefix cache.", "none", 0.0
    ),
    sampling=_optional(SAMPLING, "What else requests ask of the sampler."),
)

LATENCY_TARGET = _section(
    "a mapping",
    tpot_ms=_optional(MILLISECONDS, "Most time per output token, first token excluded."),
    e2e_ms=_optional(MILLISECONDS, "Most time from request to last token."),
    ttft_ms=_optional(MILLISECONDS, "Most time to the first token."),
)

CANDIDATES = _section(
    "a mapping",
    methods=_optional(ListOf(METHOD), "Methods to consider.", "all that the engine serves"),
    num_speculative_tokens=_optional(
        ListOf(DRAFT_TOKENS), "Numbers of draft tokens to consider.", "all that make sense"
    ),
    drafters=_optional(ListOf(PATH), "Drafters to consider.", "all that are published"),
)

OVERRIDES = _section(
    "a mapping",
    acceptance_rate=_optional(
        ByMethod(SHARE, METHOD, "{eagle3: 0.8}"), "α by hand: chance that a draft token is kept."
    ),
    draft_cost_ratio=_optional(
        ByMethod(Number(0, 100), METHOD, "{eagle3: 0.05}"),
        "c by hand: one draft pass ÷ one plain step.",
    ),
)

COUNTS = _section(
    "a mapping",
    num_drafts=Field(EVENTS, "Steps that had a draft.", required=True),
    num_draft_tokens=Field(EVENTS, "Tokens drafted in them.", required=True),
    num_accepted_tokens=Field(EVENTS, "Draft tokens accepted, bonus excluded.", required=True),
    accepted_per_position=_optional(
        ListOf(EVENTS, high=256, repeats=True), "How often the draft at each position was accepted."
    ),
)

OBSERVED_ROW = _section(
    "a mapping",
    method=Field(METHOD, "The method that ran; none = plain decoding.", required=True),
    num_speculative_tokens=_optional(DRAFT_TOKENS, "Draft tokens of that run."),
    tree=_optional(TREE, "Its tree, in SGLang's three numbers."),
    batch=_optional(Number(1, 65_536), "Sequences decoded together.", "the profile's"),
    temperature=_optional(TEMPERATURE, "Temperature.", "the profile's"),
    task=_optional(TASK, "What was written.", "the profile's"),
    context_tokens=_optional(TOKENS, "Context length while decoding.", "the profile's"),
    engine=_optional(ENGINE, "The engine.", "the profile's"),
    engine_version=_optional(VERSION, "Its version, in quotes.", "the profile's"),
    gpu=_optional(Text("the name of a device"), "The device.", "the profile's"),
    gpu_count=_optional(COUNT, "Devices.", "the profile's"),
    dtype=_optional(DTYPE, "Weight format.", "the profile's"),
    drafter=_optional(PATH, "The drafter.", "the profile's"),
    source=_optional(Text(), "Where the row comes from."),
    date=_optional(Date(), "When it was measured."),
    acceptance_length=_optional(Number(1, 257), "τ: tokens a step, bonus included."),
    acceptance_per_position=_optional(
        ListOf(SHARE, high=256, repeats=True),
        "Chance that the first i drafts are all accepted; of a tree by depth, every depth.",
    ),
    counts=_optional(COUNTS, "Raw counts of the run."),
    tpot_ms=_optional(MILLISECONDS, "Time per output token, first token excluded."),
    output_tok_s=_optional(POSITIVE, "Output tokens a second of all sequences together."),
    step_ms=_optional(MILLISECONDS, "Time of one step: τ times the time per token."),
    speedup=_optional(
        Number(0, 1000, above=True), "Speed over plain decoding: at most τ, so at most K + 1."
    ),
)

PROFILE = _section(
    "a profile is a mapping",
    name=_optional(Text(max_length=200), "What to call it.", "the file's name"),
    target=_optional(
        NameOr(MODEL_NAME, TARGET),
        "The model to speed up. Needed, unless overrides has both α and c.",
    ),
    hardware=_optional(HARDWARE, "Devices.", "H100-SXM, as many as the weights need"),
    parallel=_optional(PARALLEL, "Layout over the devices.", "tensor parallel over all of them"),
    dtype=_optional(DTYPE, "Weight format of the target.", "the checkpoint's own"),
    kv_dtype=_optional(KV_DTYPE, "Format of the KV cache.", "bfloat16 (float32 with float32)"),
    engine=_optional(ENGINE_SECTION, "The serving engine."),
    drafter=_optional(DRAFTER, "Your own drafter.", "the published ones are considered"),
    workload=_optional(WORKLOAD, "What is asked of the server."),
    objective=_optional(OBJECTIVE, "What best means.", "what interactive use needs", "latency"),
    latency_target=_optional(LATENCY_TARGET, "Limits to meet.", "none"),
    gpu_hour_usd=_optional(
        Number(0, 100_000, above=True), "Price of one device for an hour.", "no costs are shown"
    ),
    candidates=_optional(CANDIDATES, "Limits to what is considered.", "everything"),
    overrides=_optional(OVERRIDES, "Numbers by hand.", "none"),
    observed=_optional(
        ListOf(OBSERVED_ROW, low=0, high=10_000, repeats=True), "What you measured.", "nothing"
    ),
)


def _index(section: Section, prefix: str) -> None:
    for name, field in section.fields.items():
        inner = field.kind.section if isinstance(field.kind, NameOr) else field.kind
        if prefix:
            ELSEWHERE.setdefault(name, f"{prefix}{name}")
        if isinstance(inner, Section):
            _index(inner, f"{prefix}{name}.")


_index(PROFILE, "")


def defaults() -> dict[str, tuple[Any, str]]:
    """Return dotted key → (default, reason) of every key that has either."""
    found: dict[str, tuple[Any, str]] = {}

    def visit(section: Section, prefix: str) -> None:
        for name, field in section.fields.items():
            inner = field.kind.section if isinstance(field.kind, NameOr) else field.kind
            if field.default is not None or field.reason:
                found[f"{prefix}{name}"] = (field.default, field.reason)
            if isinstance(inner, Section):
                visit(inner, f"{prefix}{name}.")

    visit(PROFILE, "")
    return found
