"""What ``why`` says of a changed input is what ``recommend`` says of that profile."""

from __future__ import annotations

import re

import pytest

from tuner.advise.recommend import recommend
from tuner.advise.why import why
from tuner.profile import parse_profile
from tuner.records.why import Flip

DENSE = """
target: Qwen/Qwen3-32B
hardware: {gpu: {device}, count: 2}
engine: {name: vllm}
workload: {task: code, temperature: {temperature}, batch: {batch}, prompt_tokens: 3000}
"""
LOCAL = """
target: Qwen/Qwen3.8-27B
hardware: {gpu: {device}}
engine: {name: llamacpp}
dtype: gguf:Q4_K_M
workload: {task: code, temperature: {temperature}, batch: {batch}}
candidates: {drafters: [Qwen/Qwen3.5-0.8B]}
"""
MIXED = """
target: {params_b: 70}
hardware: {gpu: {device}, count: 2}
workload: {task: summarization, temperature: {temperature}, batch: {batch}}
"""
#: a prefill that takes the request: the decision is not the speedup's alone
DILUTED = """
target: Qwen/Qwen3-32B
hardware: {gpu: {device}, count: 2}
workload: {task: chat, temperature: {temperature}, batch: {batch}, prompt_tokens: 30000,
           output_tokens: 2}
"""
CASES = [
    (DENSE, {"temperature": "0.2", "batch": "8", "device": "H100-SXM"}),
    (DENSE, {"temperature": "1.0", "batch": "48", "device": "A100-80GB-SXM"}),
    (LOCAL, {"temperature": "0.2", "batch": "1", "device": "RTX-4090"}),
    (MIXED, {"temperature": "{0.0: 0.4, 1.0: 0.6}", "batch": "{1: 0.5, 32: 0.5}",
             "device": "MI300X"}),
    (DILUTED, {"temperature": "0.7", "batch": "4", "device": "H100-SXM"}),
]  # fmt: skip


def text_of(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def state_of(text: str, values: dict[str, str]) -> str:
    return recommend(parse_profile(text_of(text, values), file="w.yaml", name="w")).decision.state


@pytest.mark.parametrize(("text", "values"), CASES)
def test_recommend_agrees_where_the_advice_is_said_to_change(
    text: str, values: dict[str, str]
) -> None:
    found = why(parse_profile(text_of(text, values), file="w.yaml", name="w"))
    flips = {flip.what: flip for flip in found.flips}
    for what in ("batch", "temperature", "device"):
        flip = flips[what]
        if flip.becomes is None:
            for value in same(flip):
                assert state_of(text, values | {what: value}) == found.decision.state
            continue
        assert flip.flips_at is not None
        value = re.sub(r"^(from|up to) | alone$", "", flip.flips_at)
        assert state_of(text, values | {what: value}) == flip.becomes
        assert flip.becomes != found.decision.state
        # a value that is the profile's own cannot change the advice
        assert value != values[what]
        assert flip.now != value


def same(flip: Flip) -> list[str]:
    """The values named as alike: the ends of a range, or the first and last device."""
    found = re.match(r"the same (?:at each from|from|on) (.*?)(?:, as far as|$)", flip.note)
    assert found
    parts = re.split(r" to |, ", found[1])
    return [parts[0], parts[-1]]


@pytest.mark.parametrize(("text", "values"), CASES)
def test_break_even_is_of_the_setting_and_names_no_advice(
    text: str, values: dict[str, str]
) -> None:
    found = why(parse_profile(text_of(text, values), file="w.yaml", name="w"))
    assert found.best is not None
    tau, cost = found.flips[:2]
    assert {tau.becomes, cost.becomes, tau.flips_at, cost.flips_at} == {None}
    assert tau.breaks_even_at == found.best.step_cost_ratio
    assert f"breaks even at {tau.breaks_even_at:.2f}" in tau.note
    assert cost.breaks_even_at == found.best.acceptance_length.mean
    assert ("dearer" in cost.note) == (found.best.speedup.mean > 1.0)


def test_who_takes_over_is_who_wins_without_the_best() -> None:
    text, values = CASES[0]
    found = why(parse_profile(text_of(text, values), file="w.yaml", name="w"))
    assert found.best is not None
    said = re.search(r"below ([\d.]+), (.*) at K (\d+) would be faster", found.flips[0].note)
    assert said
    methods = "candidates: {methods: [draft_model, ngram, suffix, mtp, dflash, dspark, p-eagle]}\n"
    other = recommend(
        parse_profile(text_of(text, values) + methods, file="w.yaml", name="w")
    ).configs[0]
    assert int(said[3]) == other.config.num_speculative_tokens
    assert float(said[1]) == pytest.approx(
        other.speedup.mean * found.best.step_cost_ratio, abs=0.006
    )
