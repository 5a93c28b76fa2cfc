"""What a lesson computes: tables, sentences, and curves. Data only; the screen is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonTable:
    """A table of text cells; the first column is on the left, the others on the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LessonCurve:
    """One curve of the lesson's plot."""

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """The output of a lesson."""

    #: what the numbers say, a sentence each
    findings: tuple[str, ...]
    tables: tuple[LessonTable, ...]
    curves: tuple[LessonCurve, ...]
    x_label: str
    y_label: str
    #: where the vertical axis starts; None = at the smallest value
    y_min: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson by name."""

    name: str
    title: str
    run: Callable[[], Outcome]
    #: other commands of the program that go with it, without the program's name
    related: tuple[str, ...] = ()


def curve(label: str, x: ArrayLike, y: ArrayLike) -> LessonCurve:
    """Return a curve from any sequences."""
    return LessonCurve(label=label, x=np.asarray(x, dtype=float), y=np.asarray(y, dtype=float))


def numbers(values: Iterable[float], digits: int = 3) -> tuple[str, ...]:
    """Return cells with a fixed number of decimals."""
    return tuple(f"{value:.{digits}f}" for value in values)
