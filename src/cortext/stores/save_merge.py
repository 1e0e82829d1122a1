"""Merge on save: keep the messages that other writers stored since the session was loaded."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import msgspec

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores.limited_cache import LimitedCache


class KnownRecords:
    """The records that each Session object had when a store last returned or saved the object.

    Records are messages and tool calls. A save uses this class to decide about stored records that
    the object does not have. If the object never had a record, another writer added the record, and
    the save keeps it. If the object once had the record, the caller removed it, and the save
    removes it too.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[weakref.ref[Session], _Records]] = {}
        self._latest: LimitedCache[_Records] = LimitedCache(8)

    def note(self, session: Session) -> None:
        """Remember the records that `session` has now, after a load or a save."""
        key = id(session)
        ref = weakref.ref(session, lambda _: self._records.pop(key, None))
        # Keep the records and compute their ids on demand: the ids are rarely needed.
        records = _Records(tuple(session.messages), tuple(session.tool_history))
        self._records[key] = ref, records
        self._latest.put(session.id, records)

    def add_others_records(self, session: Session, stored: Session) -> None:
        """Add to `session` the records that other writers added to `stored`, the stored session.

        A record of another writer is a stored record that `session` does not have now, and did not
        have when it was last passed to `note`. If `session` was never passed to `note`, the last
        object with the same session id that was passed to `note` is used instead.
        """
        noted = self._records.get(id(session))
        known_records = self._latest.get(session.id) if noted is None else noted[1]
        known = ids_of(session)
        if known_records is not None:
            known |= ids_of(known_records)
        session.messages.extend(m for m in stored.messages if m.id not in known)
        session.tool_history.extend(c for c in stored.tool_history if c.id not in known)


class _Records(msgspec.Struct, frozen=True):
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
    """Add the messages with new ids to `session`, and return the number of added messages.

    `tool_invocations` are the tool calls before the first message. They are added only if the first
    message is new. ValueError is raised for tool calls without a message.
    """
    check_tool_calls(messages, tool_invocations)
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


def check_tool_calls(
    messages: Sequence[SessionMessage], tool_invocations: Sequence[ToolInvocation]
) -> None:
    if tool_invocations and not messages:
        raise ValueError("tool calls are stored with the next message; append a message too")
