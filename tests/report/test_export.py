"""JSON of recommend, predict and why: the contract's keys, its identities, and no NaN anywhere."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.advise.predict import Answer
from tuner.catalog.priors import load_cost_prior
from tuner.cli.output_schemas import predict_schema, recommend_schema
from tuner.records.config import CostParts, Prediction
from tuner.records.decision import Recommendation, State
from tuner.records.interval import Interval
from tuner.records.methods import VerifyRule
from tuner.records.why import Flip, Why
from tuner.report.export import (
    prediction_dict,
    prediction_document,
    recommendation_document,
    why_document,
)

ALL = ["switched_on", "switched_off", "undecided", "by_formula", "too_large"]

#: the keys that the contract shows for one configuration
CONFIG_KEYS = {
    "method", "drafter", "num_speculative_tokens", "tree", "verify_tokens", "verify_rule", "lossy",
    "batch", "temperature", "acceptance_length", "acceptance_per_position", "draft_cost_ratio",
    "verify_cost_ratio", "step_cost_ratio", "step_cost_parts", "tpot_ms", "speedup",
    "output_tok_s", "chunk_gap_ms", "ttft_delta_ms", "e2e_ms", "usd_per_million_tokens",
    "fits_memory", "max_batch", "acceptance_source", "evidence",
}  # fmt: skip


def document_of(item: Recommendation) -> dict[str, object]:
    """Return the document as a reader of the text gets it; NaN would not be written."""
    text = json.dumps(recommendation_document([item]), allow_nan=False)
    return json.loads(text)


def assert_identities(config: dict[str, object], baseline_ms: float | None) -> None:
    tau, ratio = config["acceptance_length"]["mean"], config["step_cost_ratio"]
    parts = config["step_cost_parts"]
    speedup = config["speedup"]["mean"]
    assert tau == pytest.approx(1.0 + math.fsum(config["acceptance_per_position"]), rel=1e-12)
    assert ratio == pytest.approx(sum(parts.values()), rel=1e-12)
    assert parts["verify"] == config["verify_cost_ratio"]
    assert speedup == pytest.approx(tau / ratio, rel=1e-12)
    if config["tpot_ms"] is not None:
        tpot = config["tpot_ms"]["mean"]
        assert speedup == pytest.approx(baseline_ms / tpot, rel=1e-12)
        assert config["output_tok_s"] == pytest.approx(config["batch"] / tpot * 1e3, rel=1e-12)
        assert config["chunk_gap_ms"] == pytest.approx(tpot * tau, rel=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_keys_and_identities(name: str, request: pytest.FixtureRequest) -> None:
    item: Recommendation = request.getfixturevalue(name)
    document = document_of(item)
    jsonschema.validate(document, recommend_schema())
    result = document["profiles"][0]
    plain = result["baseline"]["tpot_ms"]
    for config in result["configs"]:
        assert set(config) >= CONFIG_KEYS
        assert_identities(config, plain and plain["mean"])
    best = next(config for config in result["configs"] if config["method"] != "none")
    assert result["decision"]["break_even_acceptance_length"] == best["step_cost_ratio"]
    assert result["decision"]["state"] == item.decision.state.value
    assert any(config["method"] == "none" for config in result["configs"])


def test_evidence_is_what_this_row_rests_on(switched_on: Recommendation) -> None:
    """The table of step times stands for its sources; own ids come first and are at most 20."""
    shared = load_cost_prior().evidence
    assert len(shared) > 20
    item = switched_on.configs[0]
    found = prediction_dict(replace(item, evidence=("es1", "bench of 3 May", *shared)))
    assert found["evidence"] == ["es1", "bench of 3 May", "cost_prior.json"]
    assert found["evidence_count"] == 2 + len(shared)
    many = tuple(f"id{place}" for place in range(50))
    found = prediction_dict(replace(item, evidence=(*many, *shared)))
    assert found["evidence"] == [*many[:19], "cost_prior.json"]
    assert prediction_dict(replace(item, evidence=many))["evidence"] == list(many[:20])
    assert prediction_dict(replace(item, evidence=()))["evidence"] == []


def test_schedule_rows_and_commands(switched_on: Recommendation) -> None:
    result = document_of(switched_on)["profiles"][0]
    row = result["schedule"]["by_batch"][0]
    assert (row["from"], row["to"], row["method"], row["num_speculative_tokens"]) == (
        1, 16, "eagle3", 5,
    )  # fmt: skip
    assert result["schedule"]["by_temperature"][0]["to_exclusive"] == 0.9
    command = result["commands"]["vllm"]
    assert command["argv"] == list(switched_on.commands[0].argv)
    assert command["version"] == "0.33.0"


def test_a_tree_is_written_as_in_profiles(switched_on: Recommendation) -> None:
    tree = document_of(switched_on)["profiles"][0]["configs"][2]
    assert (tree["tree"], tree["verify_tokens"]) == ("5/4/16", 16)


@pytest.mark.parametrize(
    ("rule", "shown", "lossy"),
    [
        (VerifyRule.GREEDY, "lossless", False),
        (VerifyRule.RATIO, "lossless", False),
        (VerifyRule.TYPICAL, "typical", True),
        (VerifyRule.RELAXED, "relaxed", True),
    ],
)
def test_lossy_rules_are_named(
    switched_on: Recommendation, rule: VerifyRule, shown: str, lossy: bool
) -> None:
    item = switched_on.configs[0]
    found = prediction_dict(replace(item, config=replace(item.config, verify_rule=rule)))
    assert (found["verify_rule"], found["lossy"], found["acceptance_rule"]) == (shown, lossy, rule)


def test_missing_is_null(by_formula: Recommendation) -> None:
    result = document_of(by_formula)["profiles"][0]
    assert result["baseline"]["tpot_ms"] is None
    config = result["configs"][0]
    for key in ("tpot_ms", "output_tok_s", "chunk_gap_ms", "ttft_delta_ms", "fits_memory"):
        assert config[key] is None
    assert result["next_measurement"] is None


def test_warnings_of_the_command_are_among_them_once(switched_on: Recommendation) -> None:
    command = replace(switched_on.commands[0], warnings=switched_on.warnings)
    result = document_of(replace(switched_on, commands=(command,)))["profiles"][0]
    assert [warning["code"] for warning in result["warnings"]] == ["acceptance-note"]


def test_predict_has_no_decision(switched_on: Recommendation) -> None:
    answer = Answer(
        profile=switched_on.profile,
        title=switched_on.title,
        context_line=switched_on.context_line,
        baseline=switched_on.baseline,
        configs=switched_on.configs,
        beside_plain=switched_on.configs,
        warnings=switched_on.warnings,
        assumptions=switched_on.assumptions,
    )
    document = json.loads(json.dumps(prediction_document([answer]), allow_nan=False))
    jsonschema.validate(document, predict_schema())
    assert not {"decision", "schedule", "commands"} & set(document["profiles"][0])


def test_why_names_flips(switched_on: Recommendation) -> None:
    found = Why(
        profile="p",
        title="t",
        decision=switched_on.decision,
        best=switched_on.configs[0],
        flips=(
            Flip(what="batch", now="16", flips_at="from 192", becomes=State.OFF, note=""),
            Flip(what="device", now="H100", flips_at=None, becomes=None, note="the same"),
        ),
        next_measurement=switched_on.next_measurement,
    )
    result = json.loads(json.dumps(why_document(found), allow_nan=False))["profiles"][0]
    assert [flip["becomes"] for flip in result["flips"]] == ["off", None]
    assert result["best"]["method"] == "eagle3"


positive = st.floats(1e-6, 1e3)


@given(
    survival=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=16),
    parts=st.tuples(st.floats(0.0, 5.0), st.floats(1.0, 9.0), st.floats(0.0, 5.0)),
    baseline_s=positive,
    batch=st.floats(1.0, 512.0),
)
@settings(deadline=None, derandomize=True, max_examples=80)
def test_the_change_of_unit_keeps_identities(
    switched_on_template: Prediction,
    survival: list[float],
    parts: tuple[float, float, float],
    baseline_s: float,
    batch: float,
) -> None:
    tau, step = 1.0 + math.fsum(survival), sum(parts)
    tpot = baseline_s * step / tau
    item = replace(
        switched_on_template,
        batch=batch,
        acceptance_length=Interval.exact(tau),
        acceptance_per_position=tuple(survival),
        verify_cost_ratio=parts[1],
        step_cost_ratio=step,
        step_cost_parts=CostParts(draft=parts[0], verify=parts[1], overhead=parts[2]),
        tpot_s=Interval.exact(tpot),
        speedup=Interval.exact(tau / step),
        output_tok_s=batch / tpot,
        chunk_gap_s=step * baseline_s,
    )
    assert_identities(json.loads(json.dumps(prediction_dict(item))), baseline_s * 1e3)
