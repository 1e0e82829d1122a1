"""The contract of session stores: what every store promises to its callers.

The docstrings of `SessionStore` are the contract. The tests in `cortext.testing` check a store
against it. Terms used in the docstrings:

- A *record* is a message together with the tool calls that came before it.
- The *head* of a session is everything except its records: title, tags, times and so on.
- *Durable* means on stable storage: a power cut at the next instant does not lose the data.
- A *torn* line is the last line of a file if a crash interrupted its write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cortext.formats.message_lines import Damage
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session


class Reading(NamedTuple):
    """The readable part of a session, and a list of everything wrong with its files."""

    session: Session
    damages: Sequence[Damage]


class SessionStore(Protocol):
    """A place where sessions are stored.

    Every method that takes an id raises InvalidIdError if the id is not valid, before it reads or
    writes anything.

    A method that writes either returns or raises. If it returns, the change is durable. If it
    raises, the data stored before the call is intact.

    A disk error raises SessionStorageError. A writer that waits too long for another writer raises
    SessionLockedError, which names the holder of the lock. Methods that only read never wait and
    never write.
    """

    def save(self, session: Session) -> None:
        """Store the whole session, so that the stored session equals `session`.

        `updated_at` is not changed.

        Messages that other writers stored since this store last loaded or saved the session are not
        lost. They are stored after the messages of `session`. This call also adds them to
        `session.messages`.

        If this store never loaded or saved the session, every stored message counts as a message of
        another writer. To remove messages, load the session, remove them, and save the session.
        """
        ...

    def checkpoint(self, session: Session) -> None:
        """Write only the head of the session: its fields without the records (messages).

        The stored records are not changed. The head contains the tool calls that are not followed
        by a message yet.
        """
        ...

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        """Add messages at the end of a session and return how many of them were new.

        The messages are durable when the call returns. SessionNotFoundError is raised if the
        session does not exist.

        `tool_invocations` are the tool calls that came before the first of the messages. They are
        stored with that message.

        A message whose id is already stored is not stored twice. So a caller can repeat an append
        that timed out.

        The log store and the folder store compare new ids only with recent ids. When such a store
        opens the file of a session, it reads the ids in the last 64 KB or in the last 100 lines of
        the file, whichever is longer. While the file is open, the store remembers the last few
        thousand ids that it or another writer wrote. A store keeps at most 64 files open. When it
        closes a file, it forgets the ids.

        Any number of processes may append to one session at the same time.
        """
        ...

    def load(self, id: str) -> Session:
        """Return the session with all its messages and tool calls.

        SessionNotFoundError is raised if the session does not exist. SessionCorruptedError, with
        file and line, is raised if stored data is lost or cannot be read.

        A torn last line is logged and left out. It is not lost data, because the call that wrote
        the line never returned.
        """
        ...

    def read(self, id: str) -> Reading:
        """Return everything of the session that can still be read, and a list of the damage.

        This is `load` for damaged sessions: damage is listed in the result and raises no error.
        SessionNotFoundError is raised if the session does not exist.
        """
        ...

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        """Return the last `count` messages of a session, oldest first.

        Earlier messages are not read. Damaged lines are skipped.
        """
        ...

    def exists(self, id: str) -> bool: ...

    def delete(self, id: str) -> bool:
        """Remove the session permanently, and return whether it existed.

        Its side files are removed too: the backup, and copies that cortext saved as `*.torn`,
        `*.corrupt` or `*.replaced`.
        """
        ...

    def list_session_ids(self) -> list[str]:
        """Return the ids of all sessions, sorted.

        Hidden files, temporary files and files of other programs are skipped.
        """
        ...

    def close(self) -> None:
        """Close open files and connections. The store can be used again afterwards."""
        ...
