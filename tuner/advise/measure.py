"""What to measure next, and what it would settle."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

import numpy as np

from tuner.acceptance.information import next_length
from tuner.advise.commands import Commands
from tuner.advise.explain import batch_text
from tuner.advise.points import ArmPoint
from tuner.advise.schedule import place_of
from tuner.advise.situation import Situation
from tuner.advise.timings import is_timed, mean_batch, same_hardware
from tuner.engines import bench_prompts
from tuner.profile import shipped_profiles
from tuner.records.config import Prediction
from tuner.records.decision import NextMeasurement, State
from tuner.records.interval import Z90
from tuner.records.methods import METHOD_TITLES, Engine, Method

#: Standard deviation of ln(speed) between repeated runs of one setting (docs/accuracy.md): no
#: measurement leaves less doubt than this.
RUN_LOG_SD = 0.02
#: A better choice of K is mentioned from this share of speed on (assumed: half a tie's width).
WORTH_SAYING = 0.0025
#: A measurement is named where it takes at least this share off the doubt (assumed).
WORTH_MEASURING = 0.1
#: Observed batches this close to the wanted one count as measured there (assumed).
SAME_BATCH = 0.1


def next_measurement(
    situation: Situation,
    state: State,
    ranked: Sequence[ArmPoint],
    best: Prediction | None,
    commands: Commands,
) -> NextMeasurement | None:
    """Return the one measurement that narrows the speedup most, or None when none narrows it.

    It is told in terms of ``commands``: what the client sends, how the server has to differ.
    """
    if not ranked or best is None or situation.setup is None:
        return None
    is_scheduled = commands.is_scheduled
    requests = _requests(situation, commands.clients)
    own = ranked[0].own
    index = place_of(ranked[0].arm, best.config)
    acceptance, cost = float(own.acceptance_log_sd[index]), float(own.ratio_log_sd[index])
    left = math.hypot(min(acceptance, cost), RUN_LOG_SD)
    if left > (1.0 - WORTH_MEASURING) * math.hypot(acceptance, cost):
        return None
    if acceptance >= cost:
        count, value = _telling_length(ranked[0], best)
        what = (
            "acceptance of this drafter on your prompts: "
            f"{requests} at {_setting(best, count)}"
            f"{_launch(best, count, is_scheduled)}"
        )
        if value >= WORTH_SAYING:
            what += f"; choosing K by it is worth {100.0 * value:.1f} % of speed on average"
        row = f"{{method: {best.config.method}, {_setting_row(best, count)}, acceptance_length: …}}"
    else:
        what, row = _timing(situation, best, is_scheduled, requests)
    spread = math.exp(Z90 * left)
    low = max(best.speedup.mean / spread, best.speedup.p10)
    high = min(best.speedup.mean * spread, best.speedup.p90)
    narrowed = f"{low:.2f}–{high:.2f}"
    before = f"{best.speedup.p10:.2f}–{best.speedup.p90:.2f}"
    if narrowed == before:
        return None
    why = f"it would narrow the speedup from {before} to about {narrowed}" + (
        " and decide" if state is State.MEASURE else ""
    )
    return NextMeasurement(
        what=what,
        why=f"{why}; add the result to observed: {row}",
        command=f"specdec-tune recommend --bench-command {_profile_word(situation)}",
    )


def _requests(situation: Situation, clients: int) -> str:
    """What the bench command sends: a number of prompts, or those of the file."""
    if situation.engine is Engine.LLAMACPP:
        return "the requests of prompts.jsonl"
    return f"{bench_prompts(clients)} requests"


def _launch(best: Prediction, count: int, is_scheduled: bool) -> str:
    """Say how the server to measure differs from the one of the command above."""
    if is_scheduled:
        return f", launched with {_setting(best, count)} alone instead of the schedule by batch"
    if count != best.config.num_speculative_tokens:
        return f", launched with {_setting(best, count)}"
    return ""


def _timing(
    situation: Situation, best: Prediction, is_scheduled: bool, requests: str
) -> tuple[str, str]:
    """Return which speed to measure, and the rows that hold it: only what is not observed yet."""
    count = best.config.num_speculative_tokens
    title = METHOD_TITLES[best.config.method]
    own = f"{title} at {_setting(best, count)}{_launch(best, count, is_scheduled)}"
    batch = f"batch: {batch_text(best.batch).replace(',', '')}, output_tok_s: …"
    row = f"{{method: {best.config.method}, {_setting_row(best, count)}, {batch}}}"
    if _has_plain_row(situation, best.batch):
        return f"the speed of {own}: {requests}, the prompts of the plain run", row
    what = f"the speed of plain decoding and of {own}: {requests} each, the same prompts"
    return what, f"{{method: {Method.NONE}, {batch}}} and {row}"


def _has_plain_row(situation: Situation, batch: float) -> bool:
    """Whether plain decoding was timed here, at about this batch."""
    return any(
        row.method is Method.NONE
        and is_timed(row)
        and same_hardware(row, situation)
        and abs((row.batch or mean_batch(situation)) - batch) <= SAME_BATCH * batch
        for row in situation.profile.observed
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
