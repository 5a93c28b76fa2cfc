"""Requests in flight and requests a second: what is full, what is ruled out, what is compared."""

from __future__ import annotations

import re

import pytest

from tuner.advise.recommend import recommend
from tuner.cli.app import run
from tuner.profile import parse_profile
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation

TARGET = "target: meta-llama/Llama-3.3-70B-Instruct\nhardware: {gpu: H100-SXM, count: 4}\n"
#: a 120B mixture that leaves no room for the 20B model beside it
TIGHT = "target: openai/gpt-oss-120b\nhardware: {gpu: H100-SXM}\n"
RATE = "workload: {task: chat, temperature: 0.7, request_rate: %g, output_tokens: 400}\n"


def advice(text: str) -> Recommendation:
    return recommend(parse_profile(text, file="case.yaml", name="case"))


def codes(found: Recommendation) -> set[str]:
    return {warning.code for warning in found.warnings}


def best_of(found: Recommendation) -> Prediction:
    return next(item for item in found.configs if item.config.num_speculative_tokens)


@pytest.mark.parametrize("load", ["concurrency: 8", "concurrency: 30", "request_rate: 1"])
def test_a_candidate_that_does_not_fit_saturates_nothing(load: str) -> None:
    workload = f"workload: {{task: chat, {load}, prompt_tokens: 1500, output_tokens: 400}}\n"
    misfit = "candidates: {methods: [eagle3, draft_model]}\n"
    every = advice(TIGHT + workload + misfit)
    assert any(item.fits_memory is False for item in every.configs)
    alone = advice(TIGHT + workload + "candidates: {methods: [eagle3]}\n")
    assert codes(every).isdisjoint({"saturated", "falls-behind"})
    assert best_of(every) == best_of(alone)
    fitting = [item for item in every.configs if item.fits_memory]
    times = [item.tpot_s.mean for item in fitting if item.tpot_s]
    assert times == sorted(times)


def test_plain_decoding_that_is_full_is_still_said() -> None:
    found = advice(TIGHT + "workload: {concurrency: 400, prompt_tokens: 1500}\n")
    assert "saturated" in codes(found)


def test_a_long_draft_that_cannot_keep_up_rules_out_itself_alone() -> None:
    found = advice(TARGET + RATE % 5)
    assert codes(found).isdisjoint({"saturated", "falls-behind"})
    assert not any(item.falls_behind for item in found.configs)


@pytest.mark.parametrize("objective", ["throughput", "cost"])
def test_where_the_load_fixes_throughput_and_cost_time_decides(objective: str) -> None:
    price = "gpu_hour_usd: 2.5\n"
    by_time = advice(TARGET + RATE % 5 + price)
    other = advice(TARGET + RATE % 5 + price + f"objective: {objective}\n")
    assert other.configs == by_time.configs
    rates = [item.output_tok_s for item in other.configs]
    assert rates == pytest.approx([5 * 400] * len(rates), rel=1e-3)


@pytest.mark.parametrize("rate", [12, 20, 50])
def test_the_screen_never_names_the_chosen_setting_as_the_next(
    rate: float, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["--set", "workload.batch=null", "--set", f"workload.request_rate={rate}"]
    assert run(["recommend", "chat-llama-3.3-70b", *line]) == 0
    shown = capsys.readouterr().out
    (row,) = [text.split() for text in shown.splitlines() if "▸" in text]
    assert row[1] == "eagle3"
    assert f"Next, by central values: EAGLE-3 at K {row[3]}," not in " ".join(shown.split())


def test_arrivals_beyond_plain_decoding_are_named() -> None:
    found = advice(TARGET + RATE % 15)
    (said,) = [item.message for item in found.warnings if item.code == "falls-behind"]
    assert "plain decoding" in said
    assert not best_of(found).falls_behind
    assert best_of(found) is found.configs[0]


@pytest.mark.parametrize("rate", [1, 5, 12])
def test_a_rate_that_is_kept_up_with_leaves_no_doubt_about_throughput(rate: float) -> None:
    found = advice(TARGET + RATE % rate + "gpu_hour_usd: 2.5\n")
    for item in found.configs:
        assert item.beliefs is not None
        tokens, usd = item.beliefs.output_tok_s, item.beliefs.usd_per_million_tokens
        assert usd is not None
        width = tokens.p90 / tokens.p10, usd.p90 / usd.p10
        assert item.beliefs.e2e_s.p90 > item.beliefs.e2e_s.p10
        if item.falls_behind:
            assert min(width) > 1.0
        else:
            assert width == (1.0, 1.0)
            assert tokens.mean == pytest.approx(rate * 400, rel=1e-3)


def shown(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    assert run(list(line)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_times_at_different_batches_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    load = ["--set", "workload.batch=null", "--set", "workload.request_rate=5"]
    text = shown(capsys, "recommend", "chat-llama-3.3-70b", *load)
    match = re.search(r"each at its own batch \((\S+) → (\S+)\); (\S+)× holds where both", text)
    assert match is not None
    assert float(match[1]) > float(match[2])
    assert f"{match[3]}× as fast" in text
    fixed = shown(capsys, "recommend", "chat-llama-3.3-70b")
    assert "its own batch" not in fixed
    assert "at this batch" in fixed


@pytest.mark.parametrize(
    ("more", "heading"),
    [
        ([], "at 8 requests in flight (plain decoding: batch 7.95) · T 0, 1"),
        (["--batch", "1", "--batch", "12"], "at batch 1, 12 · T 0, 1"),
    ],
)
def test_batches_have_few_figures_and_the_heading_agrees(
    more: list[str], heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["--method", "eagle3", "--k", "2", "--temperature", "0", "--temperature", "1"]
    text = shown(capsys, "predict", "chat-gpt-oss-120b", *line, *more)
    assert heading in text
    assert not re.search(r"\d\.\d{4}", text)


def test_what_is_full_beside_plain_decoding_is_named() -> None:
    text = "workload: {task: chat, concurrency: %d, prompt_tokens: 1500, output_tokens: 400}\n"
    (part,) = [item for item in advice(TIGHT + text % 45).warnings if item.code == "saturated"]
    assert "together with DFlash (" in part.message
    (whole,) = [item for item in advice(TIGHT + text % 400).warnings if item.code == "saturated"]
    assert "can decode together (" in whole.message
