"""Matching of tool results to tool calls, also if several calls have the same id."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class OpenCalls(Generic[C]):
    """The tool calls of a message history that have no result yet.

    Pass the calls to `add` and the results to `answer`, in the order of the history. Several open
    calls may have the same id: some models reuse ids, and some calls never get a result. In this
    case, the result belongs to the latest message with such a call. If this message has several
    such calls, the result belongs to the first of them.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[tuple[int, C]]] = {}

    def add(self, id: str, message: int, call: C) -> None:
        """Add a tool call that has the id `id` and is part of the message number `message`.

        `call` is any value that identifies the call for the caller.
        """
        self._open.setdefault(id, []).append((message, call))

    def answer(self, id: str) -> C | None:
        """Find the open call for a tool result with this call id, and return the call.

        The call is no longer open afterwards. Returns None if no open call has this id.
        """
        calls = self._open.get(id)
        if not calls:
            return None
        nearest = calls[-1][0]
        at = next(at for at, (message, _) in enumerate(calls) if message == nearest)
        return calls.pop(at)[1]

    def left(self) -> set[C]:
        """Return the calls without a result, as the values that were passed to `add`."""
        return {call for calls in self._open.values() for _, call in calls}
