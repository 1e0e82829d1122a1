"""Which problems are the same thing in many files: a list of thousands tells a person nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cortext.features.doctor.problem import Problem

MANY = 20
"""Files of which each is named; where there are more, one stands for all of its kind."""
_SOME = 10
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\d+")


def kind_of(problem: Problem) -> str:
    """What a problem says without what it says of its file alone."""
    text = problem.text.replace(problem.path, "") if problem.path else problem.text
    return f"{problem.severity} {_PARTICULAR.sub('#', text)}"


def repeated(problems: Sequence[Problem]) -> dict[str, int]:
    """In how many files each kind is that is in several, where there are many files."""
    files: dict[str, set[str]] = {}
    for problem in problems:
        files.setdefault(kind_of(problem), set()).add(problem.path)
    if len({problem.path for problem in problems}) <= MANY:
        return {}
    return {kind: len(paths) for kind, paths in files.items() if len(paths) > _SOME}
