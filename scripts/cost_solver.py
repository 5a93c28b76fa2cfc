"""Generalised least squares with partial pooling, for the parameters of the cost model.

    y_i = ln f(θ_i) + missed_i + noise_i
    θ_i = common + Σ shifts of i's levels + u_source + u_setup

The u are random: their variances, source to source and setup to setup, are estimated by EM and
become the prior's spread for a setup that nobody has measured. Everything is linearised around the
current mean (first-order conditional estimation, as in nonlinear mixed-effects models).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scripts.cost_rows import FitRow
from tuner.cost.layout import StepTerms, terms_of
from tuner.cost.missed import Missed, Places, missed_covariance
from tuner.cost.observations import METHOD_KEY
from tuner.cost.posterior import log_step_and_gradient
from tuner.cost.roofline import INDEX, N_PARAMETERS
from tuner.cost.steps import step_parts
from tuner.records.cost_prior import DRAFT_PARAMETERS, PARAMETERS

FloatArray = NDArray[np.float64]

#: by how much batch ÷ throughput of a whole benchmark exceeds a decode step, ln: ramps and prefills
THROUGHPUT_BIAS, THROUGHPUT_BIAS_SD = 0.10, 0.10
#: rows whose residual is this many noise deviations away count less (faults, misprints)
_ROBUST = 4.0
#: no parameter is believed to differ by more than this between sources (a factor of 2.7)
_LARGEST_VARIANCE = 1.0
#: parameters that a kind of level, or one level, may shift
SHIFTS: dict[str, tuple[str, ...]] = {
    "engine": (
        "matrix_efficiency",
        "expert_efficiency",
        "matmul_efficiency",
        "layer_floor_s",
        "step_overhead_s",
        "token_overhead_s",
        "attention_reread",
        *DRAFT_PARAMETERS,
    ),
    "device": (
        "bandwidth_efficiency",
        "matmul_efficiency",
        "sharpness",
        "layer_floor_s",
        "step_overhead_s",
        "many_token_jump",
        "many_token_slope",
        "draft_pass_overhead_s",
    ),
    "vendor": (
        "bandwidth_efficiency",
        "expert_efficiency",
        "matmul_efficiency",
        "layer_floor_s",
        "step_overhead_s",
    ),
    "weights": (
        "matrix_efficiency",
        "expert_efficiency",
        "matmul_efficiency",
        "many_token_jump",
        "many_token_slope",
    ),
    "engine+device": (
        "matrix_efficiency",
        "matmul_efficiency",
        "many_token_jump",
        "many_token_slope",
        "speculation_tax_s",
    ),
    "layers": (
        "matmul_efficiency",
        "layer_floor_s",
        "speculation_tax_s",
    ),
    "layers:linear": (
        "matmul_efficiency",
        "layer_floor_s",
    ),
    "kind": DRAFT_PARAMETERS,
    "method": DRAFT_PARAMETERS,
}
_IS_DRAFT = np.zeros(N_PARAMETERS, dtype=bool)
_IS_DRAFT[[INDEX[name] for name in DRAFT_PARAMETERS]] = True


@dataclass(slots=True)
class Fitted:
    """State of a fit; the start of the next one."""

    names: list[str]
    #: common parameters, then N_PARAMETERS shifts for each level (0 where it may not shift)
    beta: FloatArray
    source_variance: FloatArray
    setup_variance: FloatArray
    throughput_bias: float = THROUGHPUT_BIAS
    covariance: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(slots=True)
class _Block:
    """Rows of one source."""

    places: NDArray[np.int64]
    same_group: FloatArray
    same_draft: FloatArray
    missed: FloatArray
    noise: FloatArray


class Problem:
    """The rows as arrays."""

    def __init__(self, rows: Sequence[FitRow], missed: Missed) -> None:
        self.rows = rows
        self.terms: StepTerms = terms_of([row.layout for row in rows])
        self.log_value = np.array([row.log_value for row in rows])
        self.from_throughput = np.array([row.from_throughput for row in rows])
        tokens = np.array([row.log_tokens for row in rows])
        self.places = Places(
            np.array([row.log_batch for row in rows]),
            tokens,
            *np.array([row.weights for row in rows]).T,
            np.array([METHOD_KEY[row.plan.method] for row in rows]),
        )
        self.names = sorted({name for row in rows for name in row.levels})
        index = {name: place for place, name in enumerate(self.names)}
        self.levels = np.zeros((len(rows), len(self.names)))
        for place, row in enumerate(rows):
            for name in row.levels:
                self.levels[place, index[name]] = 1.0
        self.free = np.concatenate(
            [np.ones(N_PARAMETERS, dtype=bool), *(_may_shift(name) for name in self.names)]
        )
        self.blocks = [
            self._block(np.array(places), missed) for places in _places_by_source(rows).values()
        ]

    def _block(self, places: NDArray[np.int64], missed: Missed) -> _Block:
        rows = [self.rows[place] for place in places]
        group = _same([row.group for row in rows])
        draft = _same([row.draft_group for row in rows])
        sweep = _same([row.sweep for row in rows])
        shared = np.array([row.shared_noise for row in rows])
        own = Places(*(getattr(self.places, name)[places] for name in Places.__slots__))
        by_setup = missed_covariance(missed._replace(offset=0.0), own, own)
        by_draft = missed_covariance(Missed(0.0, 0.0, 1.0, missed.offset), own, own)
        total = group * by_setup + draft * by_draft + sweep * np.outer(shared, shared)
        return _Block(places, group, draft, total, np.array([row.noise for row in rows]) ** 2)

    def parameters(self, fitted_beta: FloatArray) -> FloatArray:
        """Return the parameters of each row, shape (N_PARAMETERS, n)."""
        shifts = fitted_beta[N_PARAMETERS:].reshape(len(self.names), N_PARAMETERS)
        return fitted_beta[:N_PARAMETERS, None] + shifts.T @ self.levels.T

    def predict(self, fitted_beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return predicted logarithms and gradients of shape (N_PARAMETERS, n)."""
        parts = step_parts(self.terms, self.parameters(fitted_beta))
        return log_step_and_gradient(parts, self.places)

    def design(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative of each row by the free part of β and by the throughput bias."""
        shifts = self.levels[:, :, None] * gradient.T[:, None, :]
        full = np.concatenate((gradient.T, shifts.reshape(len(self.rows), -1)), axis=1)
        return np.concatenate((full[:, self.free], self.from_throughput[:, None]), axis=1)


def _may_shift(level: str) -> NDArray[np.bool_]:
    allowed = SHIFTS.get(level, SHIFTS[level.partition(":")[0]])
    return np.array([name in allowed for name in PARAMETERS])


def solve(
    rows: Sequence[FitRow],
    mean: FloatArray,
    mean_sd: FloatArray,
    level_sd: FloatArray,
    level_mean: dict[str, FloatArray],
    start: Fitted | None,
    *,
    spread: FloatArray,
    iterations: int,
    missed: Missed,
) -> Fitted:
    """Return the fit.

    ``mean`` and ``mean_sd`` are the belief about the common parameters before the rows,
    ``level_mean`` and ``level_sd`` the expected shifts of levels and how far they may be off
    (partial pooling), ``spread`` the standard deviations from setup to setup to begin with, and
    ``start`` an earlier fit to start from.
    """
    problem = Problem(rows, missed)
    prior_beta = np.concatenate(
        [mean, *(level_mean.get(name, np.zeros(N_PARAMETERS)) for name in problem.names)]
    )
    free = problem.free
    prior_sd = np.concatenate([mean_sd, np.tile(level_sd, len(problem.names))])
    prior_sd = np.append(prior_sd[free], THROUGHPUT_BIAS_SD)
    fitted = _begin(problem, prior_beta, start, spread)
    inflation = np.ones(len(rows))
    for iteration in range(iterations):
        predicted, gradient = problem.predict(fitted.beta)
        design = problem.design(gradient)
        residual = problem.log_value - predicted - fitted.throughput_bias * problem.from_throughput
        normal = np.diag(prior_sd**-2.0)
        away = np.append((prior_beta - fitted.beta)[free], THROUGHPUT_BIAS - fitted.throughput_bias)
        right = away * prior_sd**-2.0
        precisions = []
        for block in problem.blocks:
            precision = np.linalg.inv(_covariance(block, gradient, fitted, inflation))
            precisions.append(precision)
            weighted = design[block.places].T @ precision
            normal += weighted @ design[block.places]
            right += weighted @ residual[block.places]
        move = np.clip(np.linalg.solve(normal, right), -0.5, 0.5)
        fitted.beta[free] += move[:-1]
        fitted.throughput_bias += float(move[-1])
        residual = residual - design @ move
        _update_variances(problem, gradient, residual, precisions, fitted)
        if iteration >= 1:
            inflation = _inflate(problem, residual, precisions, inflation)
        if np.max(np.abs(move)) < 1e-3 and iteration > 3:
            break
    fitted.covariance = np.linalg.inv(normal)
    return fitted


def level_shifts(fitted: Fitted) -> dict[str, FloatArray]:
    """Return the shifts of every level, shape (N_PARAMETERS,) each."""
    return {name: fitted.beta[_columns(place)] for place, name in enumerate(fitted.names)}


def _begin(
    problem: Problem, prior_beta: FloatArray, start: Fitted | None, spread: FloatArray
) -> Fitted:
    if start is None:
        variance = 0.5 * spread**2
        return Fitted(problem.names, prior_beta.copy(), variance.copy(), variance.copy())
    beta = prior_beta.copy()
    beta[:N_PARAMETERS] = start.beta[:N_PARAMETERS]
    known = {name: place for place, name in enumerate(start.names)}
    for place, name in enumerate(problem.names):
        if name in known:
            beta[_columns(place)] = start.beta[_columns(known[name])]
    return Fitted(problem.names, beta, start.source_variance.copy(), start.setup_variance.copy())


def _columns(level: int) -> slice:
    return slice(N_PARAMETERS * (level + 1), N_PARAMETERS * (level + 2))


def _covariance(
    block: _Block, gradient: FloatArray, fitted: Fitted, inflation: FloatArray
) -> FloatArray:
    own = gradient[:, block.places]
    target, draft = own[~_IS_DRAFT], own[_IS_DRAFT]
    by_source = (own * fitted.source_variance[:, None]).T @ own
    by_setup = (target * fitted.setup_variance[~_IS_DRAFT, None]).T @ target
    by_draft = (draft * fitted.setup_variance[_IS_DRAFT, None]).T @ draft
    total = by_source + block.same_group * by_setup + block.same_draft * by_draft + block.missed
    return total + np.diag(block.noise * inflation[block.places])


def _update_variances(
    problem: Problem,
    gradient: FloatArray,
    residual: FloatArray,
    precisions: Sequence[FloatArray],
    fitted: Fitted,
) -> None:
    """One EM step for both variances of every parameter; single sources cannot dominate."""
    source_sum, source_count = np.zeros(N_PARAMETERS), 0
    setup_sum, setup_count = np.zeros(N_PARAMETERS), np.zeros(N_PARAMETERS)
    for block, precision in zip(problem.blocks, precisions, strict=True):
        own = gradient[:, block.places]
        weight = precision @ residual[block.places]
        mean = fitted.source_variance * (own @ weight)
        kept = np.einsum("pi,ij,pj->p", own, precision, own)
        left = fitted.source_variance - fitted.source_variance**2 * kept
        source_sum += np.minimum(mean**2, 6.0 * fitted.source_variance) + left
        source_count += 1
        for is_draft, same in ((False, block.same_group), (True, block.same_draft)):
            chosen = is_draft == _IS_DRAFT
            for members in _members(same):
                part = own[chosen][:, members]
                variance = fitted.setup_variance[chosen]
                effect = variance * (part @ weight[members])
                kept_here = np.einsum(
                    "pi,ij,pj->p", part, precision[np.ix_(members, members)], part
                )
                remain = variance - variance**2 * kept_here
                # setups of one source count as one: they share its habits
                share = 1.0 / _n_groups(same)
                setup_sum[chosen] += share * (np.minimum(effect**2, 6.0 * variance) + remain)
                setup_count[chosen] += share
    fitted.source_variance = np.clip(source_sum / source_count, 1e-6, _LARGEST_VARIANCE)
    by_setup = setup_sum / np.maximum(setup_count, 1e-9)
    fitted.setup_variance = np.clip(by_setup, 1e-6, _LARGEST_VARIANCE)


def _inflate(
    problem: Problem,
    residual: FloatArray,
    precisions: Sequence[FloatArray],
    inflation: FloatArray,
) -> FloatArray:
    """Student-t weights: what is left of a row after all effects, in units of its noise."""
    result = inflation.copy()
    for block, precision in zip(problem.blocks, precisions, strict=True):
        left = block.noise * inflation[block.places] * (precision @ residual[block.places])
        ratio = left**2 / block.noise
        result[block.places] = np.maximum(1.0, (_ROBUST + ratio) / (_ROBUST + 1.0))
    return result


def _members(same: FloatArray) -> list[NDArray[np.int64]]:
    seen = np.zeros(len(same), dtype=bool)
    found = []
    for place in range(len(same)):
        if not seen[place]:
            members = np.flatnonzero(same[place])
            seen[members] = True
            found.append(members)
    return found


def _n_groups(same: FloatArray) -> float:
    return float(np.sum(1.0 / same.sum(axis=1)))


def _same(keys: Sequence[object]) -> FloatArray:
    codes = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    column = np.array([codes[key] for key in keys])
    return (column[:, None] == column[None, :]).astype(np.float64)


def _places_by_source(rows: Sequence[FitRow]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(row.source, []).append(place)
    return found
