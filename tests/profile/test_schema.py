"""The schema says what the validator does, wherever JSON Schema can say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.profile import parse_profile, shipped_profiles
from tuner.profile.fields import NameOr, Section
from tuner.profile.kinds import ByMethod, Date, Mix, Problems, ValueKind
from tuner.profile.nodes import read_tree
from tuner.profile.schema import profile_schema
from tuner.profile.table import PROFILE

SCHEMA = profile_schema()
CHECKER = jsonschema.Draft202012Validator(SCHEMA)


def as_json(value: Any) -> Any:
    """Return a YAML value as an editor's schema checker sees it."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def leaves(section: Section, prefix: str = "") -> Iterator[tuple[str, ValueKind]]:
    for name, field in section.fields.items():
        inner = field.kind.section if isinstance(field.kind, NameOr) else field.kind
        if isinstance(inner, Section):
            yield from leaves(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", inner


LEAVES = dict(leaves(PROFILE))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(shipped_profiles()))
def test_shipped_profiles_satisfy_the_schema_and_name_it(name: str) -> None:
    text = Path(shipped_profiles()[name]).read_text()
    CHECKER.validate(as_json(yaml.safe_load(text)))
    assert "# yaml-language-server: $schema=profile.schema.json" in text


def test_the_shipped_schema_is_the_printed_one() -> None:
    shipped = Path(next(iter(shipped_profiles().values()))).parent / "profile.schema.json"
    assert json.loads(shipped.read_text()) == SCHEMA


VALUES = (
    st.sampled_from(
        [
            *("chat", "eagle3", "EAGLE3", "egle", "vllm", "bfloat16", "gguf:Q4_K_M", "5/4/8"),
            *("5/4", "", "0.33.0", "x y", "latency", "2026-05-03", "  ", "true", "16"),
            *([], {}, [1, 1], ["a"], [1, 2], ["eagle3", "mtp"]),
            *({"chat": 1.0}, {"eagle3": 0.5}, {"nonsense": 0.5}),
        ]
    )
    | st.booleans()
    | st.integers(-3, 70_000)
    | st.floats(-2, 2_000, allow_nan=False)
    | st.sampled_from([10**12, 1e30, -0.0, 16.0, 0.5, 1.0, 0])
    | st.lists(st.integers(0, 300), max_size=4)
    | st.text("abc:{}#", max_size=8)
)


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(st.sampled_from(sorted(LEAVES)), VALUES)
def test_each_field_agrees_with_its_schema(key: str, value: Any) -> None:
    kind = LEAVES[key]
    problems = Problems()
    kind.read(read_tree(yaml.safe_dump(value), "p"), key, problems)
    is_valid = jsonschema.Draft202012Validator({**kind.schema(), "$defs": SCHEMA["$defs"]})
    agrees = is_valid.is_valid(value) is not bool(problems)
    if isinstance(kind, Date | Mix | ByMethod):  # formats, sums and ranges of keys: one way only
        assert agrees or (problems and is_valid.is_valid(value))
    else:
        assert agrees, (key, value, problems)


@settings(deadline=None, derandomize=True, max_examples=250)
@given(st.data())
def test_what_the_validator_accepts_the_schema_accepts(data: st.DataObject) -> None:
    document: dict[str, Any] = yaml.safe_load(
        Path(shipped_profiles()["chat-llama-3.3-70b"]).read_text()
    )
    for _ in range(data.draw(st.integers(1, 3))):
        parts = data.draw(st.sampled_from(sorted(LEAVES))).split(".")
        section = document
        for part in parts[:-1]:
            inner = section.get(part)
            section[part] = inner if isinstance(inner, dict) else {}
            section = section[part]
        section[parts[-1]] = data.draw(VALUES)
    try:
        parse_profile(yaml.safe_dump(document), file="p", name="p")
    except TunerError:
        return
    CHECKER.validate(as_json(document))
