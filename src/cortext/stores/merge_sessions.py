"""Merging on save: records that other writers stored meanwhile are added to the saved session."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores.fingerprints import Recent


class KnownRecords:
    """The records that each Session object had when a store last returned or saved the object.

    A save uses them to tell two cases apart. A stored record that the object never had was added by
    another writer, so the save keeps it. A record that the object had, and no longer has, was
    removed by the caller, so the save removes it.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[weakref.ref[Session], _Records]] = {}
        self._latest: Recent[_Records] = Recent(8)

    def note(self, session: Session) -> None:
        key = id(session)
        ref = weakref.ref(session, lambda _: self._records.pop(key, None))
        # Keep the records and compute their ids on demand: the ids are rarely needed.
        had = _Records(tuple(session.messages), tuple(session.tool_history))
        self._records[key] = ref, had
        self._latest.put(session.id, had)

    def keep_others(self, session: Session, stored: Session) -> None:
        """Add to `session` the records that other writers added to `stored`.

        `stored` is the session as it is in the store now. If `session` was never passed to `note`,
        the records of the last noted object with the same id are used for the comparison. Without
        such an object, every stored record counts as added by another writer.
        """
        found = self._records.get(id(session))
        had = self._latest.get(session.id) if found is None else found[1]
        known = ids_of(session)
        if had is not None:
            known |= ids_of(had)
        session.messages.extend(m for m in stored.messages if m.id not in known)
        session.tool_history.extend(c for c in stored.tool_history if c.id not in known)


class _Records(NamedTuple):
    """The records of a session at one time."""

    messages: Sequence[SessionMessage]
    tool_history: Sequence[ToolInvocation]


def ids_of(session: Session | _Records) -> frozenset[str]:
    """Return the ids of all messages and tool calls of a session."""
    ids = [message.id for message in session.messages]
    return frozenset(ids + [call.id for call in session.tool_history])


def add_records(
    session: Session,
    messages: Sequence[SessionMessage],
    tool_invocations: Sequence[ToolInvocation],
) -> int:
    """Add to `session` the messages whose ids it does not have yet, and return their number.

    `tool_invocations` are the tool calls before the first message. They are added only if that
    message is new. ValueError is raised for tool calls without a message.
    """
    check_riders(messages, tool_invocations)
    known = {message.id for message in session.messages}
    new: dict[str, SessionMessage] = {}
    for message in messages:
        if message.id not in known:
            new.setdefault(message.id, message)
    if new and messages[0].id in new:
        calls = {call.id for call in session.tool_history}
        session.tool_history.extend(call for call in tool_invocations if call.id not in calls)
    session.messages.extend(new.values())
    if new:
        session.updated_at = max(session.updated_at, session.messages[-1].timestamp)
    return len(new)


def check_riders(
    messages: Sequence[SessionMessage], tool_invocations: Sequence[ToolInvocation]
) -> None:
    if tool_invocations and not messages:
        raise ValueError("tool calls are stored with the message after them: append one")
