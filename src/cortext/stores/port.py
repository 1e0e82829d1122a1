"""The contract of session stores. The docstrings state it, and `cortext.testing` checks it.

Terms used in the docstrings:

- A *head* is everything in a session except its records.
- A *record* is a message with the tool calls that came before it.
- *Durable* means on stable storage: a power cut at the next instant does not lose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cortext.formats.record_lines import Damage
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session


class Reading(NamedTuple):
    """The readable part of a session, and a list of everything wrong with its files."""

    session: Session
    damages: Sequence[Damage]


class SessionStore(Protocol):
    """A place where sessions are stored.

    Every method that takes an id raises InvalidIdError if the id is not valid. It does so before it
    touches anything.

    A method that writes either returns or raises. If it returns, the change is durable. If it
    raises, the data stored before the call is intact.

    A disk error raises SessionStorageError. A writer that waits too long for another writer raises
    SessionLockedError, which names the holder of the lock. Methods that only read never wait and
    never write.
    """

    def save(self, session: Session) -> None:
        """Store the whole session, so that the stored session equals this one.

        `updated_at` is not changed.

        Messages that others added since this store last saw the session are not lost. They are
        stored after the messages of `session`, and this call adds them to `session.messages`.

        If this store has never seen the session, every stored message counts as added by others. To
        remove messages, load the session, remove them, and save it.
        """
        ...

    def checkpoint(self, session: Session) -> None:
        """Write the head only. The stored records stay as they are.

        Tool calls that do not yet belong to a message are part of the head.
        """
        ...

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        """Add messages at the end of a session and return how many were new.

        The messages are durable when the call returns. SessionNotFoundError is raised if the
        session does not exist.

        `tool_invocations` came before the first of the messages and are stored with it.

        A message whose id is already stored is not stored twice. So a caller can repeat an append
        that timed out.

        The log store and the folder store compare ids only with recent messages:

        - the last few thousand messages that this store wrote to the session or saw others write;
        - when the store opens the session, the messages in the last 64 KB and in the last 100 lines
          of its file. A store opens a session again after it has opened 64 others.

        Any number of processes may append to one session.
        """
        ...

    def load(self, id: str) -> Session:
        """Return the session.

        SessionNotFoundError is raised if the session does not exist. SessionCorruptedError, with
        file and line, is raised if something that was written is missing.

        A torn last line was never acknowledged. It is logged and left out.
        """
        ...

    def read(self, id: str) -> Reading:
        """Return the session as `load` does, but list damage instead of raising an error.

        The result has everything that can still be read.
        """
        ...

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        """Return the last `count` messages, oldest first, without reading the others.

        Damaged lines are skipped.
        """
        ...

    def exists(self, id: str) -> bool: ...

    def delete(self, id: str) -> bool:
        """Remove the session permanently, with its side files. Return whether it existed."""
        ...

    def list_session_ids(self) -> list[str]:
        """Return the ids of all sessions, sorted.

        Hidden, temporary and foreign files are not sessions.
        """
        ...

    def close(self) -> None:
        """Close open files. The store can be used again afterwards."""
        ...
