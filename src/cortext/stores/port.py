"""The port of session stores. Its docstrings are the contract; `cortext.testing` executes it.

Terms: a *head* is everything of a session but its records; a *record* is a message
with the tool calls that came before it; *durable* means on stable storage, so that a
power cut at the next instant does not lose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cortext.formats.record_lines import Damage
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session


class Reading(NamedTuple):
    """A session as far as it can be read, and all that is wrong with its files."""

    session: Session
    damages: Sequence[Damage]


class SessionStore(Protocol):
    """Where sessions live.

    Every method that takes an id raises InvalidIdError for one that is not an id,
    before anything is touched. A method that writes either returns, and the change is
    durable, or raises, and what was there before is intact. Disk errors come as
    SessionStorageError; a writer that waited too long for another gets
    SessionLockedError, which names the holder. Readers never wait and never write.
    """

    def save(self, session: Session) -> None:
        """Make the stored session equal to this one, all of it. `updated_at` is not changed.

        Messages that others added since this store last saw the session are kept, after
        ours: they also appear in `session.messages`. If it has never seen the session, all
        that is stored is others': to remove messages, load, remove, save.
        """
        ...

    def checkpoint(self, session: Session) -> None:
        """Write the head only: records on disk stay as they are.

        Tool calls that no message carries yet are part of the head.
        """
        ...

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        """Add messages at the end; durable when it returns. How many were new;
        SessionNotFoundError without a session.

        `tool_invocations` came before the first of the messages and are stored with it.
        A message whose id is already there is not stored twice, so an append that timed
        out can simply be repeated. For the log and the folder, "already there" is judged
        by the last few thousand messages that this store wrote to the session or saw others
        write, and, when it opens the session (anew, after 64 others), by the last 64 KB and
        the last 100 lines. Any number of processes may append to one session.
        """
        ...

    def load(self, id: str) -> Session:
        """The session. SessionNotFoundError if there is none, SessionCorruptedError, with
        file and line, if something that was written is missing. A torn last line was never
        acknowledged: it is logged and left out."""
        ...

    def read(self, id: str) -> Reading:
        """As `load`, but damage is listed instead of raised, and everything else is there."""
        ...

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        """The last messages, oldest first, without reading the others. Damaged lines are
        passed over."""
        ...

    def exists(self, id: str) -> bool: ...

    def delete(self, id: str) -> bool:
        """Remove the session for good, with its side files; False if there is none."""
        ...

    def list_session_ids(self) -> list[str]:
        """The ids of all sessions, sorted. Hidden, temporary and foreign files are none."""
        ...

    def close(self) -> None:
        """Let go of open files. The store can be used again afterwards."""
        ...
