"""The methods of drafting: what each needs, what its drafts cost, where it is described.

Which engine serves a method since which release is knowledge of ``tuner.engines``.
"""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.methods import DRAFT_KIND, DraftKind, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Where a method is described: an arXiv id, or the place where there is no paper."""

    title: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodInfo:
    """One method in words."""

    method: Method
    title: str
    #: what it needs, in few words
    brief: str
    #: what has to exist before it can run
    needs: str
    #: what a step's drafts cost
    cost: str
    #: where it stops being a good idea
    limits: str
    papers: tuple[Paper, ...] = ()
    #: None = as lossless as the verify rule that the engine uses
    lossy_as_published: str | None = None
    note: str | None = None

    @property
    def kind(self) -> DraftKind:
        """Shape of the draft's cost."""
        return DRAFT_KIND[self.method]


def method_info(method: Method) -> MethodInfo:
    """Return what is known about a method in general."""
    return _METHODS[method]


def all_methods() -> tuple[MethodInfo, ...]:
    """Return every method, in the order of ``Method``."""
    return tuple(_METHODS[method] for method in Method)


_LEVIATHAN = Paper(
    title="Fast inference from transformers via speculative decoding", reference="arXiv:2211.17192"
)
_CHEN = Paper(
    title="Accelerating large language model decoding with speculative sampling",
    reference="arXiv:2302.01318",
)
_EAGLE = Paper(
    title="EAGLE: speculative sampling requires rethinking feature uncertainty",
    reference="arXiv:2401.15077",
)
_EAGLE2 = Paper(
    title="EAGLE-2: faster inference of language models with dynamic draft trees",
    reference="arXiv:2406.16858",
)
_EAGLE3 = Paper(
    title="EAGLE-3: scaling up inference acceleration via training-time test",
    reference="arXiv:2503.01840",
)
_SERIAL_HEAD = "K passes in sequence of one decoder layer and an output head"

_TABLE = (
    MethodInfo(
        method=Method.NONE,
        title="plain decoding",
        brief="nothing",
        needs="nothing",
        cost="no drafts",
        limits="one token a step and sequence",
        note="always compared with; the answer where nothing pays",
    ),
    MethodInfo(
        method=Method.DRAFT_MODEL,
        title="small draft model",
        brief="small model, its tokenizer",
        needs="a smaller model with the target's tokenizer",
        cost="K passes in sequence of the whole small model, with a KV cache of its own",
        limits="every drafted token costs a full pass of the small model: it pays while that is "
        "far cheaper than a pass of the target",
        papers=(_LEVIATHAN, _CHEN),
        note="vLLM drafts across vocabularies with use_heterogeneous_vocab (greedy drafts only)",
    ),
    MethodInfo(
        method=Method.EAGLE,
        title="EAGLE",
        brief="EAGLE head",
        needs="an EAGLE head trained for this target",
        cost=_SERIAL_HEAD,
        limits="acceptance falls with every position; a head belongs to one checkpoint",
        papers=(_EAGLE,),
    ),
    MethodInfo(
        method=Method.EAGLE2,
        title="EAGLE-2",
        brief="EAGLE head, verified trees",
        needs="an EAGLE head; an engine that verifies trees",
        cost=f"{_SERIAL_HEAD}, several branches at once; the whole tree is verified",
        limits="the weights are those of EAGLE; without trees it is EAGLE. Wide trees cost "
        "verified tokens, which only small batches have to spare",
        papers=(_EAGLE2,),
    ),
    MethodInfo(
        method=Method.EAGLE3,
        title="EAGLE-3",
        brief="EAGLE-3 head",
        needs="an EAGLE-3 head trained for this target",
        cost=f"{_SERIAL_HEAD} (often over a vocabulary cut to 32,000)",
        limits="public heads collapse beyond the context they were trained on (one: τ 2.93 at "
        "short context, 1.19 at 8K)",
        papers=(_EAGLE3,),
    ),
    MethodInfo(
        method=Method.EAGLE3_1,
        title="EAGLE-3.1",
        brief="EAGLE-3.1 head",
        needs="an EAGLE-3.1 head trained for this target, and an engine that knows it",
        cost=_SERIAL_HEAD,
        limits="few heads are published",
        papers=(
            Paper(
                title="model cards of lightseekorg/kimi-k2.6-eagle3.1-mla and "
                "kimi-k2.7-coder-eagle3.1-mla",
                reference="huggingface.co",
            ),
        ),
        note="holds up at long context where EAGLE-3 heads do not",
    ),
    MethodInfo(
        method=Method.P_EAGLE,
        title="P-EAGLE",
        brief="P-EAGLE head",
        needs="a P-EAGLE head trained for this target",
        cost="one pass for all K tokens",
        limits="few heads are published; vLLM only (parallel_drafting)",
        papers=(Paper(title="P-EAGLE: parallel-drafting EAGLE", reference="arXiv:2602.01469"),),
    ),
    MethodInfo(
        method=Method.MEDUSA,
        title="Medusa",
        brief="Medusa heads",
        needs="Medusa heads trained for this target",
        cost="extra output heads on the target's last hidden state: no draft pass",
        limits="heads do not see each other's tokens: acceptance falls fast; dropped by vLLM "
        "0.33.0 and absent from SGLang and llama.cpp",
        papers=(
            Paper(
                title="Medusa: simple LLM inference acceleration framework with multiple "
                "decoding heads",
                reference="arXiv:2401.10774",
            ),
        ),
        lossy_as_published="typical acceptance, the authors' rule for sampling, changes the "
        "distribution; Medusa-2 also changes the target's weights",
    ),
    MethodInfo(
        method=Method.MTP,
        title="multi-token prediction (MTP, NextN)",
        brief="MTP layers in the weights",
        needs="a checkpoint that ships MTP layers (or, for Gemma 4, its assistant)",
        cost="K passes in sequence of one layer as wide as the target's, experts included",
        limits="most checkpoints have one layer trained for one token ahead: used for more it "
        "feeds on its own output; quantised copies may have dropped it",
        papers=(
            Paper(title="DeepSeek-V3 technical report, section 2.2", reference="arXiv:2412.19437"),
            Paper(
                title="Better & faster large language models via multi-token prediction",
                reference="arXiv:2404.19737",
            ),
        ),
    ),
    MethodInfo(
        method=Method.DFLASH,
        title="DFlash",
        brief="DFlash block drafter",
        needs="a DFlash block drafter trained for this target",
        cost="one pass of a few layers for the whole block",
        limits="the block is fixed by training; all of it is verified whatever comes of it: at "
        "load a shorter K is cheaper",
        papers=(
            Paper(
                title="DFlash: block diffusion for flash speculative decoding",
                reference="arXiv:2602.06036",
            ),
        ),
    ),
    MethodInfo(
        method=Method.DSPARK,
        title="DSpark",
        brief="DSpark block drafter",
        needs="a DSpark drafter trained for this target, or a checkpoint with one fused in",
        cost="one pass of a few layers for the block, with a light serial head over it",
        limits="the block is fixed by training; its confidence head can shorten what is verified",
        papers=(
            Paper(
                title="DSpark: confidence-scheduled speculative decoding with "
                "semi-autoregressive generation",
                reference="deepseek-ai/DeepSpec@afdfa7c:DSpark_paper.pdf",
            ),
        ),
    ),
    MethodInfo(
        method=Method.NGRAM,
        title="n-gram (prompt lookup)",
        brief="text that copies itself",
        needs="nothing: text that repeats its prompt or itself",
        cost="a search on the CPU: no draft pass",
        limits="useful for copying (summaries, edits, retrieval, structured text); elsewhere most "
        "steps find no match",
        papers=(
            Paper(
                title="Prompt lookup decoding",
                reference="github.com/apoorvumang/prompt-lookup-decoding",
            ),
        ),
    ),
    MethodInfo(
        method=Method.SUFFIX,
        title="suffix decoding",
        brief="outputs that repeat",
        needs="outputs that repeat earlier outputs or the prompt; for vLLM the package "
        "arctic-inference",
        cost="a walk of a suffix tree on the CPU: no draft pass",
        limits="gains grow with repetition across requests (agents, structured calls)",
        papers=(Paper(title="SuffixDecoding", reference="arXiv:2411.04975"),),
    ),
    MethodInfo(
        method=Method.LOOKAHEAD,
        title="lookahead decoding",
        brief="spare compute, batch 1",
        needs="nothing: the target drafts for itself",
        cost="the target runs over a wider window of positions in every step",
        limits="costs compute in every step: batch 1 only; served by TensorRT-LLM's older backend "
        "alone",
        papers=(
            Paper(
                title="Break the sequential dependency of LLM inference using lookahead decoding",
                reference="arXiv:2402.02057",
            ),
        ),
    ),
)

_METHODS = {info.method: info for info in _TABLE}
