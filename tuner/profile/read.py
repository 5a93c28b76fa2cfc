"""A profile file → a validated profile, or everything that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tuner.errors import ProfileError
from tuner.profile.build import build_profile
from tuner.profile.contradictions import check_all
from tuner.profile.find import STDIN, read_text
from tuner.profile.kinds import INVALID, Problems
from tuner.profile.nodes import Node, read_tree
from tuner.profile.overlay import lay_over
from tuner.profile.table import PROFILE
from tuner.records.workload import Profile


def read_profile(path_or_name: str, *, sets: Sequence[str] = ()) -> Profile:
    """Read and validate a profile.

    Parameters
    ----------
    path_or_name
        A YAML file, the name of a shipped profile, or "-" for standard input.
    sets
        Texts "dotted.key=value" that replace values of the file before validation.

    Raises
    ------
    ProfileError
        Everything that is wrong, each with file, line and key.
    InputError
        The file cannot be read, or is not YAML.
    """
    text, file = read_text(path_or_name)
    name = os.path.splitext(os.path.basename(file))[0]
    return parse_profile(
        text, file=file, name=name, sets=sets, path=None if path_or_name == STDIN else file
    )


def parse_profile(
    text: str, *, file: str, name: str, sets: Sequence[str] = (), path: str | None = None
) -> Profile:
    """Validate the text of a profile; ``file`` is its name in messages."""
    root = read_tree(text, file)
    lay_over(root, list(sets))
    return validate(root, path=path, name=name)


def validate(root: Node, *, path: str | None, name: str) -> Profile:
    """Turn a tree into a profile.

    Raises
    ------
    ProfileError
        Everything that is wrong, in the order of the file.
    """
    problems = Problems()
    values = PROFILE.read(root, "", problems)
    if values is not INVALID:
        check_all(values, root, problems)
    if problems:
        raise ProfileError(sorted(problems, key=lambda problem: problem.where.line or 0))
    return build_profile(values, file=path, fallback_name=name)
