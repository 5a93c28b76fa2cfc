"""Generated tables that ship with the package: read on demand, once, and never written."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tuner.records.sources import Grade, Source

_DATA = Path(__file__).parent / "data"

#: when the published facts were collected (the source files state the month only)
CATALOG_DATE = "2026-11"


@cache
def read_rows(table: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a generated table by their key, in file order. Treat as read-only."""
    document = json.loads((_DATA / f"{table}.json").read_text(encoding="utf-8"))
    columns = document["columns"]
    return {row[0]: dict(zip(columns, row, strict=True)) for row in document["rows"]}


@cache
def read_document(table: str) -> dict[str, Any]:
    """Return a generated file that is not a table of rows. Treat as read-only."""
    document: dict[str, Any] = json.loads((_DATA / f"{table}.json").read_text(encoding="utf-8"))
    return document


def row_source(row: dict[str, Any]) -> Source:
    """Return the origin that a row states for its numbers."""
    return Source(
        reference=row["source"],
        grade=Grade(row["grade"]),
        date=CATALOG_DATE,
        note=row["note"],
    )
