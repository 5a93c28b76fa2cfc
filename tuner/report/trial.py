"""The screens and the JSON document of ``simulate``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType

from tuner.frozen import dataclass
from tuner.report.layout import Column, fitted_table, labelled, literal, paragraph
from tuner.report.numbers import factor
from tuner.report.plots import Series, bars, line_plot
from tuner.simulate.toy import Quality
from tuner.simulate.trial import KV_BLOCK_SIZE, Trial
from tuner.speedup import formula_step_cost, time_per_token

SCHEMA_VERSION = 1
#: tables by K are no wider than this many columns
_MOST_COLUMNS = 12
_LABEL = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One cell of a simulation: a drafter's quality and what came out."""

    quality: Quality
    trial: Trial


def trial_document(title: str, rows: Sequence[TrialRow], seed: int) -> dict[str, object]:
    """Return the JSON document of ``simulate``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "models": title,
        "seed": seed,
        "trials": [_trial_fields(row) for row in rows],
    }


def _trial_fields(row: TrialRow) -> dict[str, object]:
    trial, counts = row.trial, row.trial.cache.counts
    return {
        "quality": row.quality.label,
        "vocab_size": trial.vocab_size,
        "num_speculative_tokens": trial.num_speculative_tokens,
        "sequences": trial.sequences,
        "steps": trial.steps,
        "kl": _finite(trial.distances.kl),
        "total_variation": trial.distances.total_variation,
        "acceptance_rate": {
            "given": trial.given_acceptance,
            "one_minus_total_variation": trial.distances.acceptance_rate,
            "measured": trial.acceptance_rate,
            "standard_error": _finite(trial.acceptance_rate_error),
        },
        "conditional_acceptance": [_finite(value) for value in trial.conditional.tolist()],
        "acceptance_length": {
            "measured": trial.acceptance_length,
            "standard_error": _finite(trial.acceptance_length_error),
            "formula": trial.formula_length,
        },
        "accepted_histogram": trial.histogram.tolist(),
        "draft_cost_ratio": trial.draft_cost_ratio,
        "time_per_token": trial.time_per_token,
        "speedup": trial.speedup,
        "kv_cache": {
            "sequences": trial.cache.sequences,
            "steps": trial.cache.steps,
            "block_size": KV_BLOCK_SIZE,
            "computed": counts.computed,
            "committed": counts.committed,
            "discarded": counts.discarded,
            "copied": counts.copied,
            "recomputed": counts.recomputed,
            "blocks_taken": trial.cache.blocks_taken,
            "blocks_returned": trial.cache.blocks_returned,
            "most_blocks": trial.cache.most_blocks,
        },
    }


def render_trial(title: str, row: TrialRow, *, width: int, blocks: bool) -> list[RenderableType]:
    """Return the screen of one run: the answer first, then acceptance, histogram, cache."""
    trial = row.trial
    n, c = trial.num_speculative_tokens, trial.draft_cost_ratio
    formula_time = float(time_per_token(trial.formula_length, formula_step_cost(n, c)))
    share = trial.histogram / trial.histogram.sum()
    chart = bars(
        [(str(count), float(part)) for count, part in enumerate(share)],
        width=min(width, 72),
        blocks=blocks,
        number=lambda value: f"{100.0 * value:.1f} %",
    )
    return [
        "",
        paragraph(f"{title} · K {n} · {trial.sequences:,} × {trial.steps:,} steps", style="bold"),
        "",
        paragraph(
            f"{_length_text(trial)} tokens a "
            f"verify pass; constant α gives {trial.formula_length:.3f}. At c {c:g} a token takes "
            f"{trial.time_per_token:.3f} plain steps, {factor(trial.speedup)} plain decoding "
            f"(constant α: {factor(1.0 / formula_time)}).",
            style="bold",
        ),
        "",
        labelled("acceptance", _acceptance_text(trial), width=_LABEL),
        labelled("by position", _position_text(trial), width=_LABEL),
        "",
        paragraph("share of steps by accepted drafts"),
        literal(chart),
        "",
        labelled("KV cache", _cache_text(trial), width=_LABEL),
    ]


def _acceptance_text(trial: Trial) -> str:
    given = "" if trial.given_acceptance is None else f"given {trial.given_acceptance:g}; "
    return (
        f"{given}1 − total variation {trial.distances.acceptance_rate:.4f}; measured "
        f"{_with_error(trial.acceptance_rate, trial.acceptance_rate_error, digits=4)}; "
        f"KL {_kl_text(trial)} nats"
    )


def _position_text(trial: Trial) -> str:
    return "  ".join("–" if math.isnan(value) else f"{value:.3f}" for value in trial.conditional)


def _cache_text(trial: Trial) -> str:
    use, counts = trial.cache, trial.cache.counts
    return (
        f"{use.sequences} sequences, {use.steps} steps: {counts.computed:,} entries computed = "
        f"{counts.committed:,} kept + {counts.discarded:,} rolled back "
        f"({100.0 * counts.discarded / counts.computed:.0f} %); {counts.recomputed} computed "
        f"twice, {counts.copied} copied. Blocks of {KV_BLOCK_SIZE}: {use.blocks_taken:,} taken, "
        f"{use.blocks_returned:,} given back, at most {use.most_blocks:,} in use"
    )


def render_trials(
    title: str, rows: Sequence[TrialRow], *, width: int, blocks: bool
) -> list[RenderableType]:
    """Return the screen of a sweep over draft quality, K, or both."""
    labels, counts = axes_of(rows)
    found = _by_axes(rows)
    first = rows[0].trial
    head = f"{title} · {first.sequences:,} × {first.steps:,} steps each"
    parts: list[RenderableType] = ["", paragraph(head, style="bold"), ""]
    if len(labels) > 1:
        parts += [_quality_table(labels, counts, found, width), ""]
        if len(counts) > 1:
            parts += [paragraph("tokens a verify pass"), _length_table(rows, width), ""]
    else:
        parts += [_count_table([found[labels[0], n] for n in counts], width), ""]
    return [*parts, literal(_plot(rows, width, blocks)), "", paragraph(_summary(rows))]


def axes_of(rows: Sequence[TrialRow]) -> tuple[list[str], list[int]]:
    """Return the qualities and the K of a sweep, in order."""
    labels = list(dict.fromkeys(row.quality.label for row in rows))
    return labels, sorted({row.trial.num_speculative_tokens for row in rows})


def _by_axes(rows: Sequence[TrialRow]) -> dict[tuple[str, int], Trial]:
    return {(row.quality.label, row.trial.num_speculative_tokens): row.trial for row in rows}


def _quality_table(
    labels: list[str], counts: list[int], found: dict[tuple[str, int], Trial], width: int
) -> RenderableType:
    last = [found[label, counts[-1]] for label in labels]
    best = [
        min((found[label, n] for n in counts), key=lambda t: t.time_per_token) for label in labels
    ]
    kls = tuple(map(_kl_text, last))
    tau_title = "best K" if len(counts) > 1 else "K"
    columns = [
        Column(title="drafter", cells=tuple(labels), align="left"),
        Column(title="KL, nats", cells=kls, drop_order=1),
        Column(title="TV", cells=tuple(f"{t.distances.total_variation:.3f}" for t in last)),
        Column(title="1 − TV", cells=tuple(f"{t.distances.acceptance_rate:.3f}" for t in last)),
        Column(title="α measured", cells=tuple(f"{t.acceptance_rate:.3f}" for t in last)),
        Column(title=tau_title, cells=tuple(str(t.num_speculative_tokens) for t in best)),
        Column(
            title="tokens/verify",
            cells=tuple(_length_text(t) for t in best),
        ),
        Column(
            title="time/token", cells=tuple(f"{t.time_per_token:.3f}" for t in best), drop_order=2
        ),
        Column(title="speedup", cells=tuple(factor(t.speedup) for t in best)),
    ]
    return fitted_table(columns, width=width, indent=4)


def _length_table(rows: Sequence[TrialRow], width: int) -> RenderableType:
    labels, counts = axes_of(rows)
    found = _by_axes(rows)
    shown = counts if len(counts) <= _MOST_COLUMNS else counts[:: -(-len(counts) // _MOST_COLUMNS)]
    columns = [Column(title="drafter", cells=tuple(labels), align="left")]
    for place, n in enumerate(shown):
        cells = tuple(f"{found[label, n].acceptance_length:.2f}" for label in labels)
        columns.append(Column(title=f"K {n}", cells=cells, drop_order=place and 1 + place))
    return fitted_table(columns, width=width, indent=4)


def _count_table(trials: list[Trial], width: int) -> RenderableType:
    best = int(np.argmin([trial.time_per_token for trial in trials]))
    marks = tuple("◂ best" if place == best else "" for place in range(len(trials)))
    columns = [
        Column(title="K", cells=tuple(str(t.num_speculative_tokens) for t in trials)),
        Column(
            title="tokens/verify",
            cells=tuple(
                _with_error(t.acceptance_length, t.acceptance_length_error) for t in trials
            ),
        ),
        Column(title="constant α", cells=tuple(f"{t.formula_length:.3f}" for t in trials)),
        Column(
            title="α measured",
            cells=tuple(f"{t.acceptance_rate:.3f}" for t in trials),
            drop_order=1,
        ),
        Column(title="time/token", cells=tuple(f"{t.time_per_token:.3f}" for t in trials)),
        Column(title="speedup", cells=tuple(factor(t.speedup) for t in trials)),
        Column(title="", cells=marks, align="left"),
    ]
    return fitted_table(columns, width=width, indent=4, bold_row=best)


def _plot(rows: Sequence[TrialRow], width: int, blocks: bool) -> list[str]:
    labels, counts = axes_of(rows)
    found = _by_axes(rows)
    if len(counts) == 1:
        cells = [(label, found[label, counts[0]].speedup) for label in labels]
        return ["  speedup", *bars(cells, width=width, blocks=blocks)]
    series = [
        Series(label=label, x=counts, y=[found[label, n].speedup for n in counts])
        for label in labels
    ]
    return line_plot(series, width=width, x_label="K", y_label="speedup", blocks=blocks)


def _summary(rows: Sequence[TrialRow]) -> str:
    best = min(rows, key=lambda row: row.trial.time_per_token)
    trial = best.trial
    if trial.speedup <= 1.0:
        return f"At c {trial.draft_cost_ratio:g} no row is faster than plain decoding."
    return (
        f"At c {trial.draft_cost_ratio:g} the fastest is {best.quality.label} with K "
        f"{trial.num_speculative_tokens}: {trial.acceptance_length:.2f} tokens a verify pass, "
        f"{factor(trial.speedup)} plain decoding."
    )


def _kl_text(trial: Trial) -> str:
    return f"{trial.distances.kl:.4f}" if math.isfinite(trial.distances.kl) else "∞"


def _length_text(trial: Trial) -> str:
    return _with_error(trial.acceptance_length, trial.acceptance_length_error)


def _with_error(value: float, error: float, *, digits: int = 3) -> str:
    if math.isnan(error):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
