"""What the user should be warned of about an engine on this device or target."""

from __future__ import annotations

from tuner.advise.situation import Situation
from tuner.cost.rollback import rolls_back_by_checkpoint
from tuner.engines import TITLES
from tuner.records.config import Prediction
from tuner.records.cost import DraftPlan
from tuner.records.hardware import DeviceKind
from tuner.records.methods import DRAFT_KIND, Engine
from tuner.records.sources import Warning_

#: What Apple's GPUs take instead of a release (docs.vllm.ai, GPU installation, v0.31.0;
#: docs.sglang.io, Apple Silicon with Metal).
ON_APPLE = {
    Engine.VLLM: "the plugin vllm-metal",
    Engine.SGLANG: "a build from source with its MLX backend",
}


def not_built(situation: Situation) -> list[Warning_]:
    """Say where no release of the engine drives the device."""
    setup, instead = situation.setup, ON_APPLE.get(situation.engine)
    if setup is None or instead is None:
        return []
    accelerator = setup.hardware.accelerator
    if accelerator.kind is not DeviceKind.APPLE:
        return []
    message = (
        f"no release of {TITLES[situation.engine]} is built for {accelerator.name}: Apple's GPUs "
        f"take {instead}, of which neither options nor times were read here; llama.cpp runs there "
        "(engine: {name: llamacpp})."
    )
    return [Warning_(code="engine-not-built", message=message)]


def undoing(situation: Situation, best: Prediction) -> list[Warning_]:
    """Say where the engine's own work comes from where states have to be saved and restored."""
    config, setup = best.config, situation.setup
    plan = DraftPlan(method=config.method, kind=DRAFT_KIND[config.method], drafter=config.drafter)
    if setup is None or not rolls_back_by_checkpoint(setup, plan):
        return []
    return [
        Warning_(
            code="rollback",
            message=(
                f"the engine's own work, {best.step_cost_parts.overhead:.2f} plain steps, includes "
                "the undoing of drafts: llama.cpp saves the recurrent states of this target before "
                f"each verification with {config.method}, and after a partly accepted draft "
                "restores them and runs the accepted part again; MTP, EAGLE-3, DFlash and DSpark "
                "do without."
            ),
        )
    ]
