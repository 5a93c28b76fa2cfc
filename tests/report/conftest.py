"""Recommendations to render: invented figures that satisfy the identities of real ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tuner.engines import shell_line
from tuner.records.config import CostParts, Prediction, PredictionBeliefs, SpecConfig, TreeSetting
from tuner.records.decision import (
    Baseline,
    BatchRow,
    BreakEven,
    Decision,
    EngineCommand,
    LatencyCheck,
    NextMeasurement,
    Recommendation,
    Schedule,
    State,
    TemperatureRow,
)
from tuner.records.interval import Interval
from tuner.records.methods import Engine, Method, VerifyRule
from tuner.records.model import Drafter
from tuner.records.sources import Assumption, AssumptionKind, Warning_

BASELINE_S = 0.0251
BATCH = 16.0
EAGLE = "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B"
TARGET = "meta-llama/Llama-3.3-70B-Instruct"


def predicted(
    method: Method,
    survival: tuple[float, ...],
    draft: float,
    verify: float,
    overhead: float = 0.0,
    *,
    drafter: str | None = None,
    tree: TreeSetting | None = None,
    draft_pass: float | None = None,
    log_sd: float = 0.08,
    batch: float = BATCH,
    temperature: float = 0.7,
    baseline_s: float | None = BASELINE_S,
    fits: bool | None = True,
    max_batch: int | None = 96,
    rule: VerifyRule = VerifyRule.ONE_HOT,
) -> Prediction:
    """Return a prediction whose numbers follow from survival and step parts."""
    tau = 1.0 + sum(survival)
    step = draft + verify + overhead
    speedup = tau / step
    tpot = None if baseline_s is None else baseline_s / speedup
    exact = log_sd == 0.0
    return Prediction(
        config=SpecConfig(
            method=method,
            drafter=Drafter(path_or_id=drafter, method=method) if drafter else None,
            num_speculative_tokens=len(survival),
            tree=tree,
            verify_rule=rule,
        ),
        batch=batch,
        temperature=temperature,
        acceptance_length=Interval.exact(tau) if exact else Interval.lognormal(tau, log_sd),
        acceptance_per_position=survival,
        draft_cost_ratio=draft_pass,
        verify_cost_ratio=verify,
        step_cost_ratio=step,
        step_cost_parts=CostParts(draft=draft, verify=verify, overhead=overhead),
        tpot_s=None if tpot is None else Interval.lognormal(tpot, 0.15),
        speedup=Interval.exact(speedup) if exact else Interval.lognormal(speedup, log_sd * 1.3),
        output_tok_s=None if tpot is None else batch / tpot,
        chunk_gap_s=None if baseline_s is None else step * baseline_s,
        ttft_delta_s=None if baseline_s is None else 0.002,
        e2e_s=None if tpot is None else 0.2 + 399 * tpot,
        usd_per_million_tokens=None,
        fits_memory=fits,
        max_batch=max_batch,
        acceptance_source="prior",
        evidence=("measured-001",),
        speedup_log_sd=log_sd,
        request_tpot_p50_s=tpot,
        request_tpot_p99_s=None if tpot is None or not survival else 1.19 * tpot,
        chunk_tokens_p99=len(survival) + 1,
        beliefs=None
        if tpot is None or baseline_s is None
        else PredictionBeliefs(
            step_cost_ratio=Interval.lognormal(step, 0.06),
            output_tok_s=Interval.lognormal(batch / tpot, 0.15),
            chunk_gap_s=Interval.lognormal(step * baseline_s, 0.1),
            request_tpot_p99_s=Interval.lognormal(1.19 * tpot if survival else tpot, 0.15),
            e2e_s=Interval(
                mean=0.2 + 399 * tpot,
                p10=0.2 + 399 * tpot / 1.2,
                p90=0.2 + 399 * tpot * 1.2,
            ),
        ),
    )


def plain(**changes: object) -> Prediction:
    """Return plain decoding."""
    item = predicted(Method.NONE, (), 0.0, 1.0, log_sd=0.0, max_batch=104, **changes)
    return replace(item, acceptance_source="exact", evidence=(), ttft_delta_s=0.0)


def row(start: int, end: int, method: Method, count: int, speedup: float) -> BatchRow:
    """Return one row of a batch schedule."""
    return BatchRow(
        start=start, end=end, method=method, num_speculative_tokens=count, speedup=speedup
    )


def geometric(rate: float, count: int) -> tuple[float, ...]:
    """Return survival for constant acceptance."""
    return tuple(rate**depth for depth in range(1, count + 1))


ARGV = (
    "vllm", "serve", TARGET, "--tensor-parallel-size", "4", "--max-model-len", "1400",
    "--speculative-config",
    '{"method": "eagle3", "model": "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B", '
    '"num_speculative_tokens": 5, "num_speculative_tokens_per_batch_size": '
    "[[1, 16, 5], [17, 64, 3], [65, 128, 1], [129, 512, 0]]}",
)  # fmt: skip


def build(state: State, configs: tuple[Prediction, ...], **changes: object) -> Recommendation:
    """Return a recommendation around configurations, best first."""
    best = next(item for item in configs if item.config.method is not Method.NONE)
    base = next(item for item in configs if item.config.method is Method.NONE)
    item = Recommendation(
        profile="chat-llama-3.3-70b",
        title="Llama-3.3-70B-Instruct · bfloat16 · 4× H100-SXM, TP 4 · vllm 0.33.0",
        context_line="at batch 16 · T 0.7 · chat · 1,200 tokens of context",
        decision=Decision(
            state=state,
            reason="as the numbers say.",
            break_even_acceptance_length=best.step_cost_ratio,
            confidence=0.97,
        ),
        baseline=Baseline(tpot_s=base.tpot_s, output_tok_s=base.output_tok_s, batch=base.batch),
        configs=configs,
        schedule=Schedule(),
        commands=(
            EngineCommand(engine=Engine.VLLM, version="0.33.0", argv=ARGV, shell=shell_line(ARGV)),
        ),
        warnings=(),
        assumptions=(),
    )
    return replace(item, **changes)


@pytest.fixture
def switched_on() -> Recommendation:
    """Return a clear case for speculation, with everything that a screen can hold."""
    configs = (
        predicted(
            Method.EAGLE3, geometric(0.75, 5), 0.2, 1.08, 0.04, drafter=EAGLE, draft_pass=0.04
        ),
        predicted(
            Method.EAGLE3, geometric(0.75, 4), 0.16, 1.06, 0.04, drafter=EAGLE, draft_pass=0.04
        ),
        predicted(
            Method.EAGLE3, (0.86, 0.7, 0.52, 0.36, 0.22), 0.22, 1.35, 0.05, drafter=EAGLE,
            tree=TreeSetting(num_steps=5, topk=4, draft_tokens=16), draft_pass=0.044,
        ),
        predicted(
            Method.DRAFT_MODEL, geometric(0.72, 4), 0.5, 1.06, 0.05,
            drafter="meta-llama/Llama-3.2-1B-Instruct", draft_pass=0.125, max_batch=90,
        ),
        predicted(Method.NGRAM, (0.22, 0.1, 0.04), 0.01, 1.05, 0.02, log_sd=0.2, max_batch=104),
        plain(),
    )  # fmt: skip
    return build(
        State.ON,
        configs,
        schedule=Schedule(
            by_batch=(
                row(1, 16, Method.EAGLE3, 5, 2.6),
                row(17, 64, Method.EAGLE3, 3, 1.9),
                row(65, 128, Method.EAGLE3, 1, 1.2),
                row(129, 512, Method.NONE, 0, 1.0),
            ),
            by_temperature=(
                TemperatureRow(
                    start=0.0, end_exclusive=0.9, method=Method.EAGLE3, num_speculative_tokens=5,
                    speedup=2.6,
                ),
                TemperatureRow(
                    start=0.9, end_exclusive=2.0, method=Method.EAGLE3, num_speculative_tokens=3,
                    speedup=2.1,
                ),
            ),
            pays_to_batch=BreakEven(mean=128.0, p10=63.0, p90=None, looked_up_to=512.0),
            pays_to_temperature=BreakEven(mean=None, p10=0.6, p90=None, looked_up_to=1.2),
        ),
        latency_check=LatencyCheck(
            limit_s=0.02, plain_batch=22, best_batch=96, plain_span=(14, 40), best_span=(61, 160),
            gain=Interval(mean=96 / 22, p10=3.1, p90=5.9), looked_up_to=512,
        ),
        flatness="K 4 to 5 are within 3% of each other: a flat optimum.",
        warnings=(
            Warning_(
                code="acceptance-note",
                message="the drafter was trained on contexts up to 2,048 tokens; beyond that "
                "acceptance falls.",
            ),
        ),
        assumptions=(
            Assumption(
                what="acceptance",
                value="eagle3 × chat at T 0.7",
                kind=AssumptionKind.PRIOR,
                source="14 measurements from 3 sources (specdec-tune catalog priors eagle3)",
            ),
            Assumption(
                what="step cost",
                value="vllm on H100-SXM: ± 12% on ratios, ± 20% on plain TPOT",
                kind=AssumptionKind.PRIOR,
                source="prior fitted on published step times",
            ),
            Assumption(
                what="top_p", value="1", kind=AssumptionKind.DEFAULT, source="default"
            ),
            Assumption(
                what="prefix_cache_hit", value="0", kind=AssumptionKind.DEFAULT, source="default"
            ),
        ),
        next_measurement=NextMeasurement(
            what="one minute of plain decoding and one of the configuration above, same prompts",
            why="it would narrow the speedup from 2.20–3.00 to about 2.45–2.75",
            command="specdec-tune recommend --bench-command chat-llama-3.3-70b",
        ),
    )  # fmt: skip


@pytest.fixture
def switched_off() -> Recommendation:
    """Return a saturated batch, where plain decoding is best."""
    configs = (
        plain(batch=256.0),
        predicted(
            Method.EAGLE3, (0.59,), 0.05, 1.62, 0.04, drafter=EAGLE, batch=256.0, draft_pass=0.05
        ),
        predicted(Method.NGRAM, (0.2,), 0.0, 1.62, 0.03, batch=256.0, log_sd=0.2),
    )  # fmt: skip
    return build(
        State.OFF,
        configs,
        profile="offline-batch-256",
        schedule=Schedule(
            by_batch=(
                row(1, 40, Method.EAGLE3, 2, 1.7),
                row(41, 512, Method.NONE, 0, 1.0),
            ),
            pays_to_batch=BreakEven(mean=40.0, p10=15.0, p90=127.0, looked_up_to=512.0),
        ),
    )  # fmt: skip


@pytest.fixture
def undecided() -> Recommendation:
    """Return a case that a measurement would decide."""
    configs = (
        predicted(
            Method.DRAFT_MODEL, geometric(0.6, 2), 0.6, 1.15, 0.05, drafter="a/b", log_sd=0.13
        ),
        plain(),
    )  # fmt: skip
    return build(
        State.MEASURE,
        configs,
        next_measurement=NextMeasurement(
            what="acceptance of this drafter on your prompts: 200 requests at K 2",
            why="it would decide",
            command="specdec-tune recommend --bench-command chat-llama-3.3-70b",
        ),
    )


@pytest.fixture
def by_formula() -> Recommendation:
    """Return what overrides of α and c give: ratios alone, no absolute times."""
    configs = (
        predicted(
            Method.DRAFT_MODEL, geometric(0.8, 8), 0.4, 1.0, log_sd=0.0, baseline_s=None,
            fits=None, max_batch=None, draft_pass=0.05, batch=1.0,
        ),
        predicted(
            Method.NONE, (), 0.0, 1.0, log_sd=0.0, baseline_s=None, fits=None, max_batch=None,
            batch=1.0,
        ),
    )  # fmt: skip
    return build(
        State.ON,
        configs,
        profile="by-hand",
        title="textbook formula, α and c by hand · vllm 0.33.0",
        context_line="at batch 1 · T 0 · chat · 1,200 tokens of context",
    )


@pytest.fixture
def too_large() -> Recommendation:
    """Return a drafter that leaves no room for the batch."""
    configs = (
        plain(),
        predicted(
            Method.DRAFT_MODEL, geometric(0.7, 3), 0.4, 1.05, 0.05, drafter="big", fits=False,
            max_batch=3, draft_pass=0.13,
        ),
    )  # fmt: skip
    item = build(State.OFF, configs)
    decision = replace(item.decision, reason="does not fit in memory at batch 16.")
    return replace(item, decision=decision)


@pytest.fixture(scope="session")
def switched_on_template() -> Prediction:
    """Return one prediction to change, made once for all examples."""
    return predicted(Method.EAGLE3, geometric(0.75, 5), 0.2, 1.08, 0.04, drafter=EAGLE)
