"""One step = draft + verify + overhead, with derivatives: the passes of a plan put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.cost.layout import StepTerms
from tuner.cost.rollback import ACCEPTED_PART
from tuner.cost.roofline import INDEX, PassTimes, pass_times

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class StepParts(NamedTuple):
    """Seconds of the parts of a step and their gradients, shapes (n,) and (N_PARAMETERS, n)."""

    baseline: PassTimes
    draft: PassTimes
    verify: PassTimes
    overhead: PassTimes
    draft_pass_s: FloatArray

    @property
    def step(self) -> PassTimes:
        """The whole step."""
        return PassTimes(
            self.draft.seconds + self.verify.seconds + self.overhead.seconds,
            self.draft.gradient + self.verify.gradient + self.overhead.gradient,
        )


def step_parts(
    terms: StepTerms, log_parameters: FloatArray, plan_shift: FloatArray | None = None
) -> StepParts:
    """Return seconds and gradients of the parts.

    ``log_parameters`` has shape (N_PARAMETERS,), or (N_PARAMETERS, n) for parameters of their own
    for each configuration. ``plan_shift``, shape (N_PARAMETERS, n), is added to the parameters of
    drafting (``DRAFT_PARAMETERS``), the only ones that a plan may shift.
    """
    shared = log_parameters.ndim == 1
    passes = pass_times(terms.passes, log_parameters if shared else log_parameters[:, terms.owner])
    columns = log_parameters[:, None] if shared else log_parameters
    if plan_shift is not None:
        columns = columns + plan_shift
    verify, baseline, first, later = (_taken(passes, place) for place in terms.places)
    engine_s = np.exp(columns[INDEX["step_overhead_s"]])
    for one in (verify, baseline):
        one.seconds[:] += engine_s
        one.gradient[INDEX["step_overhead_s"]] += engine_s
    counts = terms.counts
    overhead = _tax(terms, baseline, columns)
    if np.any(counts.redone):
        again = _sum(_times(baseline, 1.0 - ACCEPTED_PART), _times(verify, ACCEPTED_PART))
        overhead = _sum(overhead, _times(again, counts.redone))
    if not np.any(counts.has_drafter):
        none = np.zeros_like(baseline.seconds)
        draft = PassTimes(none, np.zeros_like(baseline.gradient))
        return StepParts(baseline, draft, verify, overhead, none)
    # a language model's passes follow from its size: their scale is about 1, but not surely so (its
    # format may differ from the target's, whose levels it shares)
    head, model = columns[INDEX["draft_scale"]], columns[INDEX["draft_model_scale"]]
    scale = np.exp(head * counts.is_head + model * (1.0 - counts.is_head))
    fixed = np.exp(columns[INDEX["draft_pass_overhead_s"]])
    first = _draft_pass(first, scale, counts.is_head, fixed)
    later = _draft_pass(later, scale, counts.is_head, fixed)
    draft = _sum(_times(first, counts.first_passes), _times(later, counts.later_passes))
    if np.any(counts.replays):
        overhead = _sum(overhead, _times(first, counts.replays))
    one_pass = np.where(counts.later_passes > 0.0, later.seconds, first.seconds)
    return StepParts(baseline, draft, verify, overhead, one_pass * counts.has_drafter)


def _taken(passes: PassTimes, place: IntArray) -> PassTimes:
    return PassTimes(passes.seconds[place], passes.gradient.take(place, axis=1))


def _draft_pass(
    one: PassTimes, scale: FloatArray, is_head: FloatArray, fixed_s: FloatArray
) -> PassTimes:
    gradient = one.gradient * scale
    gradient[INDEX["draft_scale"]] = one.seconds * scale * is_head
    gradient[INDEX["draft_model_scale"]] = one.seconds * scale * (1.0 - is_head)
    gradient[INDEX["draft_pass_overhead_s"]] = fixed_s
    return PassTimes(one.seconds * scale + fixed_s, gradient)


def _tax(terms: StepTerms, baseline: PassTimes, log_parameters: FloatArray) -> PassTimes:
    counts = terms.counts
    fixed = np.exp(log_parameters[INDEX["speculation_tax_s"]]) * counts.is_on
    share = np.exp(log_parameters[INDEX["speculation_tax_share"]]) * counts.is_on
    by_token = np.exp(log_parameters[INDEX["speculation_token_s"]]) * terms.verified
    gradient = baseline.gradient * share
    gradient[INDEX["speculation_tax_s"]] += fixed
    gradient[INDEX["speculation_tax_share"]] += share * baseline.seconds
    gradient[INDEX["speculation_token_s"]] += by_token
    seconds = fixed + share * baseline.seconds + by_token + counts.copied_s * terms.batch
    return PassTimes(seconds, gradient)


def _times(one: PassTimes, factor: FloatArray | float) -> PassTimes:
    return PassTimes(one.seconds * factor, one.gradient * factor)


def _sum(first: PassTimes, second: PassTimes) -> PassTimes:
    return PassTimes(first.seconds + second.seconds, first.gradient + second.gradient)
