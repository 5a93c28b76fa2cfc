"""The figure of ``simulate --plot``: speedup and tokens a verify pass over K, or the histogram."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.report.figures import image_bytes, new_figure, style_of
from tuner.report.trial import TrialRow, axes_of


def trial_figure(rows: Sequence[TrialRow], image_format: str) -> bytes:
    """Return one image for the whole simulation."""
    figure = new_figure(9.0, 4.2)
    left, right = figure.subplots(1, 2)
    labels, counts = axes_of(rows)
    found = {(row.quality.label, row.trial.num_speculative_tokens): row.trial for row in rows}
    if len(rows) == 1:
        trial = rows[0].trial
        share = trial.histogram / trial.histogram.sum()
        left.bar(range(len(share)), share, color="C0")
        left.set(xlabel="accepted drafts a step", ylabel="share of steps")
        positions = range(1, len(trial.conditional) + 1)
        right.plot(positions, trial.conditional, **style_of(0, len(positions)))
        right.set(xlabel="position of the draft", ylabel="conditional acceptance α", ylim=(0, 1))
        return image_bytes(figure, image_format)
    for index, label in enumerate(labels if len(counts) > 1 else []):
        trials = [found[label, n] for n in counts]
        left.plot(
            counts,
            [t.acceptance_length for t in trials],
            label=label,
            **style_of(index, len(counts)),
        )
        right.plot(counts, [t.speedup for t in trials], label=label, **style_of(index, len(counts)))
    for axes in (left, right):
        axes.set_xlabel("draft tokens a step, K")
    if len(counts) == 1:
        trials = [found[label, counts[0]] for label in labels]
        rates = [t.distances.acceptance_rate for t in trials]
        left.plot(rates, [t.acceptance_length for t in trials], **style_of(0, len(rates)))
        right.plot(rates, [t.speedup for t in trials], **style_of(0, len(rates)))
        for axes in (left, right):
            axes.set_xlabel("acceptance rate, 1 − total variation")
    elif len(labels) > 1:
        left.legend(fontsize=8)
    left.set(ylabel="tokens a verify pass", ylim=(0, None))
    right.set(ylabel=f"speedup at c {rows[0].trial.draft_cost_ratio:g}", ylim=(0, None))
    right.axhline(1.0, color="0.6", linewidth=1.0)
    return image_bytes(figure, image_format)
