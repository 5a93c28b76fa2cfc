"""JSON Schemas of what commands print with ``--json``.

They state what scripts may rely on: names, types and which keys are always there. More keys may be
added; a key is never removed or given another meaning under the same ``schema_version``.
"""

from __future__ import annotations

from typing import Any

from tuner.profile.schema import DIALECT
from tuner.records.methods import Engine, Method, VerifyRule

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
METHOD: Schema = {"enum": [str(method) for method in Method]}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null: missing is null, never NaN or −1."""
    return {"anyOf": [schema, {"type": "null"}]}


def array(items: Schema) -> Schema:
    """Return a list of one kind."""
    return {"type": "array", "items": items}


def record(**properties: Schema) -> Schema:
    """Return an object that always has these keys."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def document(title: str, **properties: Schema) -> Schema:
    """Return a whole document of version 1."""
    body = record(schema_version={"const": 1}, **properties)
    return {"$schema": DIALECT, "title": f"specdec-tune {title}", **body}


def one_of(title: str, *forms: Schema) -> Schema:
    """Return a document of version 1 that has one of several forms, told apart by their keys."""
    return {**document(title), "anyOf": list(forms)}


def sometimes(schema: Schema, **properties: Schema) -> Schema:
    """Return a record that has these keys besides, where they apply."""
    return {**schema, "properties": {**schema["properties"], **properties}}


INTERVAL = record(mean=NUMBER, p10=NUMBER, p90=NUMBER)
WHERE = record(file=nullable(TEXT), line=nullable(WHOLE), key=nullable(TEXT))
TREE = {"type": "string", "pattern": r"^\d+/\d+/\d+$"}
CONFIG = record(
    method=METHOD,
    drafter=nullable(TEXT),
    num_speculative_tokens={"type": "integer", "minimum": 0},
    tree=nullable({"anyOf": [TREE, {"type": "object"}]}),
    verify_tokens={"type": "integer", "minimum": 1},
    verify_rule={"enum": [str(rule) for rule in VerifyRule] + ["lossless", "lossy"]},
    acceptance_rule={"enum": [str(rule) for rule in VerifyRule]},
    lossy=FLAG,
    batch=NUMBER,
    temperature=NUMBER,
    acceptance_length=INTERVAL,
    acceptance_per_position=array(SHARE),
    draft_cost_ratio=nullable(NUMBER),
    verify_cost_ratio=NUMBER,
    step_cost_ratio=NUMBER,
    step_cost_parts=record(draft=NUMBER, verify=NUMBER, overhead=NUMBER),
    tpot_ms=nullable(INTERVAL),
    speedup=INTERVAL,
    output_tok_s=nullable(NUMBER),
    chunk_gap_ms=nullable(NUMBER),
    chunk_tokens_p99=nullable(WHOLE),
    request_tpot_ms=record(p50=nullable(NUMBER), p99=nullable(NUMBER)),
    ttft_delta_ms=nullable(NUMBER),
    e2e_ms=nullable(NUMBER),
    usd_per_million_tokens=nullable(NUMBER),
    fits_memory=nullable(FLAG),
    max_batch=nullable(WHOLE),
    acceptance_source=TEXT,
    evidence=array(TEXT),
    evidence_count=WHOLE,
    beliefs=nullable(
        record(
            step_cost_ratio=INTERVAL,
            output_tok_s=INTERVAL,
            chunk_gap_ms=INTERVAL,
            request_tpot_p99_ms=INTERVAL,
            e2e_ms=INTERVAL,
            usd_per_million_tokens=nullable(INTERVAL),
        )
    ),
)
BASELINE = record(tpot_ms=nullable(INTERVAL), output_tok_s=nullable(NUMBER), batch=NUMBER)
WARNINGS = array(record(code=TEXT, message=TEXT))
ASSUMPTIONS = array(
    record(
        what=TEXT,
        value=TEXT,
        kind={"enum": ["default", "prior", "observed", "override"]},
        source=TEXT,
    )
)
SETTING: Schema = {"method": METHOD, "num_speculative_tokens": WHOLE}
SCHEDULE_ROW: Schema = {**SETTING, "tree": nullable(TREE), "speedup": NUMBER}
BREAK_EVEN = nullable(
    record(
        mean=nullable(NUMBER),
        p10=nullable(NUMBER),
        p90=nullable(NUMBER),
        looked_up_to=NUMBER,
        p10_from=nullable(NUMBER),
        p90_from=nullable(NUMBER),
    )
)
LATENCY_CHECK = nullable(
    record(
        tpot_ms=NUMBER,
        plain_batch=INTERVAL,
        best_batch=INTERVAL,
        users_gain=nullable(record(mean=NUMBER, p10=NUMBER, p90=nullable(NUMBER))),
        looked_up_to=nullable(WHOLE),
    )
)
SCHEDULE = record(
    by_batch=array(record(**{"from": WHOLE, "to": WHOLE}, **SCHEDULE_ROW)),
    by_temperature=array(record(**{"from": NUMBER, "to_exclusive": NUMBER}, **SCHEDULE_ROW)),
    pays_to_batch=BREAK_EVEN,
    pays_to_temperature=BREAK_EVEN,
    methods_within_belief=FLAG,
)
COMMAND = sometimes(
    record(version=TEXT, argv=array(TEXT), shell=TEXT, config={"type": "object"}),
    files={"type": "object", "additionalProperties": TEXT},
)
STATE: Schema = {"enum": ["on", "off", "measure"]}
NEXT_MEASUREMENT = nullable(record(what=TEXT, why=TEXT, command=nullable(TEXT)))
PROVENANCE = {"tool_version": TEXT, "catalog_date": TEXT}
DECISION = record(
    state=STATE,
    reason=TEXT,
    break_even_acceptance_length=nullable(NUMBER),
    confidence=SHARE,
)


def recommend_schema() -> Schema:
    """Return the schema of ``recommend --json``, and of the commands alone (``--emit`` …)."""
    result = record(
        profile=TEXT,
        decision=DECISION,
        baseline=BASELINE,
        configs=array(CONFIG),
        schedule=SCHEDULE,
        commands={
            "type": "object",
            "propertyNames": {"enum": [str(engine) for engine in Engine]},
            "additionalProperties": COMMAND,
        },
        warnings=WARNINGS,
        assumptions=ASSUMPTIONS,
        next_measurement=NEXT_MEASUREMENT,
        latency_check=LATENCY_CHECK,
    )
    command = sometimes(
        record(engine={"enum": [str(engine) for engine in Engine]}, warnings=WARNINGS),
        **COMMAND["properties"],
    )
    command["required"] += COMMAND["required"]
    return one_of(
        "recommend --json",
        record(**PROVENANCE, profiles=array(result)),
        record(commands=array(command)),
    )


def predict_schema() -> Schema:
    """Return the schema of ``predict --json``."""
    result = record(
        profile=TEXT,
        baseline=BASELINE,
        configs=array(CONFIG),
        warnings=WARNINGS,
        assumptions=ASSUMPTIONS,
    )
    return document("predict --json", **PROVENANCE, profiles=array(result))


def why_schema() -> Schema:
    """Return the schema of ``why --json``."""
    flip = record(
        what=TEXT,
        now=TEXT,
        flips_at=nullable(TEXT),
        becomes=nullable(TEXT),
        note=nullable(TEXT),
        breaks_even_at=nullable(NUMBER),
    )
    result = record(
        profile=TEXT,
        decision=DECISION,
        best=nullable(CONFIG),
        flips=array(flip),
        next_measurement=NEXT_MEASUREMENT,
    )
    return document("why --json", **PROVENANCE, profiles=array(result))


def sweep_schema() -> Schema:
    """Return the schema of ``sweep --json``: over the formula's grid, or over one of a profile."""
    point = record(
        alpha=SHARE,
        c=nullable(NUMBER),
        num_speculative_tokens=WHOLE,
        expected_tokens=NUMBER,
        time_per_token=nullable(NUMBER),
        speedup=nullable(NUMBER),
    )
    optimum = record(alpha=SHARE, c=NUMBER, num_speculative_tokens=WHOLE, speedup=NUMBER)
    step = record(
        value=NUMBER,
        state=STATE,
        plain_tpot_ms=nullable(INTERVAL),
        speedup=nullable(INTERVAL),
        best=nullable(CONFIG),
    )
    change = record(**{"from": NUMBER, "to": NUMBER}, state=STATE, **SETTING)
    swept = record(profile=TEXT, over=TEXT, points=array(step), changes=array(change))
    return one_of(
        "sweep --json",
        record(points=array(point), optima=array(optimum)),
        record(**PROVENANCE, profiles=array(swept)),
    )


def tree_schema() -> Schema:
    """Return the schema of ``tree --json``."""
    return document(
        "tree --json",
        nodes=WHOLE,
        depth=WHOLE,
        expected_tokens={"type": "number", "minimum": 1},
        parents=array({"type": "integer", "minimum": -1}),
        ranks=array(WHOLE),
        depth_histogram=array(WHOLE),
        mask=nullable(array({"anyOf": [TEXT, array(WHOLE)]})),
        engines={"type": "object", "additionalProperties": nullable({"type": "object"})},
        limits=record(nodes=WHOLE, depth=nullable(WHOLE), allow_gaps=FLAG),
        survival=array(SHARE),
        comparison={"type": "object", "additionalProperties": nullable({"type": "object"})},
    )


def verify_schema() -> Schema:
    """Return the schema of ``verify --json``."""
    fit: Schema = {
        "samples": WHOLE,
        "statistic": nullable(NUMBER),
        "degrees_of_freedom": WHOLE,
        "critical": nullable(NUMBER),
        "p_value": NUMBER,
        "ok": FLAG,
    }
    law = record(
        case=TEXT,
        vocab_size=WHOLE,
        num_speculative_tokens=WHOLE,
        outcomes=WHOLE,
        max_deviation=NUMBER,
        total_variation=NUMBER,
        ok=FLAG,
    )
    sampled = record(case=TEXT, num_speculative_tokens=WHOLE, restarts=WHOLE, steps=WHOLE, **fit)
    divergence = record(
        vocab_size=WHOLE,
        num_speculative_tokens=WHOLE,
        acceptance_rate=NUMBER,
        kl=nullable(NUMBER),
        expected_kl=NUMBER,
        **fit,
    )
    fault = record(fault=TEXT, what=TEXT, total_variation=NUMBER, power=NUMBER, caught=FLAG, **fit)
    return document(
        "verify --json",
        exact=FLAG,
        seed=WHOLE,
        level=SHARE,
        rule=TEXT,
        lossy=FLAG,
        fault=nullable(TEXT),
        enumeration=array(law),
        chi_square=array(sampled),
        g_test=divergence,
        planted_faults=array(fault),
    )


def simulate_schema() -> Schema:
    """Return the schema of ``simulate --json``: of trials by K, or of trees beside chains."""
    trial = record(
        quality=TEXT,
        vocab_size=WHOLE,
        num_speculative_tokens=WHOLE,
        sequences=WHOLE,
        steps=WHOLE,
        kl=nullable(NUMBER),
        total_variation=NUMBER,
        acceptance_rate=record(
            given=nullable(NUMBER),
            one_minus_total_variation=NUMBER,
            measured=NUMBER,
            standard_error=nullable(NUMBER),
        ),
        conditional_acceptance=array(nullable(NUMBER)),
        acceptance_length=record(measured=NUMBER, standard_error=nullable(NUMBER), formula=NUMBER),
        accepted_histogram=array(WHOLE),
        draft_cost_ratio=NUMBER,
        time_per_token=NUMBER,
        speedup=NUMBER,
        kv_cache={"type": "object", "additionalProperties": WHOLE},
    )
    length = record(measured=NUMBER, standard_error=NUMBER)
    tree = record(
        name=TEXT,
        verify_tokens=WHOLE,
        draft_steps=WHOLE,
        acceptance_length=length,
        chain_with_equal_verify_tokens=length,
        chain_with_equal_draft_steps=length,
    )
    head: Schema = {"models": TEXT, "seed": WHOLE}
    return one_of(
        "simulate --json",
        record(**head, trials=array(trial)),
        record(**head, trees=array(tree)),
    )


def lesson_schema() -> Schema:
    """Return the schema of ``lesson --json``: the list, one lesson, or what was written."""
    table = record(title=TEXT, columns=array(TEXT), rows=array(array(TEXT)))
    curve = record(label=TEXT, x=array(NUMBER), y=array(NUMBER))
    return one_of(
        "lesson --json",
        record(lessons=array(record(name=TEXT, title=TEXT))),
        record(
            name=TEXT,
            title=TEXT,
            findings=array(TEXT),
            tables=array(table),
            x=TEXT,
            y=TEXT,
            curves=array(curve),
            related=array(TEXT),
        ),
        record(written=array(TEXT)),
    )


def catalog_schema() -> Schema:
    """Return the schema of ``catalog --json``; the columns of a row depend on the topic."""
    return document(
        "catalog --json",
        **PROVENANCE,
        topic=nullable(TEXT),
        filter=nullable(TEXT),
        rows=array({"type": "object"}),
    )


def skill_schema() -> Schema:
    """Return the schema of ``skill --json``: the text, or with ``--install`` the files."""
    return one_of("skill --json", record(name=TEXT, text=TEXT), record(written=array(TEXT)))


def init_schema() -> Schema:
    """Return the schema of ``init --json``."""
    return document("init --json", file=nullable(TEXT), name=TEXT, text=TEXT)


def error_schema() -> Schema:
    """Return the schema of any failure with ``--json``."""
    problems = array(record(message=TEXT, where=nullable(WHERE)))
    error = record(code={"enum": [1, 2, 3, 4, 70, 130]}, message=TEXT, where=nullable(WHERE))
    error["properties"]["problems"] = problems
    return document("error", error=error)
