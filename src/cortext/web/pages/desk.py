"""Conversations that were opened just now: read once, and again when their files change."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from cortext.app.native import entries_of
from cortext.app.reading import read_all
from cortext.app.taking_in import take_in
from cortext.app.transcripts import is_own
from cortext.durability.read import read_file
from cortext.errors import CortextError, SessionNotFoundError
from cortext.formats.records import Damage
from cortext.index.listed import Listed
from cortext.model.session import Session
from cortext.stores.layout import document_in
from cortext.web.pages.turns import Turns

Print = tuple[tuple[str, int, int, int], ...]
_MOST = 4
"""Conversations that are kept in memory."""


class Opened(NamedTuple):
    """A conversation as it was when it was read. `document` is its markdown, if it has one."""

    row: Listed
    session: Session
    damages: Sequence[Damage]
    turns: Turns
    document: str
    print: Print
    side: int = 0


class Desk:
    """Reads conversations, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, str], Opened] = OrderedDict()

    def open(self, row: Listed) -> Opened:
        """The conversation as it is now."""
        now = print_of(row)
        with self._lock:
            known = self._open.get(row.identity)
            if known and known.print == now and known.row.text == row.text:
                self._open.move_to_end(row.identity)
                return known
        found = _read(row)
        with self._lock:
            self._open[row.identity] = found
            self._open.move_to_end(row.identity)
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return found


def print_of(row: Listed) -> Print:
    """What changes whenever more was said. A path in a conversation that somebody else wrote makes
    us look at nothing but transcripts."""
    paths = [row.path, f"{row.path}-wal"] if row.tool else [row.place.lines, row.place.head]
    if not row.tool and row.status:
        try:
            entries = entries_of(row)
        except CortextError:
            entries = []
        for entry in entries:
            path = str(entry.get("path") or "")
            if path and is_own(str(entry.get("tool") or ""), path):
                paths += [path, f"{path}-wal"]
    return tuple(mark for path in paths if (mark := _mark(path)))


def _mark(path: str) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_ino, found.st_size, found.st_mtime_ns


def _read(row: Listed) -> Opened:
    row = take_in(row)
    # Before it is read: what comes meanwhile is read the next time.
    now, document = print_of(row), _document(row)
    try:
        session, damages, _, side = read_all(row)
    except SessionNotFoundError:
        if not document:
            raise
        session, damages, side = Session(row.id, title=row.title, kind=row.kind), (), ()
    return Opened(row, session, damages, Turns(session), document, now, len(side))


def _document(row: Listed) -> str:
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    try:
        return read_file(f"{row.place.folder}/{name}").decode("utf-8", "replace")
    except OSError:
        return ""
