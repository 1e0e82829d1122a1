"""What goes between a store on a server and the server: a session in parts."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

Holder = tuple[int, int, str]
INNER = "@"
"""How the name of an inner space begins: no space that a URL names does."""


class RecordRow(NamedTuple):
    """A record as it is stored: its line, and by what it is known again."""

    key: str
    line: bytes


class Parts(NamedTuple):
    """A session as it is stored."""

    head: bytes
    lines: Sequence[bytes]


class SessionChange(NamedTuple):
    """What a session is to be; without rows, the records stay as they are."""

    head: bytes
    owner: str
    rows: Sequence[RecordRow] | None = None


class StoredHead(NamedTuple):
    """A session in a list."""

    id: str
    head: bytes
    last: bytes | None


class RecordPosition(NamedTuple):
    """How far a session was read: `number` of the records that it has since `epoch` began. Another
    epoch begins when the records are replaced."""

    epoch: str = ""
    number: int = 0


class NewRecords(NamedTuple):
    """What stands after a mark; all of it, if that was of another epoch."""

    mark: RecordPosition
    anew: bool
    lines: Sequence[bytes]


def holder(id: str) -> Holder:
    """Who has a session alone: a thread of this process, and not of one that was forked from it."""
    return os.getpid(), threading.get_ident(), id
