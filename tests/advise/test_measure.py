"""What to measure next: only what is not known yet, and as the bench command measures it."""

from __future__ import annotations

import re

import pytest

from tuner.advise.commands import bench_command
from tuner.advise.recommend import recommend
from tuner.profile import parse_profile
from tuner.records.decision import Recommendation

TARGET = (
    "target: Qwen/Qwen3-32B\nhardware: {gpu: H100-SXM, count: 2}\n"
    "workload: {task: code, temperature: 0.2, batch: %d, prompt_tokens: 3000, output_tokens: 600}\n"
)
PLAIN = "  - {method: none, batch: %d, output_tok_s: %g}\n"


def advice(text: str) -> Recommendation:
    return recommend(parse_profile(text, file="case.yaml", name="case"))


def told(found: Recommendation) -> str:
    item = found.next_measurement
    return "" if item is None else f"{item.what}: {item.why}"


@pytest.mark.parametrize(("batch", "rate"), [(8, 410.0), (1, 52.0), (16, 800.0)])
def test_a_plain_run_that_is_observed_is_not_asked_for_again(batch: int, rate: float) -> None:
    heads = f"  - {{method: eagle3, num_speculative_tokens: 3, batch: {batch}, "
    rows = f"{heads}acceptance_length: 2.41, output_tok_s: {2.2 * rate:g}}}\n"
    seen = told(advice(TARGET % batch + "observed:\n" + PLAIN % (batch, rate) + rows))
    assert "plain decoding" not in seen
    assert "method: none" not in seen
    assert "the speed of EAGLE-3 at K" in seen
    assert re.search(rf"method: eagle3, .*batch: {batch}, output_tok_s", seen)
    elsewhere = told(advice(TARGET % batch + "observed:\n" + PLAIN % (4 * batch, 3 * rate) + rows))
    assert "plain decoding" in elsewhere


def test_what_gains_nothing_is_not_suggested() -> None:
    rows = (
        "observed:\n  - {method: none, batch: 8, tpot_ms: 19.5}\n"
        "  - {method: eagle3, num_speculative_tokens: 3, batch: 8, acceptance_length: 2.9, "
        "speedup: 2.4}\n"
        "candidates: {methods: [eagle3], num_speculative_tokens: [3]}\n"
    )
    assert advice(TARGET % 8 + rows).next_measurement is None


@pytest.mark.parametrize("batch", [1, 8, 32])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("observed", ["", "observed:\n" + PLAIN % (8, 410.0)])
def test_requests_and_length_are_those_of_the_commands(
    batch: int, engine: str, observed: str
) -> None:
    found = advice(TARGET % batch + f"engine: {{name: {engine}}}\n" + observed)
    client = bench_command(found)
    assert client is not None
    count = client.argv[client.argv.index("--num-prompts") + 1]
    assert f"{count} requests" in told(found)
    before, after = re.findall(r"(\d+\.\d+)–(\d+\.\d+)", told(found))
    assert float(after[1]) - float(after[0]) < float(before[1]) - float(before[0])
    (server,) = found.commands
    has_schedule = "per_batch_size" in " ".join(server.argv) or bool(server.files)
    assert ("instead of the schedule by batch" in told(found)) == has_schedule
