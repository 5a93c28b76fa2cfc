"""What llama.cpp pays to undo drafts on recurrent targets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cost.setups import PLAIN, on, plan
from tuner.catalog import find_model
from tuner.catalog.priors import load_cost_prior
from tuner.cost.drafters import target_setup
from tuner.cost.model import learn
from tuner.cost.parts import model_parts
from tuner.cost.rollback import STATE_BYTES, rollback, rolls_back_by_checkpoint
from tuner.records.cost import CostSetup, DraftPlan
from tuner.records.methods import DRAFT_KIND, Engine, Method
from tuner.records.model import Drafter
from tuner.units import GIGA, MEGA

SMALL = "Qwen/Qwen3.5-0.8B"
MIBIBYTE = 1024.0**2
#: thc1006, RTX 3090, drafts of Qwen3.5-0.8B: K → (1 + accepted ÷ drafted · K) ÷ speedup
DENSE = {2: 2.84, 4: 3.57, 6: 4.27, 8: 4.36}
EXPERTS = {2: 5.21, 4: 6.69, 6: 7.82, 8: 9.34, 16: 12.65}


def drafted() -> DraftPlan:
    shape = find_model(SMALL)
    drafter = Drafter(path_or_id=SMALL, method=Method.DRAFT_MODEL, shape=shape, dtype="gguf:Q4_K_M")
    kind = DRAFT_KIND[Method.DRAFT_MODEL]
    return DraftPlan(method=Method.DRAFT_MODEL, kind=kind, drafter=drafter)


def llamacpp(model: str, device: str = "RTX-3090") -> CostSetup:
    return on(model, device, dtype="gguf:Q4_K_M", engine=Engine.LLAMACPP)


def ratio(setup: CostSetup, how: DraftPlan, lengths: np.ndarray) -> np.ndarray:
    times = learn(load_cost_prior(), setup).step(
        how, batch=1.0, draft_steps=lengths, verify_tokens=lengths + 1, context_tokens=600.0
    )
    return (times.draft_s + times.verify_s + times.overhead_s) / times.baseline_s


def test_which_methods_and_targets_need_checkpoints() -> None:
    hybrid, dense = llamacpp("Qwen/Qwen3.6-27B"), llamacpp("Qwen/Qwen3-32B")
    assert rolls_back_by_checkpoint(hybrid, drafted())
    assert rolls_back_by_checkpoint(hybrid, plan(Method.NGRAM))
    for method in (Method.MTP, Method.EAGLE3, Method.DFLASH, Method.DSPARK):
        assert not rolls_back_by_checkpoint(hybrid, plan(method))
    assert not rolls_back_by_checkpoint(dense, drafted())
    assert not rolls_back_by_checkpoint(on("Qwen/Qwen3.6-27B", "H100-SXM"), drafted())


def test_size_of_a_checkpoint() -> None:
    """llama.cpp logs 62.8 MiB for Qwen3.6-35B-A3B, of which 2.8 are short convolutions."""
    parts = model_parts(find_model("Qwen/Qwen3.6-35B-A3B"))
    size = parts.state_values_per_layer * parts.n_linear_layers * STATE_BYTES
    assert size / MIBIBYTE == pytest.approx(60.0)


def test_rollbacks_grow_with_the_draft_and_vanish_without_one() -> None:
    setup = llamacpp("Qwen/Qwen3.6-35B-A3B")
    lengths = np.array([0.0, 1.0, 2.0, 8.0, 64.0])
    found = rollback(setup, (target_setup(setup),), np.ones(5), lengths, lengths + 1.0)
    assert found.passes[0] == found.copies_s[0] == 0.0
    assert np.all(np.diff(found.passes) > 0.0)
    assert found.passes[-1] == pytest.approx(1.0)
    # a save and, almost always, a load
    saved = 63.0 * MEGA / (12.0 * GIGA)
    assert found.copies_s[-1] == pytest.approx(2.0 * saved, rel=0.01)


def test_a_lookup_without_a_match_copies_nothing() -> None:
    setup = llamacpp("Qwen/Qwen3.6-27B")
    rare = rollback(setup, (target_setup(setup),), np.ones(1), np.full(1, 8.0), np.full(1, 1.8))
    always = rollback(setup, (target_setup(setup),), np.ones(1), np.full(1, 8.0), np.full(1, 9.0))
    assert rare.passes == pytest.approx(0.1 * always.passes)
    assert rare.copies_s == pytest.approx(0.1 * always.copies_s)


@pytest.mark.parametrize(
    ("model", "measured"), [("Qwen/Qwen3.8-27B", DENSE), ("Qwen/Qwen3.6-35B-A3B", EXPERTS)]
)
def test_draft_models_on_hybrid_targets(model: str, measured: dict[int, float]) -> None:
    """Without the rollback the prediction is a third too low."""
    found = ratio(llamacpp(model), drafted(), np.array(list(measured)))
    assert found == pytest.approx(list(measured.values()), rel=0.16)


def test_plain_steps_save_nothing() -> None:
    assert ratio(llamacpp("Qwen/Qwen3.6-27B"), PLAIN, np.zeros(1)) == pytest.approx(1.0)


def test_unified_memory_copies_at_its_own_bandwidth() -> None:
    card, unified = llamacpp("Qwen/Qwen3.6-27B"), llamacpp("Qwen/Qwen3.6-27B", "M4-Max-40c")
    one, four = np.ones(1), np.full(1, 4.0)
    on_card = rollback(card, (target_setup(card),), one, four, four + 1.0).copies_s
    shared = rollback(unified, (target_setup(unified),), one, four, four + 1.0).copies_s
    assert shared < 0.1 * on_card
