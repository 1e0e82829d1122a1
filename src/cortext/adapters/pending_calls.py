"""Which call a result belongs to, in a history in which ids come again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class OpenCalls(Generic[C]):
    """The calls of a history, taken in its order, that have no result yet.

    A model may give every call the same id, and a process may die in one of them: so a result
    belongs to the nearest open call before it. Of those that one message makes it is the first.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[tuple[int, C]]] = {}

    def add(self, id: str, message: int, call: C) -> None:
        """A call that the message with this number makes."""
        self._open.setdefault(id, []).append((message, call))

    def answer(self, id: str) -> C | None:
        """The call that a result with this id belongs to, which is open no longer; None if no open
        one has it."""
        calls = self._open.get(id)
        if not calls:
            return None
        nearest = calls[-1][0]
        at = next(at for at, (message, _) in enumerate(calls) if message == nearest)
        return calls.pop(at)[1]

    def left(self) -> set[C]:
        """Those that nothing has answered."""
        return {call for calls in self._open.values() for _, call in calls}
