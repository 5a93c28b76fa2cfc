"""The fit finds again what simulated data were made from."""

import numpy as np
import pytest

from scripts.acceptance_curves import UNKNOWN_TARGET, AcceptanceCell
from scripts.acceptance_levels import fit_levels, implied_level
from scripts.acceptance_shapes import fit_law
from tuner.acceptance.positions import drafted_basis
from tuner.records.methods import Engine, Method, Task

BASIS = drafted_basis(32)


def cell(lengths, *, source="bench", target="model", method=Method.EAGLE3, task=Task.CHAT):
    return AcceptanceCell(
        source=source,
        target=target,
        target_class=UNKNOWN_TARGET,
        method=method,
        drafter=None,
        draft_params=None,
        tasks=(task,),
        data_set=task.value,
        temperature=0.0,
        context_tokens=1024.0,
        engine=Engine.VLLM,
        weight=1.0,
        is_tree=False,
        lengths=lengths,
        ids=("row",),
    )


def lengths_at(level, decay, ks, generator=None, noise=0.004):
    rate = 1 / (1 + np.exp(-(level + decay * np.log(np.arange(1, 9)))))
    length = 1 + np.cumsum(np.cumprod(rate))
    wobble = np.ones(8) if generator is None else np.exp(noise * generator.standard_normal(8))
    return {k: float(length[k - 1] * wobble[k - 1]) for k in ks}


def test_law_of_simulated_curves_is_found():
    generator = np.random.default_rng(7)
    cells = [
        cell(
            lengths_at(level, -0.25 - 0.15 * (level - 1), (1, 2, 3, 5, 7), generator),
            source=f"s{place % 6}",
            target=f"t{place}",
        )
        for place, level in enumerate(generator.uniform(0.2, 2.2, 60))
    ]
    law = fit_law(cells, BASIS, offsets=())
    for level in (0.5, 1.0, 2.0):
        x = level - 1
        shape = law.base + x * law.slope + x * x * law.bend
        for position in (2, 5):
            found = shape @ BASIS[position - 1, 1:]
            made = (-0.25 - 0.15 * x) * np.log(position)
            assert found == pytest.approx(made, abs=0.06)


def test_one_stray_run_does_not_bend_the_law():
    cells = [
        cell(lengths_at(level, -0.3, (1, 2, 3, 4, 5, 6, 7, 8)), target=f"t{level:.1f}")
        for level in np.arange(0.6, 2.0, 0.1)
    ]
    clean = fit_law(cells, BASIS, offsets=())
    stray = dict(cells[3].lengths)
    stray[8] *= 0.9
    bent = fit_law([*cells[:3], cell(stray, target="t0.9"), *cells[4:]], BASIS, offsets=())
    assert bent.base == pytest.approx(clean.base, abs=0.03)


def test_levels_pool_sources_and_keep_the_difference_of_methods():
    generator = np.random.default_rng(11)
    cells, levels = [], []
    for source in range(12):
        shift = 0.3 * generator.standard_normal()
        for method, own in ((Method.EAGLE3, 1.0), (Method.MTP, 1.6)):
            for task, gain in ((Task.CHAT, 0.0), (Task.CODE, 0.5)):
                level = own + gain + shift + 0.1 * generator.standard_normal()
                cells.append(
                    cell(
                        {3: 2.5}, source=f"s{source}", target=f"t{source}", method=method, task=task
                    )
                )
                levels.append((level, 0.01))
    found = fit_levels(cells, levels)
    at = {name: found.mean[place] for place, name in enumerate(found.names)}
    apart = [
        at["method:mtp"] - at["method:eagle3"],
        *(at[f"mtp×{name}"] - at[f"eagle3×{name}"] for name in ("dense", "engine:vllm")),
    ]
    assert sum(apart) == pytest.approx(0.6, abs=0.15)
    assert at["task:code"] - at["task:chat"] == pytest.approx(0.5, abs=0.2)


def test_implied_level_inverts_the_law():
    law = fit_law(
        [cell(lengths_at(x, -0.3, (1, 3, 5)), target=f"{x}") for x in (0.5, 1.5, 2.0)], BASIS
    )
    made = cell(lengths_at(1.2, -0.3, (3, 5)))
    level, variance = implied_level(made, law)
    assert level == pytest.approx(1.2, abs=0.15)
    assert 0.0 < variance < 0.1
