"""What the profile's own limits leave out, where what they allow does not pay."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.arms import LOOKUPS
from tuner.advise.points import ArmPoint
from tuner.advise.resolve import known_drafters
from tuner.advise.situation import Situation
from tuner.engines import serves
from tuner.records.methods import Method
from tuner.records.sources import Warning_


def limited(situation: Situation) -> tuple[str, ...]:
    """Return what the profile limits: methods, drafters, draft lengths."""
    candidates = situation.profile.candidates
    limits = (
        ("methods", candidates.methods),
        ("drafters", candidates.drafters),
        ("draft lengths", candidates.num_speculative_tokens),
    )
    return tuple(name for name, wanted in limits if wanted is not None)


def left_out_by_limits(situation: Situation, points: Sequence[ArmPoint]) -> list[Warning_]:
    """Name the methods that this engine serves for the target and that the limits leave out."""
    candidates = situation.profile.candidates
    if situation.setup is None or (candidates.methods is None and candidates.drafters is None):
        return []
    known = dict.fromkeys(drafter.method for drafter in known_drafters(situation.setup.target))
    seen = {point.arm.method for point in points}
    others = [method for method in (*known, *LOOKUPS) if method not in seen]
    names = [str(method) for method in others if _was_excluded(situation, method)]
    if not names:
        return []
    keys = [
        f"candidates.{key}"
        for key, wanted in (("methods", candidates.methods), ("drafters", candidates.drafters))
        if wanted is not None
    ]
    verb = "leaves" if len(keys) == 1 else "leave"
    message = f"{' and '.join(keys)} {verb} out {', '.join(names)}: not looked at here."
    return [Warning_(code="limits", message=message)]


def _was_excluded(situation: Situation, method: Method) -> bool:
    """Whether a limit, and not the engine or a lack of measurements, keeps a method away."""
    methods = situation.profile.candidates.methods
    is_named = methods is None or method in methods
    if is_named and method in LOOKUPS:
        return False
    engine, version = situation.engine, situation.engine_version
    return serves(engine, version, method, parallel=situation.parallel).ok
