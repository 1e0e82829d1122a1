"""Saving a session that others have written to since: nothing of theirs is lost."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores.fingerprints import Recent


class KnownRecords:
    """Which records each session object had when a store last gave or took it.

    What is stored, and was not known to the object, others have added; what was
    known and is missing, its owner has removed.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[weakref.ref[Session], _Records]] = {}
        self._latest: Recent[_Records] = Recent(8)

    def note(self, session: Session) -> None:
        key = id(session)
        ref = weakref.ref(session, lambda _: self._records.pop(key, None))
        # Their ids are asked for rarely, so the records are kept and the ids are not.
        had = _Records(tuple(session.messages), tuple(session.tool_history))
        self._records[key] = ref, had
        self._latest.put(session.id, had)

    def keep_others(self, session: Session, stored: Session) -> None:
        """Add to `session` what others stored.

        A copy of a session counts as that session when it was last given or taken; of one
        that we have never seen, all that is stored is others'.
        """
        found = self._records.get(id(session))
        had = self._latest.get(session.id) if found is None else found[1]
        known = ids_of(session)
        if had is not None:
            known |= ids_of(had)
        session.messages.extend(m for m in stored.messages if m.id not in known)
        session.tool_history.extend(c for c in stored.tool_history if c.id not in known)


class _Records(NamedTuple):
    """What a session had."""

    messages: Sequence[SessionMessage]
    tool_history: Sequence[ToolInvocation]


def ids_of(session: Session | _Records) -> frozenset[str]:
    """The ids of all records."""
    ids = [message.id for message in session.messages]
    return frozenset(ids + [call.id for call in session.tool_history])


def add_records(
    session: Session,
    messages: Sequence[SessionMessage],
    tool_invocations: Sequence[ToolInvocation],
) -> int:
    """Add the messages whose ids are new, and with the first the tool calls before it; how many
    are."""
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
