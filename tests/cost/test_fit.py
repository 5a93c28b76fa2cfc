"""The fit finds what it was given, leaves out what it is told to, and gives what ships."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from scripts.cost_rows import RATIO, STEP, FitRow, make_row
from scripts.cost_setups import Configuration
from scripts.evidence_rows import MeasuredRow, read_measurements
from scripts.fit_costs import all_rows, document_of, fit, fit_from
from tests.cost.setups import PLAIN, on, plan
from tuner.catalog.priors import load_cost_prior
from tuner.cost.layout import Block, Settings, step_layout, terms_of
from tuner.cost.levels import log_parameters, plan_levels, setup_levels
from tuner.cost.roofline import INDEX
from tuner.cost.steps import step_parts
from tuner.records.cost import CostSetup
from tuner.records.cost_prior import PARAMETERS
from tuner.records.methods import Method

MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B")
DEVICES = ("A100-80GB-SXM", "H100-SXM", "H200-SXM", "B200-SXM")


@cache
def measured() -> list[MeasuredRow]:
    return read_measurements()


def _synthetic(factor: float, shift: float) -> list[FitRow]:
    """Exact times of an imagined world whose matrix units are ``factor`` times as efficient."""
    prior = load_cost_prior()
    rows = []
    for number, device in enumerate(DEVICES):
        for model in MODELS:
            setup = on(model, device)
            centre = log_parameters(prior, setup_levels(setup))
            centre[INDEX["matmul_efficiency"]] += np.log(factor)
            for batch in (1.0, 64.0, 256.0):
                for k in (0, 3, 7):
                    rows.append(_row(setup, centre, batch, k, f"source {number}", shift))
    return rows


def _row(
    setup: CostSetup, centre: np.ndarray, batch: float, k: int, source: str, shift: float
) -> FitRow:
    draft = plan(Method.EAGLE3) if k else PLAIN
    place = Configuration(batch, float(k), k + 1.0, 1000.0)
    batch_of, steps, tokens, context = (np.array([number]) for number in place)
    block = Block((Settings(draft, steps, tokens),), batch_of, context)
    terms = terms_of([step_layout(setup, block)])
    levels = plan_levels(setup, draft)
    moved = centre + log_parameters(load_cost_prior(), levels) - np.array(load_cost_prior().mean)
    parts = step_parts(terms, moved)
    value = parts.step.seconds[0] / (parts.baseline.seconds[0] if k else 1.0)
    return make_row(
        setup,
        draft,
        place,
        ids=(f"{source} {batch} {k}",),
        source=source,
        value=float(value) * (1.0 + shift),
        weights=RATIO if k else STEP,
        noise=0.02,
    )


def test_a_change_of_the_world_is_found() -> None:
    """Two imagined worlds differ only in matmul efficiency, by a factor of 1.5."""
    low, _ = fit_from(_synthetic(0.8, 0.0))
    high, _ = fit_from(_synthetic(1.2, 0.0))
    setup = on(MODELS[0], "H100-SXM")
    levels = setup_levels(setup)
    change = log_parameters(high, levels) - log_parameters(low, levels)
    assert change[INDEX["matmul_efficiency"]] == pytest.approx(np.log(1.5), abs=0.12)
    others = [INDEX[name] for name in ("bandwidth_efficiency", "layer_floor_s", "draft_scale")]
    assert np.abs(change[others]).max() < 0.12


def test_rows_of_one_source_count_less_than_as_many_sources() -> None:
    """Five copies of a slow source do not outvote three others."""
    rows = _synthetic(1.0, 0.0)
    slow = [row for row in _synthetic(1.0, 0.6) if row.source == "source 0"]
    honest = [row for row in rows if row.source != "source 0"]
    few, _ = fit_from([*honest, *slow])
    many, _ = fit_from([*honest, *slow * 5])
    place = INDEX["bandwidth_efficiency"]
    assert few.mean[place] == pytest.approx(many.mean[place], abs=0.05)


def test_what_is_left_out_is_not_read() -> None:
    everything = all_rows(measured())
    source = "SpecBundle performance dashboard (SGLang SpecForge)"
    target = "Qwen/Qwen3-32B"
    files = frozenset({source, "plain_tpot_measured", "cost_curve_dsv4flash_b300"})
    kept = all_rows(measured(), exclude_sources=files, exclude_targets=frozenset({target}))
    assert {row.source.partition(":")[0] for row in everything} >= files
    assert not {row.source.partition(":")[0] for row in kept} & files
    assert target not in {row.target for row in kept}


def test_shipped_table_is_what_the_script_gives() -> None:
    fresh, shipped = document_of(fit(measured())), document_of(load_cost_prior())
    assert fresh["levels"].keys() == shipped["levels"].keys()
    for name in PARAMETERS:
        assert fresh["mean"][name] == pytest.approx(shipped["mean"][name], abs=0.02)
        assert fresh["spread"][name] == pytest.approx(shipped["spread"][name], abs=0.05)
    assert len(shipped["evidence"]) >= 40
