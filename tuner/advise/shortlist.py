"""Many published heads answer the same question: compare the best one of each method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.advise.acceptance import ArmAcceptance
from tuner.advise.arms import Arm
from tuner.advise.situation import Situation
from tuner.engines import TITLES
from tuner.records.methods import Method
from tuner.records.sources import Warning_

Believed = tuple[Arm, ArmAcceptance]


def shortlist(
    situation: Situation, believed: Sequence[Believed]
) -> tuple[tuple[Believed, ...], tuple[Warning_, ...]]:
    """Keep, of each method, the drafter that is expected to accept most.

    Heads of one method cost the same, so acceptance decides, among those that this engine is known
    to have served, then the catalog's order; where no measurement tells them apart the result says
    so. Draft models differ in cost and all stay, as do the user's own drafter and drafters
    that the profile names.
    """
    profile = situation.profile
    named: set[str | None] = set(profile.candidates.drafters or ())
    if profile.drafter is not None:
        named.add(profile.drafter.path_or_id)
    believed, told = _measured(situation, believed, named)
    kept: list[Believed] = []
    groups: dict[tuple[Method, bool], list[Believed]] = {}
    for item in believed:
        arm = item[0]
        if arm.drafter_name in named:
            kept.append(item)
        elif arm.method is Method.DRAFT_MODEL:
            # an engine that refuses the pair (vocabularies) is not among the drafter's engines
            kept += [item] if _is_served(situation, item) else []
        else:
            groups.setdefault((arm.method, bool(arm.trees)), []).append(item)
    for (method, has_trees), items in groups.items():
        best = max(
            items,
            key=lambda item: (
                _is_served(situation, item),
                round(_expected(item), 6),
                _is_made_for(situation, item),
            ),
        )
        kept.append(best)
        if not _is_served(situation, best):
            told.append(_unproven(situation, method, best[0]))
        rivals = [
            item
            for item in items
            if _expected(item) > _expected(best) * np.exp(-TELLS_APART_SD * _doubt(best))
            and _is_served(situation, item) == _is_served(situation, best)
        ]
        if len(rivals) > 1 and not has_trees:
            told.append(_alike(situation, best, rivals))
    order = {id(item): place for place, item in enumerate(believed)}
    kept.sort(key=lambda item: order[id(item)])
    return tuple(kept), tuple(told)


def _measured(
    situation: Situation, believed: Sequence[Believed], named: set[str | None]
) -> tuple[list[Believed], list[Warning_]]:
    """Leave out methods that nothing was measured of, unless the profile names them.

    Their belief is borrowed from other methods and too wide to recommend anything by.
    """
    asked = set(situation.profile.candidates.methods or ())
    kept: list[Believed] = []
    told: list[Warning_] = []
    for item in believed:
        arm, acceptance = item
        unknown = acceptance.origin == "prior" and all(
            belief.n_measurements == 0 for *_, belief in acceptance.parts
        )
        if not unknown or arm.method in asked or (arm.drafter_name and arm.drafter_name in named):
            kept.append(item)
        elif not any(warning.message.startswith(str(arm.method)) for warning in told):
            told.append(
                Warning_(
                    code="method-unmeasured",
                    message=(
                        f"{arm.method} is left out: no published acceptance of it was found for "
                        "such a task; measure it, or name it under candidates.methods."
                    ),
                )
            )
    return kept, told


def _alike(situation: Situation, best: Believed, rivals: Sequence[Believed]) -> Warning_:
    """Say that the drafter named is one of several, and on what it was taken."""
    method, name = best[0].method, best[0].drafter_name
    where = f"(specdec-tune catalog drafters {_short(situation)})"
    is_same = all(abs(_expected(item) - _expected(best)) < _SAME for item in rivals)
    how = f"{name} stands for them" if is_same else f"{name} is expected to accept most"
    return Warning_(
        code="drafters-alike",
        message=(
            f"{len(rivals)} {method} drafters are known for this target and no measurement here "
            f"tells them apart; {how} {where}."
        ),
    )


_TITLE_OF = {engine.value: title for engine, title in TITLES.items()}

#: Two expected τ closer than this are the same belief.
_SAME = 1e-9
#: Drafters whose expected τ lies inside the 80 % span of the best one's are not told apart.
TELLS_APART_SD = 1.2816


def _is_served(situation: Situation, item: Believed) -> bool:
    """Whether the pair was published for this engine (methods without a drafter always are)."""
    drafter = item[0].plan.drafter
    return drafter is None or not drafter.engines or situation.engine.value in drafter.engines


def _is_made_for(situation: Situation, item: Believed) -> bool:
    """Whether the drafter was published for this engine and no other."""
    drafter = item[0].plan.drafter
    return drafter is not None and drafter.engines == (situation.engine.value,)


def _unproven(situation: Situation, method: Method, arm: Arm) -> Warning_:
    engines = arm.plan.drafter.engines if arm.plan.drafter else ()
    published = " and ".join(_TITLE_OF.get(name, name) for name in engines)
    return Warning_(
        code="drafter-unproven",
        message=(
            f"the {method} drafter {arm.drafter_name} was published for {published}, not for "
            f"{TITLES[situation.engine]}: check that it loads."
        ),
    )


def _expected(item: Believed) -> float:
    return float(item[1].acceptance_length[0])


def _doubt(item: Believed) -> float:
    return float(item[1].log_sd[0])


def _short(situation: Situation) -> str:
    return situation.target_name.rsplit("/", 1)[-1]
