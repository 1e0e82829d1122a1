"""The status of a conversation, and the rules for changing it."""

from __future__ import annotations

from typing import Literal

from cortext.errors import InvalidTransitionError

Status = Literal["active", "paused", "completed"]

_NEXT: dict[str, frozenset[str]] = {
    "active": frozenset(("paused", "completed")),
    "paused": frozenset(("active", "completed")),
    "completed": frozenset(),
}


def check_transition(old: str, new: str) -> None:
    """Raise InvalidTransitionError if the status `old` may not change to the status `new`."""
    if new not in _NEXT.get(old, frozenset()):
        raise InvalidTransitionError(old, new)
