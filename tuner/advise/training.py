"""Train a head or not, where a target has none: what it must reach, and the effort."""

from __future__ import annotations

from tuner.advise.acceptance import arm_acceptance
from tuner.advise.arms import Arm
from tuner.advise.knowledge import Knowledge
from tuner.advise.points import Load, arm_points, curves_of
from tuner.advise.predictions import ratio_and_gain
from tuner.advise.situation import Situation
from tuner.cost.model import CostModel
from tuner.engines import serves
from tuner.frozen import dataclass
from tuner.records.cost import DraftPlan
from tuner.records.interval import Interval
from tuner.records.methods import DRAFT_KIND, Method
from tuner.records.model import Drafter
from tuner.records.sources import Grade, Source, Warning_
from tuner.speedup import expected_tokens

#: Draft length at which the question is asked: what most published heads recommend (drafters).
TOKENS = 3
_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """One published training of a head."""

    gpu_hours: tuple[float, float]
    what: str
    source: Source


RUNS = (
    TrainingRun(
        gpu_hours=(64.0, 64.0),
        what="EAGLE-3 head of gpt-oss-20b, 8 H200 for 8 hours",
        source=Source(
            reference="model card Dogacel/specdrift-gpt-oss-20b-eagle3", grade=Grade.REPORTED
        ),
    ),
    TrainingRun(
        gpu_hours=(192.0, 384.0),
        what="EAGLE head, 8 RTX 3090 for one to two days",
        source=Source(reference="SafeAILab/EAGLE@01aa119 README.md", grade=Grade.REPORTED),
    ),
    TrainingRun(
        gpu_hours=(1344.0, 1344.0),
        what="EAGLE-3 head of Llama-4-Maverick, 8 H200 for seven days",
        source=Source(
            reference="model card seanmamasde/llama4-maverick-17B-128E-eagle3-sglang",
            grade=Grade.REPORTED,
        ),
    ),
)


def train_or_not(
    situation: Situation, model: CostModel | None, knowledge: Knowledge, load: Load
) -> Warning_ | None:
    """Return what a trained EAGLE-3 head would have to reach here, and what such heads reach."""
    if situation.setup is None or model is None:
        return None
    if not serves(situation.engine, situation.engine_version, Method.EAGLE3).ok:
        return None
    head = Drafter(path_or_id=None, method=Method.EAGLE3, n_layers=1)
    plan = DraftPlan(method=Method.EAGLE3, kind=DRAFT_KIND[Method.EAGLE3], drafter=head)
    arm = Arm(plan=plan, lengths=(TOKENS,))
    acceptance = arm_acceptance(situation, knowledge, arm)
    believed = [(arm, acceptance)]
    curves = curves_of(situation, model, believed, load)
    own = arm_points(situation, model, believed, curves, load, [None])[0].own
    needed = float(own.step_ratio[0])
    runs = "; ".join(
        f"{_hours(run.gpu_hours)} GPU-hours ({run.what}; {run.source.reference})" for run in RUNS
    )
    tau = Interval.lognormal(
        float(own.acceptance_length[0]),
        float(own.acceptance_log_sd[0]),
        lower=1.0,
        upper=TOKENS + 1.0,
    )
    doubts = float(own.ratio_log_sd[0]), float(own.speedup_log_sd[0])
    _, gain = ratio_and_gain(tau, needed, *doubts, TOKENS + 1.0)
    return Warning_(
        code="train-or-not",
        message=(
            f"training an EAGLE-3 head would pay at K {TOKENS} once α exceeds "
            f"{break_even_rate(needed):.2f} (τ above {needed:.2f}); heads of such targets are "
            f"expected to reach τ {tau.mean:.2f} ({tau.p10:.2f}–{tau.p90:.2f}) here, "
            f"{gain.mean:.2f}× ({gain.p10:.2f}–{gain.p90:.2f}) as fast. Order of effort: {runs}."
        ),
    )


def break_even_rate(step_cost_ratio: float) -> float:
    """Return the constant α at which K = 3 breaks even; 1 when none does."""
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        if float(expected_tokens(middle, TOKENS)) < step_cost_ratio:
            low = middle
        else:
            high = middle
    return high


def _hours(span: tuple[float, float]) -> str:
    low, high = span
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
