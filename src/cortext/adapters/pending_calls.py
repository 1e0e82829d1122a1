"""Matching of tool results to tool calls, in histories that use a call id more than once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class OpenCalls(Generic[C]):
    """The tool calls of a history that have no result yet. Add calls and results in order.

    A model may give every call the same id, and a process may die during a call. Therefore a result
    belongs to the most recent open call with its id. If one message made several calls with that
    id, the result belongs to the first of these.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[tuple[int, C]]] = {}

    def add(self, id: str, message: int, call: C) -> None:
        """Add a call that the message with this number makes."""
        self._open.setdefault(id, []).append((message, call))

    def answer(self, id: str) -> C | None:
        """Close the call that a result with this id belongs to, and return the call.

        Returns None if no open call has this id.
        """
        calls = self._open.get(id)
        if not calls:
            return None
        nearest = calls[-1][0]
        at = next(at for at, (message, _) in enumerate(calls) if message == nearest)
        return calls.pop(at)[1]

    def left(self) -> set[C]:
        """Return the calls that have no result."""
        return {call for calls in self._open.values() for _, call in calls}
