"""What a profile means once every name is looked up and every default is written down."""

from __future__ import annotations

from tuner.frozen import dataclass
from tuner.records.cost import CostSetup
from tuner.records.hardware import Parallel
from tuner.records.methods import Engine
from tuner.records.model import Drafter
from tuner.records.sources import Assumption, Warning_
from tuner.records.workload import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A profile with its names resolved. ``setup`` is None when only α and c are given."""

    profile: Profile
    setup: CostSetup | None
    engine: Engine
    engine_version: str
    #: published or given drafters of the target, all methods
    drafters: tuple[Drafter, ...]
    #: tokens of context in the middle of an answer: prompt + half of the output
    context_tokens: float
    assumptions: tuple[Assumption, ...]
    warnings: tuple[Warning_, ...]

    @property
    def parallel(self) -> Parallel:
        """How the target is split over devices."""
        return self.setup.hardware.parallel if self.setup else Parallel()

    @property
    def target_name(self) -> str:
        """What to call the target on screen and in commands."""
        target = self.profile.target
        if target is None or self.setup is None:
            return "α and c by hand"
        return (
            target.model_id or target.config_path or target.gguf_path or self.setup.target.model_id
        )
