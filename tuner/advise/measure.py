"""What to measure next, and what it would settle."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

import numpy as np

from tuner.acceptance.information import next_length
from tuner.advise.points import ArmPoint
from tuner.advise.schedule import place_of
from tuner.advise.situation import Situation
from tuner.profile import shipped_profiles
from tuner.records.config import Prediction
from tuner.records.decision import NextMeasurement, State
from tuner.records.interval import Z90
from tuner.records.methods import Method

#: Requests and minutes that a first measurement of acceptance takes (assumed: 200 requests give
#: thousands of drafts, whose sampling error is below 2 %).
REQUESTS = 200
#: Standard deviation of ln(speed) between repeated runs of one setting (docs/accuracy.md): no
#: measurement leaves less doubt than this.
RUN_LOG_SD = 0.02
#: A better choice of K is mentioned from this share of speed on (assumed: half a tie's width).
WORTH_SAYING = 0.0025


def next_measurement(
    situation: Situation,
    state: State,
    ranked: Sequence[ArmPoint],
    best: Prediction | None,
) -> NextMeasurement | None:
    """Return the one measurement that narrows the speedup most, or None when nothing can be."""
    if not ranked or best is None or situation.setup is None:
        return None
    own = ranked[0].own
    index = place_of(ranked[0].arm, best.config)
    acceptance, cost = float(own.acceptance_log_sd[index]), float(own.ratio_log_sd[index])
    if acceptance == 0.0 and cost == 0.0:
        return None
    if acceptance >= cost:
        left = cost
        count, value = _telling_length(ranked[0], best)
        setting = _setting(best, count)
        what = f"acceptance of this drafter on your prompts: {REQUESTS} requests at {setting}"
        if value >= WORTH_SAYING:
            what += f" (choosing K by it is worth {100.0 * value:.1f} % of speed on average)"
        row = f"{{method: {best.config.method}, {_setting_row(best, count)}, acceptance_length: …}}"
    else:
        left = acceptance
        what = "one minute of plain decoding and one of the configuration above, same prompts"
        row = f"{{method: {Method.NONE}, batch: {best.batch:g}, output_tok_s: …}}"
    spread = math.exp(Z90 * math.hypot(left, RUN_LOG_SD))
    low = max(best.speedup.mean / spread, best.speedup.p10)
    high = min(best.speedup.mean * spread, best.speedup.p90)
    narrowed = f"{low:.2f}–{high:.2f}"
    why = (
        f"it would narrow the speedup from {best.speedup.p10:.2f}–{best.speedup.p90:.2f} to about "
        f"{narrowed}" + (" and decide" if state is State.MEASURE else "")
    )
    return NextMeasurement(
        what=what,
        why=f"{why}; add the result to observed: {row}",
        command=f"specdec-tune recommend --bench-command {_profile_word(situation)}",
    )


def _telling_length(point: ArmPoint, best: Prediction) -> tuple[int, float]:
    """Return the K whose measurement is worth most for choosing K, and that worth."""
    lengths = point.arm.lengths
    if point.arm.trees or lengths != tuple(range(1, len(lengths) + 1)):
        return best.config.num_speculative_tokens, 0.0
    own = point.own
    count, value = next_length(
        np.concatenate(([1.0], own.acceptance_length)),
        np.concatenate(([0.0], own.acceptance_log_sd)),
        np.concatenate(([1.0], own.step_ratio)),
        best.config.num_speculative_tokens,
    )
    return count, value


def _setting(best: Prediction, count: int) -> str:
    tree = best.config.tree
    return f"tree {tree}" if tree else f"K {count}"


def _setting_row(best: Prediction, count: int) -> str:
    tree = best.config.tree
    return f"tree: {tree}" if tree else f"num_speculative_tokens: {count}"


def _profile_word(situation: Situation) -> str:
    """The profile as a command line names it: a shipped one by name, another by its path."""
    profile = situation.profile
    if profile.path is None or profile.name in shipped_profiles():
        return shlex.quote(profile.name)
    return shlex.quote(profile.path)
