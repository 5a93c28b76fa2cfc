"""Many published heads answer the same question: compare the best one of each method."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.advise.acceptance import ArmAcceptance
from tuner.advise.arms import Arm
from tuner.advise.situation import Situation
from tuner.records.methods import Method
from tuner.records.sources import Warning_

Believed = tuple[Arm, ArmAcceptance]


def shortlist(
    situation: Situation, believed: Sequence[Believed]
) -> tuple[tuple[Believed, ...], tuple[Warning_, ...]]:
    """Keep, of each method, the drafter that is expected to accept most.

    Heads of one method cost the same, so acceptance decides; where no measurement tells them apart
    the catalog's order does, and the result says so. Draft models differ in cost and all stay, as
    do the user's own drafter and drafters that the profile names.
    """
    profile = situation.profile
    named = set(profile.candidates.drafters or ())
    if profile.drafter is not None:
        named.add(profile.drafter.path_or_id)
    kept: list[Believed] = []
    groups: dict[tuple[Method, bool], list[Believed]] = {}
    for item in believed:
        arm = item[0]
        if arm.method is Method.DRAFT_MODEL or arm.drafter_name in named:
            kept.append(item)
        else:
            groups.setdefault((arm.method, bool(arm.trees)), []).append(item)
    told: list[Warning_] = []
    for (method, has_trees), items in groups.items():
        best = max(items, key=_expected)
        kept.append(best)
        equal = [item for item in items if abs(_expected(item) - _expected(best)) < _SAME]
        if len(equal) > 1 and not has_trees:
            told.append(
                Warning_(
                    code="drafters-alike",
                    message=(
                        f"{len(equal)} {method} drafters are known for this target and no "
                        f"measurement here tells them apart; {best[0].drafter_name} stands for "
                        f"them (specdec-tune catalog drafters {_short(situation)})."
                    ),
                )
            )
    order = {id(item): place for place, item in enumerate(believed)}
    kept.sort(key=lambda item: order[id(item)])
    return tuple(kept), tuple(told)


#: Two expected τ closer than this are the same belief.
_SAME = 1e-9


def _expected(item: Believed) -> float:
    return float(item[1].acceptance_length[0])


def _short(situation: Situation) -> str:
    return situation.target_name.rsplit("/", 1)[-1]
