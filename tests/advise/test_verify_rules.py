"""Which drafts are sampled, and so verified by the ratio of probabilities, on which engine."""

from __future__ import annotations

import pytest

from tuner.advise.arms import Arm
from tuner.advise.resolve import resolve
from tuner.advise.verify_rules import rule_at
from tuner.records.cost import DraftPlan
from tuner.records.methods import DRAFT_KIND, Engine, Method, VerifyRule
from tuner.records.workload import EngineSpec, HardwareSpec, Profile, TargetSpec

#: vLLM 0.33.0 ``draft_sample_method`` (recipes of DSpark set it to probabilistic); SGLang 0.5.23
#: speculative_hook.py: rejection sampling for EAGLE, EAGLE-3 and NEXTN; llama.cpp b11434
#: ``--spec-draft-sampling``.
SAMPLED = {
    Engine.VLLM: {Method.EAGLE, Method.EAGLE3, Method.MTP, Method.DRAFT_MODEL, Method.DSPARK},
    Engine.SGLANG: {Method.EAGLE, Method.EAGLE3, Method.MTP},
    Engine.LLAMACPP: {Method.EAGLE, Method.EAGLE3, Method.MTP, Method.DRAFT_MODEL},
}
METHODS = sorted({*SAMPLED[Engine.VLLM], Method.DFLASH, Method.NGRAM})


@pytest.mark.parametrize("engine", SAMPLED)
@pytest.mark.parametrize("method", METHODS)
def test_drafts_are_sampled_where_the_engine_can(engine: Engine, method: Method) -> None:
    profile = Profile(
        name="any",
        target=TargetSpec(params_b=8.0),
        hardware=HardwareSpec(gpu="H100-SXM"),
        engine=EngineSpec(name=engine),
    )
    arm = Arm(plan=DraftPlan(method=method, kind=DRAFT_KIND[method]), lengths=(3,))
    rule = rule_at(resolve(profile), arm, 0.8)
    assert (rule is VerifyRule.RATIO) == (method in SAMPLED[engine])
    assert rule_at(resolve(profile), arm, 0.0) is VerifyRule.GREEDY
