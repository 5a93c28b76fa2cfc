"""Write tuner/catalog/data/{models,accelerators,drafters}.json from data/*.csv.

Run ``python scripts/build_catalog.py`` after changing a CSV; ``--check`` only compares.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

import catalog_drafters
import catalog_gpus
import catalog_models

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tuner" / "catalog" / "data"

Row = dict[str, object]


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of data/``name``, every cell a string."""
    with (ROOT / "data" / name).open(encoding="utf-8", newline="") as handle:
        return [{key: value or "" for key, value in row.items()} for row in csv.DictReader(handle)]


def table(columns: list[str], rows: list[Row], **extra: object) -> str:
    """Return a table as JSON with one row a line, so that changes read well."""
    for row in rows:
        if set(row) != set(columns):
            raise ValueError(f"columns differ: {sorted(set(row) ^ set(columns))}")
    lines = [_compact([row[name] for name in columns]) for row in rows]
    head = {"columns": columns, **extra}
    return _compact(head)[:-1] + ',"rows":[\n' + ",\n".join(lines) + "\n]}\n"


def build() -> dict[str, str]:
    """Return the text of every generated file."""
    raw_models = read("models.csv")
    models = catalog_models.build(raw_models, read("models_more.csv"))
    gpus = catalog_gpus.build(read("gpus.csv"), read("gpus_more.csv"))
    drafters = catalog_drafters.build(
        read("drafters.csv") + read("drafters_more.csv"),
        read("drafter_engines.csv"),
        read("drafter_limits.csv"),
    )
    families = read("draft_families.csv")
    return {
        "models.json": table(
            catalog_models.COLUMNS, models, sizes_only=catalog_models.sizes_only(raw_models, models)
        ),
        "accelerators.json": table(
            catalog_gpus.COLUMNS, gpus,
            aliases=[[r["alias"], r["name"], r["note"] or None] for r in read("gpu_aliases.csv")],
            plain=catalog_gpus.plain_names(gpus, read("gpu_aliases.csv")),
        ),
        "drafters.json": table(
            catalog_drafters.COLUMNS, drafters,
            families=catalog_drafters.families(families),
            small_models=catalog_drafters.small_models(families, [str(r["id"]) for r in models]),
        ),
    }  # fmt: skip


def main() -> int:
    """Write or check the files; return 1 when a checked file is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = []
    for name, text in build().items():
        path = OUT / name
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            stale.append(name)
        if not check:
            OUT.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} is stale: run python scripts/build_catalog.py", file=sys.stderr)
    return 1 if stale else 0


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    raise SystemExit(main())
