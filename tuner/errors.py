"""Every failure a user can meet, and the exit code it gives.

::

    TunerError
    ├── InputError (ValueError)        2   a file, option or value is not acceptable
    │   └── ProfileError               2   one or more places in a profile, all at once
    ├── InfeasibleError                3   no configuration satisfies memory or limits
    ├── MissingDataError (LookupError) 4   a model, device, version or prior is not known
    └── FindingError                   1   a gate was not met, or a proof failed

Anything else that escapes is a bug and exits with 70.
"""

from __future__ import annotations

from enum import IntEnum

from tuner.frozen import dataclass


class ExitCode(IntEnum):
    """Process exit codes; the contract with scripts."""

    OK = 0
    """Done, also when the advice is to leave speculation off."""
    FINDINGS = 1
    """Findings, a failed gate, or not exact."""
    USAGE = 2
    """Usage or input error."""
    INFEASIBLE = 3
    """No feasible configuration."""
    MISSING_DATA = 4
    """Needed data are missing."""
    BUG = 70
    """A defect of this program."""
    INTERRUPTED = 130
    """Interrupted by the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A place in an input file; every part is optional."""

    file: str | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        head = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (head, self.key or "") if part)


class TunerError(Exception):
    """Base of every expected failure. ``message`` is the sentence that the user reads."""

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, message: str, *, where: Where | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def lines(self) -> list[str]:
        """Return the sentences to print, one a line."""
        place = str(self.where) if self.where else ""
        return [f"{place}: {self.message}" if place else self.message]


class InputError(TunerError, ValueError):
    """A file, an option or a value that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong at one place of a profile."""

    where: Where
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class ProfileError(InputError):
    """All problems of one profile, found in one go."""

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        super().__init__(first.message, where=first.where)
        self.problems = tuple(problems)

    def lines(self) -> list[str]:
        count = len(self.problems)
        tail = f"{count} error{'s' if count > 1 else ''}; nothing was computed."
        return [*map(str, self.problems), tail]


class InfeasibleError(TunerError):
    """Nothing satisfies memory or the limits given; expected, never a traceback."""

    exit_code = ExitCode.INFEASIBLE


class MissingDataError(TunerError, LookupError):
    """A model, device, engine version or prior that is not known and is not invented."""

    exit_code = ExitCode.MISSING_DATA

    def __str__(self) -> str:  # LookupError would print the repr
        return self.message


class FindingError(TunerError):
    """A gate that was not met, or a proof that failed."""

    exit_code = ExitCode.FINDINGS
