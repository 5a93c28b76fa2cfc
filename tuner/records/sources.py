"""Where a number comes from and how far to trust it."""

from __future__ import annotations

from enum import StrEnum

from tuner.frozen import dataclass


class Grade(StrEnum):
    """How a number was obtained, best first."""

    EXACT = "exact"
    MEASURED = "measured"
    REPORTED = "reported"
    DERIVED = "derived"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The origin of a number or a fact."""

    #: paper and table, repository@commit:path, or page; what a reader would open
    reference: str
    grade: Grade
    #: when it was read or measured, ISO form; None = not stated
    date: str | None = None
    #: what a reader should know before trusting it
    note: str | None = None


class AssumptionKind(StrEnum):
    """What kind of thing a result rests on."""

    DEFAULT = "default"
    PRIOR = "prior"
    OBSERVED = "observed"
    OVERRIDE = "override"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One thing that a result rests on, named in every output."""

    what: str
    value: str
    kind: AssumptionKind
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning_:  # noqa: N801 - the builtin has the plain name
    """Something the user should know; data, so that every renderer can show it."""

    code: str
    message: str
