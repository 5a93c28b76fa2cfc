"""The product's numbers for a question, through the functions that the commands use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy_questions import Question
from tuner.advise.acceptance import arm_acceptance
from tuner.advise.evaluate import cost_model, evaluate
from tuner.advise.knowledge import Knowledge
from tuner.records.workload import ObservedRow

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Predictions over batches × draft lengths, arrays of shape (B, K)."""

    speedup: FloatArray
    log_sd: FloatArray
    acceptance_length: FloatArray
    step_ratio: FloatArray
    baseline_s: FloatArray
    tpot_s: FloatArray

    def interval(self, z: float = 1.2815515655446004) -> tuple[FloatArray, FloatArray]:
        """The 10th and 90th percentile of the speedup."""
        spread = np.exp(z * self.log_sd)
        return self.speedup / spread, self.speedup * spread


def answer(
    question: Question,
    knowledge: Knowledge,
    observed: Sequence[ObservedRow] = (),
    *,
    batches: Sequence[float] | None = None,
) -> Answer:
    """Predict every draft length of the question's arm at its batch, or at several."""
    situation = replace(
        question.situation,
        profile=replace(question.situation.profile, observed=tuple(observed)),
    )
    acceptance = arm_acceptance(situation, knowledge, question.arm)
    model = cost_model(situation, knowledge, [(question.arm, acceptance)])
    asked = tuple(float(b) for b in batches) if batches is not None else (question.batch,)
    got = evaluate(situation, model, question.arm, acceptance, asked)
    return Answer(
        speedup=got.speedup,
        log_sd=got.speedup_log_sd,
        acceptance_length=got.acceptance_length,
        step_ratio=got.step_ratio,
        baseline_s=got.baseline_s,
        tpot_s=got.tpot_s,
    )
