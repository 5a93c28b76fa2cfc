"""The JSON Schema of a profile, made from the same table as the validator."""

from __future__ import annotations

from typing import Any

from tuner.profile.table import PROFILE
from tuner.profile.words import CHOICES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def profile_schema() -> dict[str, Any]:
    """Return the schema. What relates two keys stays with the validator, but for the target."""
    by_hand = {
        "properties": {"overrides": {"required": ["acceptance_rate", "draft_cost_ratio"]}},
        "required": ["overrides"],
    }
    return {
        "$schema": DIALECT,
        "title": "specdec-tune profile",
        "description": "One workload: what is served, on what, for whom, and what was measured.",
        **PROFILE.schema(),
        "anyOf": [{"required": ["target"]}, by_hand],
        "$defs": {choice.name: choice.definition() for choice in CHOICES},
    }
