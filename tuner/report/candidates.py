"""The table of configurations, and the sentence on how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import RenderableType

from tuner.advise.explain import batch_text
from tuner.records.config import Prediction
from tuner.records.methods import Method
from tuner.report.layout import Column, fitted_table, paragraph
from tuner.report.names import column_name, config_text, drafter_text
from tuner.report.numbers import (
    DASH,
    factor,
    half_width,
    plain_number,
    span,
    time_text,
)

#: shortest form of a drafter's name that still tells drafters apart
_SHORTEST_DRAFTER = 16
#: what the symbols above the columns stand for; times in plain steps are explained together
_SYMBOLS = {
    "K": "K drafts a step",
    "K, tree": "K drafts a step",
    "α": "α chance the next is kept",
    "τ": "τ tokens a step",
}
#: the same, and what else there is to say where beliefs have a width
_UNCERTAIN = {
    **_SYMBOLS,
    "τ": "τ tokens a step ± half its 80 % belief",
    "TPOT": "TPOT: at the central plain step",
    "80 %": "80 %: belief about the speedup",
}
_IN_PLAIN_STEPS = {"c": "c draft pass", "verify": "verify", "step": "step"}


def candidates_table(
    configs: Sequence[Prediction],
    *,
    width: int,
    marked: Prediction | None = None,
    with_load: bool = False,
) -> tuple[RenderableType, ...]:
    """Return one row a configuration, in the order given, and a legend of the columns shown.

    ``marked`` gets the pointer. On a narrow screen columns go in the order: verify cost, memory,
    c, α, step, drafter, belief, τ. Before a column goes, the drafter's name is shortened in the
    middle.
    """
    marks = tuple("▸" if item is marked else " " for item in configs)
    misfit = any(item.fits_memory is False for item in configs)
    columns = [
        Column(title=" ", cells=marks, align="left") if marked is not None else None,
        Column(title="method", cells=_each(configs, _method), align="left"),
        Column(
            title="drafter",
            cells=tuple(drafter_text(item.config) for item in configs),
            align="left",
            shortest=_SHORTEST_DRAFTER,
            drop_order=3,
        ),
        Column(
            title="K, tree" if any(c.config.tree for c in configs) else "K",
            cells=_each(configs, _setting),
        ),
        *(_load_columns(configs) if with_load else ()),
        Column(title="α", cells=_each(configs, _rate), drop_order=5),
        Column(title="τ", cells=_each(configs, _length), align="left", drop_order=1),
        Column(title="c", cells=_each(configs, _draft_cost), drop_order=6),
        Column(title="verify", cells=_each(configs, _verify), drop_order=8),
        Column(title="step", cells=_each(configs, _step), drop_order=4),
        Column(title="TPOT", cells=_each(configs, _tpot)),
        Column(title="speedup", cells=_each(configs, _speedup)),
        Column(title="80 %", cells=_each(configs, _belief), align="left", drop_order=2),
        Column(title="fits", cells=_each(configs, _fits), drop_order=0 if misfit else 7),
    ]
    bold = next((row for row, item in enumerate(configs) if item is marked), None)
    shown = [column for column in columns if column is not None]
    table = fitted_table(shown, width=width, indent=2, bold_row=bold)
    return table, paragraph(_legend(table.titles, configs), style="dim")


def _legend(titles: Sequence[str], configs: Sequence[Prediction]) -> str:
    is_exact = all(item.speedup.p90 <= item.speedup.p10 for item in configs)
    known = _SYMBOLS if is_exact else _UNCERTAIN
    parts = [known[title] for title in titles if title in known]
    ratios = [_IN_PLAIN_STEPS[title] for title in titles if title in _IN_PLAIN_STEPS]
    if ratios:
        parts.append(", ".join(ratios) + ": in plain steps")
    return " · ".join(parts)


def difference_sentence(configs: Sequence[Prediction]) -> str | None:
    """Return how much slower the runner-up is, and the best of another method; best first."""
    if len(configs) < 2:
        return None
    best, second = configs[0], configs[1]
    parts = [f"Next, by central values: {config_text(second.config)}, {_slower(best, second)}"]
    rest = (item for item in configs[2:] if item.config.method is not best.config.method)
    other = next(rest, None)
    if second.config.method is best.config.method and other is not None:
        parts.append(f"the next method, {config_text(other.config)}, {_slower(best, other)}")
    return "; ".join(parts) + "."


def _slower(best: Prediction, other: Prediction) -> str:
    if other.fits_memory is False:
        return "does not fit in memory"
    lost = _relative_time(other) / _relative_time(best) - 1.0
    if abs(lost) < 0.0005:
        return "equally fast"
    if lost >= 1.0:
        return f"{factor(1.0 + lost)} the time a token"
    digits = 1 if abs(lost) < 0.1 else 0
    return f"{abs(lost) * 100.0:.{digits}f} % {'slower' if lost > 0.0 else 'faster'} a token"


def _relative_time(item: Prediction) -> float:
    """Return time per token: in seconds where known, else in plain steps."""
    return item.tpot_s.mean if item.tpot_s is not None else 1.0 / item.speedup.mean


def _load_columns(configs: Sequence[Prediction]) -> tuple[Column, ...]:
    batches = tuple(batch_text(item.batch) for item in configs)
    heats = tuple(plain_number(item.temperature) for item in configs)
    found = []
    if len(set(batches)) > 1:
        found.append(Column(title="batch", cells=batches))
    if len(set(heats)) > 1:
        found.append(Column(title="T", cells=heats))
    return tuple(found)


def _each(configs: Sequence[Prediction], cell: Callable[[Prediction], str]) -> tuple[str, ...]:
    return tuple(cell(item) for item in configs)


def _is_plain(item: Prediction) -> bool:
    return item.config.method is Method.NONE


def _method(item: Prediction) -> str:
    name = column_name(item.config.method)
    return f"{name} (lossy)" if item.config.verify_rule.is_lossy else name


def _setting(item: Prediction) -> str:
    """Return K, or the tree's three numbers."""
    if _is_plain(item):
        return DASH
    return str(item.config.tree or item.config.num_speculative_tokens)


def _rate(item: Prediction) -> str:
    rate = pooled_acceptance_rate(item)
    return DASH if rate is None else f"{rate:.2f}"


def _length(item: Prediction) -> str:
    tau = item.acceptance_length
    spread = half_width(tau)
    if spread <= 0.0:
        return f"{tau.mean:.2f}"
    return f"{tau.mean:.2f} ± " + f"{spread:.2f}".removeprefix("0")


def _draft_cost(item: Prediction) -> str:
    return DASH if item.draft_cost_ratio is None else f"{item.draft_cost_ratio:.3f}"


def _verify(item: Prediction) -> str:
    return DASH if _is_plain(item) else factor(item.verify_cost_ratio)


def _step(item: Prediction) -> str:
    return factor(item.step_cost_ratio)


def _tpot(item: Prediction) -> str:
    return "" if item.tpot_s is None else time_text(item.tpot_s.mean)


def _speedup(item: Prediction) -> str:
    return factor(item.speedup.mean)


def _belief(item: Prediction) -> str:
    if item.speedup.p90 <= item.speedup.p10:
        return ""
    return span(item.speedup, digits=2 if item.speedup.mean < 2.0 else 1)


def _fits(item: Prediction) -> str:
    """Return up to how many sequences fit in memory, and whether the profile's batch does."""
    if item.fits_memory is None:
        return ""
    if item.max_batch is None:
        return "yes" if item.fits_memory else "NO"
    return f"to {item.max_batch:,}" if item.fits_memory else f"NO, {item.max_batch:,}"


def pooled_acceptance_rate(item: Prediction) -> float | None:
    """Return α: accepted drafts over drafts whose predecessors were all accepted.

    With survival S_1 … S_K this is Σ S_i ÷ (1 + S_1 + … + S_(K−1)); constant acceptance gives
    exactly that constant. None without positions.
    """
    survival = item.acceptance_per_position
    if not survival:
        return None
    return sum(survival) / (1.0 + sum(survival[:-1]))
