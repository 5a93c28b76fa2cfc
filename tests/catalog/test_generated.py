"""The shipped tables are what the script makes of data/*.csv, small and quick to read."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.catalog import CATALOG_DATE
from tuner.catalog.tables import read_document

ROOT = Path(__file__).parents[2]
TABLES = ("models", "accelerators", "drafters")
RAW = ("models.csv", "gpus.csv", "drafters.csv")


def test_the_tables_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "build_catalog.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_small(table: str) -> None:
    path = ROOT / "tuner" / "catalog" / "data" / f"{table}.json"
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_source_and_grade(table: str) -> None:
    document = read_document(table)
    columns = document["columns"]
    for row in document["rows"]:
        values = dict(zip(columns, row, strict=True))
        assert values["source"], row[0]
        assert values["grade"] in ("exact", "measured", "reported", "derived", "assumed")


@pytest.mark.parametrize("table", TABLES)
def test_remarks_are_in_words_of_our_own(table: str) -> None:
    text = (ROOT / "tuner" / "catalog" / "data" / f"{table}.json").read_text(encoding="utf-8")
    for words in (r"from memory", r"\(memory\)", r"my knowledge", r"notes\.md", r"mirrors? of "):
        assert not re.search(words, text), words


def test_the_date_is_a_month() -> None:
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", CATALOG_DATE)


def test_no_accelerator_number_is_lost_or_invented() -> None:
    """Every number of the raw table stands in the generated one, in the same unit."""
    columns = {
        "hbm_gb": "memory_gb",
        "hbm_bw_tb_s": "bandwidth_tb_s",
        "bf16_dense_tflops": "bf16_tflops",
        "fp8_dense_tflops": "fp8_tflops",
        "int8_dense_tops": "int8_tops",
        "fp4_dense_tflops": "fp4_tflops",
        "measured_bf16_mamf_tflops": "measured_bf16_tflops",
        "nvlink_gb_s": "interconnect_gb_s",
        "tdp_w": "power_w",
    }
    document = read_document("accelerators")
    built = {row[0]: dict(zip(document["columns"], row, strict=True)) for row in document["rows"]}
    with (ROOT / "data" / "gpus.csv").open(encoding="utf-8", newline="") as handle:
        for raw in csv.DictReader(handle):
            for before, after in columns.items():
                if raw[before]:
                    assert built[raw["name"]][after] == float(raw[before])


@pytest.mark.parametrize("name", RAW)
def test_raw_tables_state_a_source_for_every_row(name: str) -> None:
    with (ROOT / "data" / name).open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            assert row["source_ref"]


def test_tables_hold_no_numbers_that_json_lacks() -> None:
    for table in TABLES:
        path = ROOT / "tuner" / "catalog" / "data" / f"{table}.json"

        def refuse(constant: str) -> None:
            raise AssertionError(constant)

        json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
