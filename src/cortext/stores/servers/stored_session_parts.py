"""The values that a session store exchanges with a Redis or PostgreSQL server.

A session is stored as lines of JSON: one for its head, which is everything except its messages,
and one for each record, which is a message with the tool calls before it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

Holder = tuple[int, int, str]
INNER = "@"
"""The first character of the name of an inner space, which `ServedStore.inner` opens.

A space that a URL names can never begin with this character, so the names do not collide.
"""


class RecordRow(NamedTuple):
    """A stored record: its line of JSON, and the key that identifies its message.

    The key is the id of the message, or a hash of a long id.
    """

    key: str
    line: bytes


class Parts(msgspec.Struct, frozen=True):
    """A stored session: the line of its head, and the lines of its records (messages)."""

    head: bytes
    lines: Sequence[bytes]


class SessionChange(msgspec.Struct, frozen=True):
    """The new content of a session, which a write stores: its head, its owner and its records.

    If `rows` is None, the stored records are not changed. Otherwise `rows` replaces all stored
    records.
    """

    head: bytes
    owner: str
    rows: Sequence[RecordRow] | None = None


class StoredHead(NamedTuple):
    """The head of one session (all fields but its messages) in a list of many sessions.

    `last` is the line of the last message. It is None if it was not requested or does not exist.
    """

    id: str
    head: bytes
    last: bytes | None


class RecordPosition(msgspec.Struct, frozen=True):
    """The position of a reader that has read the first `number` messages of an epoch.

    An epoch is the time between two saves that replace all messages. An empty position means that
    the reader has read nothing yet.
    """

    epoch: str = ""
    number: int = 0


class NewRecords(msgspec.Struct, frozen=True):
    """The records (messages) that were stored after a reader's old position.

    `mark` is the new position. If `anew` is True, the old position is no longer valid, and `lines`
    has all records of the session.
    """

    mark: RecordPosition
    anew: bool
    lines: Sequence[bytes]


def holder(id: str) -> Holder:
    """Return a key that identifies this thread as the holder of the lock of a session.

    The key has the process id, the thread id and the session id. A forked process gets other keys,
    so it does not inherit the locks of its parent.
    """
    return os.getpid(), threading.get_ident(), id
