"""The values that a store on a server exchanges with the server: the parts of a session."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

Holder = tuple[int, int, str]
INNER = "@"
"""The first character of the name of an inner space. No space in a URL can begin with it."""


class RecordRow(NamedTuple):
    """A stored record: its line, and the key that identifies it."""

    key: str
    line: bytes


class Parts(NamedTuple):
    """A stored session: the line of its head, and the lines of its records."""

    head: bytes
    lines: Sequence[bytes]


class SessionChange(NamedTuple):
    """The new content of a session. Without rows, the records stay as they are."""

    head: bytes
    owner: str
    rows: Sequence[RecordRow] | None = None


class StoredHead(NamedTuple):
    """The head of a session in a list, with its last record if that was requested."""

    id: str
    head: bytes
    last: bytes | None


class RecordPosition(NamedTuple):
    """How far a session has been read: the first `number` records of an epoch.

    A new epoch begins when the records are replaced.
    """

    epoch: str = ""
    number: int = 0


class NewRecords(NamedTuple):
    """The records after a position, or all records if `anew` is True.

    `anew` means that the old position is no longer valid.
    """

    mark: RecordPosition
    anew: bool
    lines: Sequence[bytes]


def holder(id: str) -> Holder:
    """Return the key of a possible holder of a session: this process, this thread and the id.

    A forked process has another key.
    """
    return os.getpid(), threading.get_ident(), id
