"""The law of decay and curvature, learned across curves by expectation and maximisation.

Every curve has a level, a decay and a curvature. The level is free; the other two are normal about
a quadratic in the level plus offsets of method and task that are shrunk to zero. Residuals of ln τ
are Student-t (single runs stray), so one odd run does not bend the law.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scripts.acceptance_curves import AcceptanceCell, padded
from tuner.acceptance.positions import FloatArray, logistic
from tuner.acceptance.shape import MAX_X, MIN_X
from tuner.records.acceptance_prior import ShapeLaw

#: Scale of ln τ between runs, and degrees of freedom of its tails: of a handful of values tried,
#: those that predict left-out targets of the file of τ by K well (``docs/acceptance.md``); the
#: file's curves leave 0.5 % in their middle, single runs stray by 4 to 8 %.
RUN_LOG_SD = 0.005
TAIL = 8.0
#: Standard deviation of offsets of method and task before the data (assumed weakly informative).
OFFSET_SD = 0.3
#: Standard deviations of base, slope and bend before the data: hardly any say, and for laws of
#: which few curves are known (``is_steady``) no change over positions, the usual assumption about
#: language models that draft (Leviathan et al. 2023, section 3: acceptance is i.i.d.).
FREE_SD = (100.0, 10.0, 10.0)
STEADY_SD = (0.1, 0.05, 0.02)
ROUNDS = 12
SMALLEST_VARIANCE = 2e-4
LEVEL_VARIANCE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    seen: FloatArray
    mask: FloatArray
    basis: FloatArray
    weights: FloatArray
    offsets: FloatArray
    names: tuple[str, ...]


def fit_law(
    cells: Sequence[AcceptanceCell],
    basis: FloatArray,
    *,
    focus: str | None = None,
    focus_weight: float = 20.0,
    offsets: tuple[str, ...] = ("method", "task"),
    start: ShapeLaw | None = None,
    steady: ShapeLaw | None = None,
) -> ShapeLaw:
    """Return the law fitted on cells with τ at two K or more.

    ``focus`` names a source whose curves count ``focus_weight`` times: the way to predict further
    curves that were measured as its others were. ``start`` = the law of nearly the same cells, from
    which few rounds suffice. ``steady`` = a law of other drafters: acceptance is then taken not to
    change over positions until curves say so, and to vary from curve to curve as it does there.
    """
    chosen = [cell for cell in cells if len(cell.lengths) >= 2 and not cell.is_tree]
    setup = _setup(chosen, basis, focus, focus_weight, offsets)
    free_sd = FREE_SD if steady is None else STEADY_SD
    count = 3 + len(setup.names)
    coefficients = np.zeros((count, 2))
    spread = np.diag([0.05, 0.05])
    centre = 1.0
    latent: FloatArray | None = None
    if start is not None:
        coefficients = np.array([start.base, start.slope, start.bend, *_known(start, setup.names)])
        spread = start.covariance
    if steady is not None:
        spread = steady.covariance
    for _ in range((ROUNDS if start is None else 3) if chosen else 0):
        latent, doubt = _modes(setup, coefficients, spread, centre, latent)
        coefficients, found, centre = _maximise(setup, latent, doubt, coefficients, spread, free_sd)
        spread = found if steady is None else steady.covariance
    return ShapeLaw(
        base=coefficients[0],
        slope=coefficients[1],
        bend=coefficients[2],
        offsets={name: coefficients[3 + at] for at, name in enumerate(setup.names)},
        covariance=spread,
        n_curves=len(chosen),
    )


def _known(start: ShapeLaw, names: tuple[str, ...]) -> list[FloatArray]:
    return [start.offsets.get(name, np.zeros(2)) for name in names]


def _setup(
    cells: Sequence[AcceptanceCell],
    basis: FloatArray,
    focus: str | None,
    focus_weight: float,
    by: tuple[str, ...],
) -> _Setup:
    seen, mask = padded(cells, len(basis))
    size = Counter(cell.source for cell in cells)
    weights = np.array(
        [
            focus_weight if cell.source == focus else cell.weight / np.sqrt(size[cell.source])
            for cell in cells
        ]
    )
    labels = [_labels(cell, by) for cell in cells]
    names = tuple(sorted({name for label in labels for name in label}))
    offsets = np.array([[float(name in label) for name in names] for label in labels])
    return _Setup(
        seen=seen,
        mask=mask,
        basis=basis,
        weights=weights,
        offsets=offsets.reshape(len(cells), len(names)),
        names=names,
    )


def _labels(cell: AcceptanceCell, by: tuple[str, ...]) -> tuple[str, ...]:
    labels = (f"method:{cell.method}",) if "method" in by else ()
    return (*labels, f"task:{cell.task}") if "task" in by and cell.task else labels


def _x(level: FloatArray) -> FloatArray:
    return np.clip(level - 1.0, MIN_X, MAX_X)


def _columns(setup: _Setup, level: FloatArray) -> FloatArray:
    x = _x(level)
    return np.column_stack((np.ones_like(x), x, x * x, setup.offsets))


def _modes(
    setup: _Setup,
    coefficients: FloatArray,
    spread: FloatArray,
    centre: float,
    start: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Return each curve's (level, decay deviation, curvature deviation) and covariance."""
    count = len(setup.seen)
    prior = np.zeros((count, 3))
    prior[:, 0] = centre
    precision = np.zeros((3, 3))
    precision[0, 0] = 1.0 / LEVEL_VARIANCE
    precision[1:, 1:] = np.linalg.inv(spread)
    at = prior.copy() if start is None else start
    weight = setup.mask / RUN_LOG_SD**2
    hessian = np.tile(precision, (count, 1, 1))
    for _ in range(15 if start is None else 5):
        length, slope = _forward(setup, coefficients, at)
        residual = setup.seen - length
        robust = weight * (TAIL + 1.0) / (TAIL + (residual / RUN_LOG_SD) ** 2)
        weighted = robust[:, :, None] * slope
        hessian = slope.transpose(0, 2, 1) @ weighted + precision
        gradient = (weighted * residual[:, :, None]).sum(axis=1) - (at - prior) @ precision
        move = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        move /= np.maximum(1.0, np.abs(move).max(axis=1, keepdims=True) / 0.7)
        at = at + move
    return at, np.linalg.inv(hessian)


def _forward(
    setup: _Setup, coefficients: FloatArray, at: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ln τ by K and its derivative by the three numbers for every curve."""
    level = at[:, 0]
    mean = _columns(setup, level) @ coefficients
    x = _x(level)
    inside = ((level - 1.0) == x).astype(np.float64)
    tilt = inside[:, None] * (coefficients[1] + 2.0 * x[:, None] * coefficients[2])
    shape = np.column_stack((level, mean + at[:, 1:]))
    rate = logistic(shape @ setup.basis.T)
    survival = np.cumprod(rate, axis=1)
    columns = np.broadcast_to(setup.basis, (len(at), *setup.basis.shape)).copy()
    columns[:, :, 0] += np.einsum("kp,mp->mk", setup.basis[:, 1:], tilt)
    slope = survival[:, :, None] * np.cumsum((1.0 - rate)[:, :, None] * columns, axis=1)
    length = 1.0 + np.cumsum(survival, axis=1)
    return np.log(length), np.cumsum(slope, axis=1) / length[:, :, None]


def _maximise(
    setup: _Setup,
    latent: FloatArray,
    doubt: FloatArray,
    coefficients: FloatArray,
    spread: FloatArray,
    free_sd: tuple[float, float, float],
) -> tuple[FloatArray, FloatArray, float]:
    """Return coefficients, covariance and mean level that fit the curves' numbers best."""
    columns = _columns(setup, latent[:, 0])
    numbers = columns @ coefficients + latent[:, 1:]
    weights = setup.weights
    sd = np.concatenate((free_sd, np.full(len(setup.names), OFFSET_SD)))
    penalty = 1.0 / sd**2
    fitted = np.empty_like(coefficients)
    for which in range(2):
        scaled = columns.T * (weights / spread[which, which])
        fitted[:, which] = np.linalg.solve(
            scaled @ columns + np.diag(penalty), scaled @ numbers[:, which]
        )
    left = numbers - columns @ fitted
    total = weights.sum()
    new_spread = (
        np.einsum("m,mi,mj->ij", weights, left, left)
        + np.einsum("m,mij->ij", weights, doubt[:, 1:, 1:])
    ) / total + SMALLEST_VARIANCE * np.eye(2)
    return fitted, new_spread, float((weights * latent[:, 0]).sum() / total)
