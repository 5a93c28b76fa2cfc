"""The rule by which an engine keeps draft tokens, as far as flags decide it."""

from __future__ import annotations

from tuner.advise.arms import Arm
from tuner.advise.situation import Situation
from tuner.records.methods import DraftKind, Engine, Method, VerifyRule

#: Drafters whose probabilities every engine here can verify against (one token at a time, from a
#: distribution): vLLM draft_sample_method, SGLang --speculative-use-rejection-sampling, llama.cpp
#: --spec-draft-sampling. For parallel blocks no engine documents it …
SAMPLED_DRAFTERS = (
    Method.DRAFT_MODEL,
    Method.EAGLE,
    Method.EAGLE3,
    Method.EAGLE3_1,
    Method.MTP,
)
#: … except DSpark's on vLLM, whose Markov head draws a block's tokens one after the other
#: (vllm-project/vllm#46995; vllm-project/vllm-ascend#14368 gives the flag).
SAMPLED_ON_VLLM = (Method.DSPARK,)
#: Truncation to this few candidates makes sampled drafts worse than greedy ones, because the
#: engines do not truncate the draft (vllm-project/vllm#56724: at top-k 1 τ 2.46 against 2.92, at
#: top-k 20 2.65 against 2.39).
SMALL_TOP_K = 4


def verify_rule(situation: Situation, arm: Arm) -> VerifyRule:
    """Return the rule by which the engine keeps draft tokens, with the flags that are emitted.

    At temperature 0 all lossless rules are one. Above it the default of all three engines compares
    the target's sample with the drafter's first choice, which accepts less the hotter it gets;
    where the engine can verify sampled drafts instead, the command asks for it.
    """
    workload = situation.profile.workload
    hottest = max(temperature for temperature, _share in workload.temperature)
    return rule_at(situation, arm, hottest)


def rule_at(situation: Situation, arm: Arm, temperature: float) -> VerifyRule:
    """Return the rule at one temperature (see ``verify_rule``)."""
    if temperature == 0.0:
        return VerifyRule.GREEDY
    top_k = situation.profile.workload.top_k
    truncated = top_k is not None and top_k <= SMALL_TOP_K
    # Guard: SGLang 0.5.23 samples drafts of EAGLE, EAGLE-3 and NEXTN only (speculative_hook.py).
    is_standalone = situation.engine is Engine.SGLANG and arm.method is Method.DRAFT_MODEL
    is_sampled = arm.method in SAMPLED_DRAFTERS and not is_standalone
    is_sampled |= situation.engine is Engine.VLLM and arm.method in SAMPLED_ON_VLLM
    if is_sampled and not arm.trees and not truncated:
        return VerifyRule.RATIO
    is_llamacpp = situation.engine is Engine.LLAMACPP and arm.plan.kind is not DraftKind.LOOKUP
    return VerifyRule.EXACT_MATCH if is_llamacpp else VerifyRule.ONE_HOT


def belief_rule(situation: Situation, arm: Arm, temperature: float) -> VerifyRule:
    """Return the rule of beliefs: at temperature 0 all lossless rules accept alike, and the rule
    above 0 says how rows that were measured hotter carry over.
    """
    return rule_at(situation, arm, temperature or 1.0)
