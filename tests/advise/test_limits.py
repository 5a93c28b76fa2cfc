"""A negative answer says whom it is about, and what the profile kept out of it."""

from __future__ import annotations

import pytest

from tuner.advise.recommend import recommend
from tuner.cli.app import run
from tuner.profile import parse_profile
from tuner.records.decision import Recommendation, State

HYBRID = (
    "target: Qwen/Qwen3.8-27B\nhardware: {gpu: RTX-4090}\nengine: {name: llamacpp}\n"
    "dtype: gguf:Q4_K_M\nworkload: {task: code, temperature: 0.2, batch: 1}\n"
)
SMALL = "candidates: {drafters: [Qwen/Qwen3.5-0.8B]}\n"


def advice(text: str) -> Recommendation:
    return recommend(parse_profile(text, file="case.yaml", name="case"))


def messages(found: Recommendation, code: str) -> list[str]:
    return [warning.message for warning in found.warnings if warning.code == code]


@pytest.mark.parametrize(
    ("candidates", "words", "named"),
    [
        (SMALL, "None of the allowed drafters pays", ["mtp", "dspark"]),
        (
            "candidates: {methods: [draft_model], drafters: [Qwen/Qwen3.5-0.8B]}\n",
            "None of the allowed methods and drafters pays",
            ["mtp", "dspark", "ngram"],
        ),
        ("candidates: {methods: [ngram]}\n", "None of the allowed methods pays", ["mtp"]),
    ],
)
def test_the_headline_speaks_of_what_is_allowed(
    candidates: str,
    words: str,
    named: list[str],
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = advice(HYBRID + candidates)
    assert found.decision.state is State.OFF
    (said,) = messages(found, "limits")
    assert all(method in said for method in named)
    path = tmp_path_factory.mktemp("profile") / "p.yaml"
    path.write_text(HYBRID + candidates)
    assert run(["recommend", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert words in text
    assert "No method pays" not in text


def test_without_limits_nothing_is_left_out_by_them() -> None:
    assert messages(advice(HYBRID), "limits") == []
    crowded = (
        "target: openai/gpt-oss-120b\nhardware: {gpu: B200-SXM}\n"
        "workload: {task: creative, temperature: 1, batch: 250, prompt_tokens: 200}\n"
    )
    found = advice(crowded)
    assert (found.limited, messages(found, "limits")) == ((), [])


@pytest.mark.parametrize(
    ("target", "candidates", "is_told"),
    [
        ("Qwen/Qwen3.8-27B", SMALL, True),
        ("Qwen/Qwen3.8-27B", "candidates: {methods: [ngram]}\n", True),
        # heads keep a state for each draft token; layers of attention alone are cut back
        ("Qwen/Qwen3.8-27B", "candidates: {methods: [mtp]}\n", False),
        ("Qwen/Qwen3-32B", "candidates: {methods: [draft_model]}\n", False),
    ],
)
def test_the_cost_of_undoing_drafts_is_explained_where_it_is_paid(
    target: str, candidates: str, is_told: bool
) -> None:
    found = advice(HYBRID.replace("Qwen/Qwen3.8-27B", target) + candidates)
    said = messages(found, "rollback")
    assert len(said) == is_told
    best = next(item for item in found.configs if item.config.num_speculative_tokens)
    assert all(f"{best.step_cost_parts.overhead:.2f} plain steps" in line for line in said)
    other = HYBRID.replace("engine: {name: llamacpp}\ndtype: gguf:Q4_K_M\n", "dtype: awq\n")
    assert messages(advice(other + SMALL), "rollback") == []
