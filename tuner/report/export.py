"""Answers as the JSON documents of the contract: dicts of plain values, missing is null.

Times are milliseconds here and seconds in the records; every identity between the numbers of a
record survives the change of unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner import __version__
from tuner.catalog import CATALOG_DATE
from tuner.catalog.priors import load_cost_prior
from tuner.records.config import Prediction, PredictionBeliefs
from tuner.records.decision import (
    Baseline,
    BreakEven,
    EngineCommand,
    LatencyCheck,
    NextMeasurement,
    Recommendation,
    Schedule,
)
from tuner.records.interval import Interval
from tuner.records.sources import Assumption, Warning_
from tuner.records.why import Why
from tuner.units import milliseconds

if TYPE_CHECKING:
    from tuner.advise.predict import Answer

Json = dict[str, object]
SCHEMA_VERSION = 1
#: ids of evidence a row names; ``evidence_count`` counts all
MOST_EVIDENCE = 20
#: the file of fitted step times, which stands for its sources
COST_PRIOR_ID = "cost_prior.json"


def recommendation_document(found: Sequence[Recommendation]) -> Json:
    """Return the document of ``recommend --json``."""
    return document([recommendation_dict(item) for item in found])


def prediction_document(found: Sequence[Answer]) -> Json:
    """Return the document of ``predict --json``: no decision, schedule or commands."""
    return document([answer_dict(item) for item in found])


def why_document(found: Why) -> Json:
    """Return the document of ``why --json``."""
    head = document([])
    head["profiles"] = [
        {
            "profile": found.profile,
            "decision": _decision_dict(found),
            "best": None if found.best is None else prediction_dict(found.best),
            "flips": [
                {
                    "what": flip.what,
                    "now": flip.now,
                    "flips_at": flip.flips_at,
                    "becomes": None if flip.becomes is None else flip.becomes.value,
                    "note": flip.note,
                    "breaks_even_at": flip.breaks_even_at,
                }
                for flip in found.flips
            ],
            "next_measurement": next_measurement_dict(found.next_measurement),
        }
    ]
    return head


def document(profiles: list[Json]) -> Json:
    """Return results under the common head."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "catalog_date": CATALOG_DATE,
        "profiles": profiles,
    }


def recommendation_dict(item: Recommendation) -> Json:
    """Return one RESULT of the contract."""
    commands = {command.engine.value: command_dict(command) for command in item.commands}
    return {
        "profile": item.profile,
        "decision": _decision_dict(item),
        "baseline": baseline_dict(item.baseline),
        "configs": [prediction_dict(config) for config in item.configs],
        "schedule": schedule_dict(item.schedule),
        "commands": commands,
        "warnings": warning_dicts(
            [*item.warnings, *(w for command in item.commands for w in command.warnings)]
        ),
        "assumptions": assumption_dicts(item.assumptions),
        "next_measurement": next_measurement_dict(item.next_measurement),
        "latency_check": _latency_check_dict(item.latency_check),
    }


def _latency_check_dict(item: LatencyCheck | None) -> Json | None:
    """Return the batches that meet the TPOT target; ``users_gain.p90`` null = no finite bound."""
    if item is None:
        return None
    gain: Json | None = None
    if item.gain is not None:
        numbers = interval_dict(item.gain)
        gain = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return {
        "tpot_ms": milliseconds(item.limit_s),
        "plain_batch": _batch_dict(item.plain_batch, item.plain_span),
        "best_batch": _batch_dict(item.best_batch, item.best_span),
        "users_gain": gain,
        "looked_up_to": item.looked_up_to,
    }


def _batch_dict(mean: int, span: tuple[int, int] | None) -> Json:
    low, high = span or (mean, mean)
    return {"mean": mean, "p10": low, "p90": high}


def answer_dict(item: Answer) -> Json:
    """Return one RESULT of ``predict``."""
    return {
        "profile": item.profile,
        "baseline": baseline_dict(item.baseline),
        "configs": [prediction_dict(config) for config in item.configs],
        "warnings": warning_dicts(item.warnings),
        "assumptions": assumption_dicts(item.assumptions),
    }


def prediction_dict(item: Prediction) -> Json:
    """Return one configuration with its numbers."""
    config = item.config
    is_lossy = config.verify_rule.is_lossy
    return {
        "method": config.method.value,
        "drafter": config.drafter.path_or_id if config.drafter else None,
        "num_speculative_tokens": config.num_speculative_tokens,
        "tree": str(config.tree) if config.tree else None,
        "verify_tokens": config.verify_tokens,
        "verify_rule": config.verify_rule.value if is_lossy else "lossless",
        "acceptance_rule": config.verify_rule.value,
        "lossy": is_lossy,
        "batch": item.batch,
        "temperature": item.temperature,
        "acceptance_length": interval_dict(item.acceptance_length),
        "acceptance_per_position": list(item.acceptance_per_position),
        "draft_cost_ratio": item.draft_cost_ratio,
        "verify_cost_ratio": item.verify_cost_ratio,
        "step_cost_ratio": item.step_cost_ratio,
        "step_cost_parts": {
            "draft": item.step_cost_parts.draft,
            "verify": item.step_cost_parts.verify,
            "overhead": item.step_cost_parts.overhead,
        },
        "tpot_ms": None if item.tpot_s is None else milliseconds_dict(item.tpot_s),
        "speedup": interval_dict(item.speedup),
        "output_tok_s": item.output_tok_s,
        "chunk_gap_ms": _milliseconds(item.chunk_gap_s),
        "chunk_tokens_p99": item.chunk_tokens_p99,
        "request_tpot_ms": {
            "p50": _milliseconds(item.request_tpot_p50_s),
            "p99": _milliseconds(item.request_tpot_p99_s),
        },
        "ttft_delta_ms": _milliseconds(item.ttft_delta_s),
        "e2e_ms": _milliseconds(item.e2e_s),
        "usd_per_million_tokens": item.usd_per_million_tokens,
        "fits_memory": item.fits_memory,
        "max_batch": item.max_batch,
        "acceptance_source": item.acceptance_source,
        "evidence": evidence_of(item.evidence),
        "evidence_count": len(item.evidence),
        "beliefs": None if item.beliefs is None else _beliefs_dict(item.beliefs),
    }


def _beliefs_dict(item: PredictionBeliefs) -> Json:
    """Return intervals of the numbers that stand by their means above."""
    usd = item.usd_per_million_tokens
    return {
        "step_cost_ratio": interval_dict(item.step_cost_ratio),
        "output_tok_s": interval_dict(item.output_tok_s),
        "chunk_gap_ms": milliseconds_dict(item.chunk_gap_s),
        "request_tpot_p99_ms": milliseconds_dict(item.request_tpot_p99_s),
        "e2e_ms": milliseconds_dict(item.e2e_s),
        "usd_per_million_tokens": None if usd is None else interval_dict(usd),
    }


def evidence_of(ids: Sequence[str]) -> list[str]:
    """Return what this row rests on, without what all rows rest on alike.

    Step times of every setup come from one table fitted on all sources together: that table is
    named in the place of its sources (``catalog priors --json`` and data/README.md have those).
    """
    shared = frozenset(load_cost_prior().evidence)
    own = [name for name in ids if name not in shared]
    if len(own) < len(ids):
        own = [*own[: MOST_EVIDENCE - 1], COST_PRIOR_ID]
    return own[:MOST_EVIDENCE]


def baseline_dict(item: Baseline) -> Json:
    """Return plain decoding at the profile's load."""
    return {
        "tpot_ms": None if item.tpot_s is None else milliseconds_dict(item.tpot_s),
        "output_tok_s": item.output_tok_s,
        "batch": item.batch,
    }


def schedule_dict(item: Schedule) -> Json:
    """Return the rows by batch (both ends included) and by temperature (end excluded)."""
    return {
        "by_batch": [
            {
                "from": row.start,
                "to": row.end,
                "method": row.method.value,
                "num_speculative_tokens": row.num_speculative_tokens,
                "tree": str(row.tree) if row.tree else None,
                "speedup": row.speedup,
            }
            for row in item.by_batch
        ],
        "by_temperature": [
            {
                "from": row.start,
                "to_exclusive": row.end_exclusive,
                "method": row.method.value,
                "num_speculative_tokens": row.num_speculative_tokens,
                "tree": str(row.tree) if row.tree else None,
                "speedup": row.speedup,
            }
            for row in item.by_temperature
        ],
        "pays_to_batch": _break_even_dict(item.pays_to_batch),
        "pays_to_temperature": _break_even_dict(item.pays_to_temperature),
        "methods_within_belief": item.methods_within_belief,
    }


def _break_even_dict(item: BreakEven | None) -> Json | None:
    if item is None:
        return None
    return {
        "mean": item.mean,
        "p10": item.p10,
        "p90": item.p90,
        "looked_up_to": item.looked_up_to,
        "p10_from": item.p10_from,
        "p90_from": item.p90_from,
    }


def command_dict(item: EngineCommand) -> Json:
    """Return one launch command; ``files`` only where the command needs some."""
    found: Json = {
        "version": item.version,
        "argv": list(item.argv),
        "shell": item.shell,
        "config": item.config,
    }
    if item.files:
        found["files"] = dict(item.files)
    return found


def named_command_dict(item: EngineCommand) -> Json:
    """Return a command that stands by itself: whose it is, and what to know about it."""
    return {
        "engine": item.engine.value,
        **command_dict(item),
        "warnings": warning_dicts(item.warnings),
    }


def warning_dicts(items: Sequence[Warning_]) -> list[Json]:
    """Return every warning once."""
    unique = dict.fromkeys((item.code, item.message) for item in items)
    return [{"code": code, "message": message} for code, message in unique]


def assumption_dicts(items: Sequence[Assumption]) -> list[Json]:
    """Return what the result rests on."""
    return [
        {"what": item.what, "value": item.value, "kind": item.kind.value, "source": item.source}
        for item in items
    ]


def next_measurement_dict(item: NextMeasurement | None) -> Json | None:
    """Return what to measure next."""
    if item is None:
        return None
    return {"what": item.what, "why": item.why, "command": item.command}


def interval_dict(item: Interval) -> dict[str, float]:
    """Return a mean with its percentiles."""
    return {"mean": item.mean, "p10": item.p10, "p90": item.p90}


def milliseconds_dict(item: Interval) -> Json:
    """Return a time in seconds as milliseconds."""
    return {
        "mean": milliseconds(item.mean),
        "p10": milliseconds(item.p10),
        "p90": milliseconds(item.p90),
    }


def _decision_dict(item: Recommendation | Why) -> Json:
    decision = item.decision
    return {
        "state": decision.state.value,
        "reason": decision.reason,
        "break_even_acceptance_length": decision.break_even_acceptance_length,
        "confidence": decision.confidence,
    }


def _milliseconds(value_s: float | None) -> float | None:
    return None if value_s is None else milliseconds(value_s)
