"""The figure of a lesson, drawn with matplotlib."""

from __future__ import annotations

from tuner.lessons.outcome import Outcome
from tuner.report.figures import image_bytes, new_figure, style_of


def lesson_figure(outcome: Outcome, image_format: str) -> bytes:
    """Return the lesson's curves as one image."""
    figure = new_figure(7.2, 4.2)
    axes = figure.subplots()
    for index, curve in enumerate(outcome.curves):
        axes.plot(curve.x, curve.y, label=curve.label, **style_of(index, len(curve.x)))
    axes.set(xlabel=outcome.x_label, ylabel=outcome.y_label)
    if outcome.y_min is not None:
        axes.set_ylim(bottom=outcome.y_min)
    if len(outcome.curves) > 1:
        axes.legend(fontsize=8)
    return image_bytes(figure, image_format)
