"""Bringing measurements of one setup together."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.evidence import acceptance_length_of, cells, read_measurements, speed_rows
from scripts.evidence_rows import COLUMNS

COMMON = {
    "source": "someone",
    "sweep": "s1",
    "target_model": "Qwen3-8B",
    "target_params_b": "8",
    "engine": "vLLM",
    "gpu": "H100",
    "task": "gsm8k",
    "temperature": "0",
    "batch": "8",
}


def read(tmp_path: Path, *rows: dict[str, str]):
    lines = [",".join(COLUMNS)]
    for number, row in enumerate(rows):
        full = {"id": f"r{number}", **COMMON, **row}
        lines.append(",".join(full.get(column, "") for column in COLUMNS))
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_measurements(file)


def run(k: int, value: float, metric: str = "output_tok_s", **more: str) -> dict[str, str]:
    row = {"method": "eagle3", "draft_len_k": str(k), "metric": metric, "value": str(value)}
    return {**row, **more}


PLAIN = {"method": "none", "metric": "baseline_output_tok_s", "value": "1000"}


def test_a_speed_is_set_against_the_plain_run_of_its_setup(tmp_path: Path) -> None:
    (fast,) = speed_rows(read(tmp_path, PLAIN, run(3, 1500), run(3, 2.2, "tau")))
    assert fast.speedup == pytest.approx(1.5)
    assert fast.acceptance_length == pytest.approx(2.2)
    assert fast.plain_output_tok_s == 1000
    assert fast.ids == ("r1", "r2")


def test_times_are_turned_round(tmp_path: Path) -> None:
    plain = {"method": "none", "metric": "baseline_tpot_ms", "value": "20"}
    (fast,) = speed_rows(read(tmp_path, plain, run(3, 10, "tpot_ms")))
    assert fast.speedup == pytest.approx(2.0)
    assert fast.tpot_s == pytest.approx(0.010)


def test_the_plain_run_of_another_batch_does_not_count(tmp_path: Path) -> None:
    (fast,) = speed_rows(read(tmp_path, {**PLAIN, "batch": "1"}, run(3, 1500)))
    assert fast.speedup is None


def test_the_plain_run_of_another_task_does_not_count(tmp_path: Path) -> None:
    (fast,) = speed_rows(read(tmp_path, {**PLAIN, "task": "mt-bench"}, run(3, 1500)))
    assert fast.speedup is None


def test_repeated_plain_runs_are_averaged(tmp_path: Path) -> None:
    (fast,) = speed_rows(read(tmp_path, PLAIN, {**PLAIN, "value": "1200"}, run(3, 1650)))
    assert fast.speedup == pytest.approx(1.5)


def test_a_note_may_name_the_sweep_of_the_plain_run(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        {**PLAIN, "sweep": "base"},
        run(3, 1500, sweep="head", note="baseline_sweep=base"),
    )
    assert speed_rows(rows)[0].speedup == pytest.approx(1.5)


def test_rows_marked_by_use_are_left_out(tmp_path: Path) -> None:
    assert speed_rows(read(tmp_path, PLAIN, run(3, 1500, use="not a cell of its own"))) == []


def test_adaptive_methods_are_no_static_setting(tmp_path: Path) -> None:
    rows = read(tmp_path, PLAIN, run(3, 1500, method="mtp-adaptive"))
    assert speed_rows(rows) == []
    assert len(speed_rows(rows, static_only=False)) == 1


def test_a_cell_needs_two_draft_lengths(tmp_path: Path) -> None:
    assert cells(read(tmp_path, PLAIN, run(3, 1500))) == []
    (cell,) = cells(read(tmp_path, PLAIN, run(1, 1300), run(3, 1500), run(5, 1400)))
    assert cell.speed == {1: 1300, 3: 1500, 5: 1400}
    assert cell.speedup == pytest.approx({1: 1.3, 3: 1.5, 5: 1.4})


def test_trees_are_not_part_of_a_cell(tmp_path: Path) -> None:
    tree = run(5, 1800, num_steps="5", topk="4", num_draft_tokens="8")
    assert cells(read(tmp_path, run(3, 1500), tree)) == []
    (cell,) = cells(read(tmp_path, PLAIN, run(3, 1500), run(5, 1600), tree))
    assert cell.speedup == pytest.approx({3: 1.5, 5: 1.6})


def test_a_cell_of_times_holds_speeds(tmp_path: Path) -> None:
    (cell,) = cells(read(tmp_path, run(1, 10, "tpot_ms"), run(3, 8, "tpot_ms")))
    assert cell.speed[3] > cell.speed[1]


def test_repeats_inside_a_cell_show_their_spread(tmp_path: Path) -> None:
    rows = read(tmp_path, run(1, 100), run(1, 104), run(3, 120))
    (cell,) = cells(rows)
    assert cell.speed[1] == pytest.approx(102)
    assert cell.repeat_spread == pytest.approx({1: 0.04})


def test_tau_from_the_survival_of_every_position(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        run(2, 0.7, "survival_pos1"),
        run(2, 0.4, "survival_pos2"),
    )
    assert acceptance_length_of(rows, 2) == pytest.approx(2.1)
    assert acceptance_length_of(rows[:1], 2) is None


def test_tau_from_accepted_over_drafted_only_where_the_note_says_so(tmp_path: Path) -> None:
    drafted = read(tmp_path, run(4, 0.5, "alpha", note="accepted divided by drafted"))
    assert acceptance_length_of(drafted, 4) == pytest.approx(3.0)
    conditional = read(tmp_path, run(4, 0.5, "alpha", note="chance that a token is accepted"))
    assert acceptance_length_of(conditional, 4) is None


def test_drafts_cut_short_by_confidence_give_no_tau(tmp_path: Path) -> None:
    note = "accepted divided by drafted; p-min 0.75"
    rows = read(tmp_path, run(4, 0.9, "alpha", note=note))
    assert acceptance_length_of(rows, 4) is None
