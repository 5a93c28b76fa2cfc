"""``recommend --plot``: evaluates the curves that the figure shows, and writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tuner.advise.over import sweep_profile
from tuner.advise.predict import Question, predict
from tuner.cli.files import write_file
from tuner.records.config import Prediction
from tuner.records.decision import Recommendation
from tuner.records.sweep import SweepAxis
from tuner.records.workload import Profile
from tuner.report.names import best_drafting, drafter_text
from tuner.report.recommendation_figure import Panel, recommendation_figure

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DRAFT_LENGTHS = tuple(range(1, 11))


def write_recommendation_plot(
    path: Path, profiles: Sequence[Profile], found: Sequence[Recommendation]
) -> None:
    """Write the figure of all recommendations, one row a profile."""
    panels = [_panel(profile, item) for profile, item in zip(profiles, found, strict=True)]
    write_file("--plot", path, [recommendation_figure(panels, path.suffix.lower()[1:])])


def _panel(profile: Profile, item: Recommendation) -> Panel:
    return Panel(
        profile=item.profile,
        over_k=_chains(profile, best_drafting(item.configs)),
        over_batch=sweep_profile(profile, SweepAxis.BATCH, BATCHES),
    )


def _chains(profile: Profile, best: Prediction | None) -> tuple[Prediction, ...]:
    """Return the chains of the best configuration's method and drafter."""
    if best is None:
        return ()
    lengths = profile.candidates.num_speculative_tokens or DRAFT_LENGTHS
    question = Question(methods=(best.config.method,), num_speculative_tokens=lengths)
    return tuple(
        item
        for item in predict(profile, question).configs
        if item.config.method is best.config.method
        and item.config.tree is None
        and drafter_text(item.config) == drafter_text(best.config)
    )
