"""Names of what can draft, decode and verify."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """How draft tokens are proposed. The value is the public spelling."""

    NONE = "none"
    DRAFT_MODEL = "draft_model"
    EAGLE = "eagle"
    EAGLE2 = "eagle2"
    EAGLE3 = "eagle3"
    EAGLE3_1 = "eagle3.1"
    P_EAGLE = "p-eagle"
    MEDUSA = "medusa"
    MTP = "mtp"
    DFLASH = "dflash"
    DSPARK = "dspark"
    NGRAM = "ngram"
    SUFFIX = "suffix"
    LOOKAHEAD = "lookahead"


#: what a sentence calls a method
METHOD_TITLES: dict[Method, str] = {
    Method.NONE: "plain decoding",
    Method.DRAFT_MODEL: "a draft model",
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


class DraftKind(StrEnum):
    """The shape of a method's draft cost."""

    NONE = "none"
    """Plain decoding."""
    SERIAL = "serial"
    """One pass of a small head or model for each draft token (EAGLE, MTP, draft model)."""
    PARALLEL = "parallel"
    """One pass for the whole block (DFlash, DSpark, P-EAGLE)."""
    HEADS = "heads"
    """Extra output heads on the target's last hidden state (Medusa)."""
    LOOKUP = "lookup"
    """No model: matching on the CPU (n-gram, suffix)."""
    WINDOW = "window"
    """The target itself, over a wider window of positions (lookahead decoding)."""


DRAFT_KIND: dict[Method, DraftKind] = {
    Method.NONE: DraftKind.NONE,
    Method.DRAFT_MODEL: DraftKind.SERIAL,
    Method.EAGLE: DraftKind.SERIAL,
    Method.EAGLE2: DraftKind.SERIAL,
    Method.EAGLE3: DraftKind.SERIAL,
    Method.EAGLE3_1: DraftKind.SERIAL,
    Method.P_EAGLE: DraftKind.PARALLEL,
    Method.MEDUSA: DraftKind.HEADS,
    Method.MTP: DraftKind.SERIAL,
    Method.DFLASH: DraftKind.PARALLEL,
    Method.DSPARK: DraftKind.PARALLEL,
    Method.NGRAM: DraftKind.LOOKUP,
    Method.SUFFIX: DraftKind.LOOKUP,
    Method.LOOKAHEAD: DraftKind.WINDOW,
}


class VerifyRule(StrEnum):
    """How the target decides which draft tokens to keep."""

    GREEDY = "greedy"
    """Temperature 0: keep a draft token when it is the target's argmax. Lossless."""
    ONE_HOT = "one_hot"
    """The draft is a point mass; keep it with the target's probability. Lossless."""
    EXACT_MATCH = "exact_match"
    """The target samples; keep the draft token when it is the same. Lossless."""
    RATIO = "ratio"
    """Keep with min(1, target / draft) of the sampled draft token. Lossless."""
    BLOCK = "block"
    """Block verification: joint acceptance of a prefix. Lossless."""
    TYPICAL = "typical"
    """Medusa's typical acceptance: keep what is likely enough. Lossy."""
    RELAXED = "relaxed"
    """Keep what is among the target's top candidates. Lossy."""

    @property
    def is_lossy(self) -> bool:
        """Whether the rule changes the distribution of the output."""
        return self in (VerifyRule.TYPICAL, VerifyRule.RELAXED)


class Engine(StrEnum):
    """Serving engines, by the spelling used in profiles."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRTLLM = "trtllm"
    LLAMACPP = "llamacpp"


class CostBackend(StrEnum):
    """Where plain step times come from."""

    BUILTIN = "builtin"
    AICONFIGURATOR = "aiconfigurator"


class Task(StrEnum):
    """Classes of text that a workload produces."""

    CHAT = "chat"
    CODE = "code"
    MATH = "math"
    SUMMARIZATION = "summarization"
    RAG = "rag"
    TRANSLATION = "translation"
    QA = "qa"
    STRUCTURED = "structured"
    CREATIVE = "creative"
    REASONING = "reasoning"
    AGENT = "agent"


class Objective(StrEnum):
    """What "best" means."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    COST = "cost"
