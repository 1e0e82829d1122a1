"""One conversation as the catalog lists it, read from its files as far as they can be read."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.durability.read import open_file, read_range
from cortext.errors import CortextError, SessionNotFoundError
from cortext.formats.folder import FOLDER
from cortext.formats.records import decode_lines
from cortext.index.database import bounded, micros, plain
from cortext.index.listed import Listed, facts
from cortext.model.session import Session
from cortext.model.text import clean
from cortext.stores import layout
from cortext.stores.folder import FolderStore
from cortext.stores.layout import Place


class _Lines(NamedTuple):
    number: int
    last: int
    note: str


def read_conversation(
    root: str, path: str, old: Listed | None, before: str, now: str
) -> Listed | None:
    """The row of a conversation; None if it went away meanwhile. `before` and `now` are
    its entries of two scans: of lines that only grew since `old`, the new ones are read."""
    shelf, day, name = path.rsplit("/", 2)
    place = Place(f"{root}/{shelf}", day, name)
    try:
        if not place.has_session:
            return _without_session(root, path, place)
        head, note = _head(root, place)
    except (FileNotFoundError, SessionNotFoundError):
        return None
    lines = _lines(place, old, before, now)
    text = facts(
        kind=_shown(head.kind),
        title=_shown(head.title) or name,
        summary=_shown(head.summary),
        note=_shown(note or lines.note),
        tags=[tag for tag in map(_shown, head.tags) if tag],
        created_at=micros(head.created_at),
        messages=lines.number,
        tokens=bounded(head.total_tokens),
        model=_shown(head.model),
        agent=_shown(head.agent),
        parent_id=_shown(head.parent_id),
    )
    active = max(micros(head.updated_at), lines.last)
    return Listed(root, path, name, head.status, active, text)


def _shown(text: str) -> str:
    """As lists show it; half characters have no place in a database."""
    return plain(clean(text, lines=False))


def _head(root: str, place: Place) -> tuple[Session, str]:
    """The head, and what is wrong with it; then what the lines tell stands for it."""
    store = FolderStore(root)
    key = f"{place.day}/{place.name}"
    try:
        return store.head(key), ""
    except SessionNotFoundError:
        raise
    except CortextError as error:
        session = store.read(key).session
        session.messages = []
        return session, str(error)


def _lines(place: Place, old: Listed | None, before: str, now: str) -> _Lines:
    try:
        fd = open_file(place.lines)
    except OSError as error:
        return _Lines(0, 0, f"{place.lines}: {(error.strerror or str(error)).lower()}")
    known = _Lines(0, 0, "")
    start = _grown_from(before, now)
    try:
        if old is None or old.note or read_range(fd, max(start - 1, 0), start) != b"\n":
            start = 0
        else:
            known = _Lines(old.messages, old.last_active, "")
        new = read_range(fd, start, os.fstat(fd).st_size)
    finally:
        os.close(fd)
    read = decode_lines(new, FOLDER.records)
    bad = [damage for damage in read.damages if damage.fatal]
    note = f"{place.lines}, line {bad[0].line}: {bad[0].detail}" if bad else ""
    times = [micros(message.timestamp) for message in read.messages[-1:]]
    return _Lines(known.number + len(read.messages), max([known.last, *times]), note)


def _grown_from(before: str, now: str) -> int:
    """How long a file was that has only grown since; 0 for another file."""
    old, new = (entry.split("\t")[2:] for entry in (before, now))
    if not any(old) or not any(new) or old[0].split()[0] != new[0].split()[0]:
        return 0
    size = int(old[0].split()[1])
    return size if size <= int(new[0].split()[1]) else 0


def _without_session(root: str, path: str, place: Place) -> Listed:
    """A folder whose session was deleted: its markdown tells what it was."""
    document = layout.document_in(place.folder)
    kind = document.removesuffix(".md")
    file = f"{place.folder}/{document}"
    with open(file, encoding="utf-8", errors="replace") as lines:
        heading = next((line for line in lines if line.startswith("# ")), "")
    at = os.stat(file).st_mtime_ns // 1000
    text = facts(kind=_shown(kind), title=_shown(heading[2:]) or place.name, created_at=at)
    return Listed(root, path, place.name, "", at, text)
