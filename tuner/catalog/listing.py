"""The tables as lists of plain rows with their origin, filtered by words; for screens and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.catalog.accelerators import find_accelerator
from tuner.catalog.drafters import drafters_for, engines_of, published_drafters, recommended_setting
from tuner.catalog.models import resolve_model
from tuner.catalog.names import match, nearest, quoted
from tuner.catalog.tables import CATALOG_DATE, read_document, read_rows
from tuner.errors import MissingDataError
from tuner.records.methods import Method

Row = dict[str, Any]


def model_rows(words: str = "") -> list[Row]:
    """Return known targets: what is stated, what was computed from the dimensions, and origins."""
    rows = []
    for row in _matching(read_rows("models").values(), words, ("id",), find=_model_key):
        rows.append({**row, "date": CATALOG_DATE, "drafters": _drafter_methods(row["id"])})
    return _found(rows, words, read_rows("models"), "model")


def gpu_rows(words: str = "") -> list[Row]:
    """Return known devices in units of their data sheets, with the other spellings of each."""
    aliases: dict[str, list[str]] = {}
    for alias, name, _ in read_document("accelerators")["aliases"]:
        aliases.setdefault(name, []).append(alias)
    rows = []
    table = read_rows("accelerators")
    for row in _matching(table.values(), words, ("name", "vendor", "kind"), find=_gpu_key):
        rows.append({**row, "date": CATALOG_DATE, "aliases": aliases.get(row["name"], [])})
    return _found(rows, words, table, "device")


def drafter_rows(words: str = "") -> list[Row]:
    """Return published drafters, the ones that are not proposed included, with the reason.

    A target that has none gives an empty list; a name that is neither a target nor any part of a
    drafter's name is an error.
    """
    document = read_document("drafters")
    table = [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]
    rows = _matching(table, words, ("target", "method", "path_or_id", "trained_by"))
    if not rows and words:
        rows = list(published_drafters(words))
        if not rows and resolve_model(words)[0] is None:
            targets = [row["target"] for row in table]
            raise _unknown(words, [*targets, *read_rows("models")], "target or drafter")
    return [
        {
            **row,
            "engines": list(engines_of(row)),
            "setting": recommended_setting(row),
            "date": CATALOG_DATE,
        }
        for row in rows
    ]


def small_model_rows(target_id: str) -> list[Row]:
    """Return small models that could draft for a target and are not listed as its drafters."""
    listed = {row["path_or_id"] for row in published_drafters(target_id)}
    return [
        {
            "target": drafter.target_id,
            "method": drafter.method.value,
            "path_or_id": drafter.path_or_id,
            "params": drafter.params,
            "source": drafter.source.reference if drafter.source else None,
            "grade": drafter.source.grade.value if drafter.source else None,
            "date": drafter.source.date if drafter.source else None,
            "note": drafter.source.note if drafter.source else None,
        }
        for drafter in drafters_for(target_id)
        if drafter.method is Method.DRAFT_MODEL and drafter.path_or_id not in listed
    ]


def _drafter_methods(model_id: str) -> list[str]:
    methods = dict.fromkeys(drafter.method for drafter in drafters_for(model_id))
    return [method.value for method in sorted(methods, key=list(Method).index)]


def _matching(table: Any, words: str, columns: Sequence[str], *, find: Any = None) -> list[Row]:
    """Return the rows that hold every word; the row of an exact or resolvable name alone."""
    wanted = words.casefold().split()
    rows = list(table)
    if not words:
        return rows
    exact = [row for row in rows if any(_text(row, (c,)) == words.casefold() for c in columns)]
    if exact:
        return exact
    found = [row for row in rows if all(word in _text(row, columns) for word in wanted)]
    if not found and find is not None:
        key = find(words)
        found = [row for row in rows if row[columns[0]] == key]
    return found


def _text(row: Row, columns: Sequence[str]) -> str:
    return " ".join(str(row[name]) for name in columns if row[name] is not None).casefold()


def _model_key(words: str) -> str | None:
    return resolve_model(words)[0]


def _gpu_key(words: str) -> str | None:
    try:
        return find_accelerator(words).name
    except MissingDataError:
        return None


def _found(rows: list[Row], words: str, known: Any, what: str) -> list[Row]:
    if not rows:
        raise _unknown(words, known, what)
    return rows


def _unknown(words: str, known: Any, what: str) -> MissingDataError:
    close = nearest(words, known)
    hint = f" Nearest: {', '.join(close)}." if close else ""
    sizes = read_document("models")["sizes_only"]
    if what == "model" and (key := match(words, sizes)):
        hint = f" Of {key} only the sizes are known: {sizes[key][0]:g}B in all ({sizes[key][3]})."
    return MissingDataError(f"no {what} in the catalog matches {quoted(words)}.{hint}")
