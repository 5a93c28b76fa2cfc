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
SCHEDULE_ROW: Schema = {"method": METHOD, "num_speculative_tokens": WHOLE}
SCHEDULE = record(
    by_batch=array(record(**{"from": WHOLE, "to": WHOLE}, **SCHEDULE_ROW)),
    by_temperature=array(record(**{"from": NUMBER, "to_exclusive": NUMBER}, **SCHEDULE_ROW)),
)
COMMAND = record(version=TEXT, argv=array(TEXT), shell=TEXT, config={"type": "object"})
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
    """Return the schema of ``recommend --json``."""
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
    )
    return document("recommend --json", **PROVENANCE, profiles=array(result))


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
        what=TEXT, now=TEXT, flips_at=nullable(TEXT), becomes=nullable(TEXT), note=nullable(TEXT)
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
    step = record(value=NUMBER, state=STATE, speedup=nullable(INTERVAL), best=nullable(CONFIG))
    change = record(**{"from": NUMBER, "to": NUMBER}, state=STATE, **SCHEDULE_ROW)
    swept = record(profile=TEXT, over=TEXT, points=array(step), changes=array(change))
    forms = [
        record(points=array(point), optima=array(optimum)),
        record(**PROVENANCE, profiles=array(swept)),
    ]
    return {**document("sweep --json"), "anyOf": forms}


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
    )


def verify_schema() -> Schema:
    """Return the schema of ``verify --json``."""
    check = record(ok=FLAG)
    return document(
        "verify --json",
        exact=FLAG,
        seed=WHOLE,
        level=SHARE,
        enumeration=array(check),
        chi_square=array(check),
        g_test=nullable(check),
        planted_faults=array(check),
    )


def catalog_schema() -> Schema:
    """Return the schema of ``catalog --json``; the columns of a row depend on the topic."""
    return document("catalog --json", **PROVENANCE, topic=TEXT, rows=array({"type": "object"}))


def skill_schema() -> Schema:
    """Return the schema of ``skill --json``."""
    return document("skill --json", name=TEXT, text=TEXT)


def init_schema() -> Schema:
    """Return the schema of ``init --json``."""
    return document("init --json", file=nullable(TEXT), name=TEXT, text=TEXT)


def error_schema() -> Schema:
    """Return the schema of any failure with ``--json``."""
    problems = array(record(message=TEXT, where=nullable(WHERE)))
    error = record(code={"enum": [1, 2, 3, 4, 70, 130]}, message=TEXT, where=nullable(WHERE))
    error["properties"]["problems"] = problems
    return document("error", error=error)
