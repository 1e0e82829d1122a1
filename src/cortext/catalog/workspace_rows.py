"""One conversation as the catalog lists it, read from its files as far as they can be read."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from zlib import crc32

from cortext import clock, paths
from cortext.catalog.database import bounded, micros
from cortext.catalog.row import Listed, facts
from cortext.catalog.sanitize import shown, shown_native, told, told_all
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError, reason_of
from cortext.formats.folder import FOLDER, TOKENS
from cortext.formats.record_lines import decode_lines
from cortext.model import json_codec, record_dicts
from cortext.model.session import Session
from cortext.stores import workspace_layout
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import Place

_END = 64
"""Bytes by which a file that has grown is known again."""


class _Lines(NamedTuple):
    """What is known of the lines up to `size`: how many, how many messages, when the last one
    was, and what stood at the end."""

    size: int = 0
    lines: int = 0
    messages: int = 0
    last: int = 0
    end: int = 0
    note: str = ""

    def __str__(self) -> str:
        return " ".join(map(str, self[:5]))


def read_conversation(root: str, path: str, old: Listed | None, now: str) -> Listed | None:
    """The row of a conversation as `now`, its entry of a scan, has it; None if it went away
    meanwhile. Of lines that only grew since `old`, the new ones are read."""
    shelf, day, name = path.rsplit("/", 2)
    place = Place(f"{root}/{shelf}", day, name)
    try:
        if not place.has_session:
            return _without_session(root, path, place)
        head, note = _head(root, place)
        lines = _lines(place, old, now)
    except FileNotFoundError:
        return None
    text = facts(
        kind=shown(head.kind),
        title=told(head.title) or name,
        summary=told(head.summary),
        note=shown(note or lines.note),
        tags=told_all(head.tags),
        created_at=micros(head.created_at),
        messages=lines.messages,
        tokens=_tokens(place),
        model=shown(head.model),
        agent=shown(head.agent),
        owner=shown(head.owner),
        parent_id=shown(head.parent_id),
        lines=str(lines),
        native=shown_native(head.native),
        # Those of a workspace were had in it, wherever it was then.
        had_in=shown(head.working_dir) if root == paths.personal_workspace() else "",
        stop_reason=shown(head.stop_reason),
    )
    active = max(micros(head.updated_at), lines.last) or micros(head.created_at)
    return Listed(root, path, name, head.status, active, text)


def _head(root: str, place: Place) -> tuple[Session, str]:
    """The head, and what is wrong with it; then the folder's name and day and the markdown stand
    for it."""
    try:
        return FolderStore(root).head(f"{place.folder[len(root) + 1 :]}"), ""
    except CortextError as error:
        note = str(error)
    began = clock.from_micros(0)
    with suppress(ValueError, OverflowError):
        noon = datetime.fromisoformat(place.day).replace(hour=12).astimezone()
        began = min(noon, clock.now())
    kind = workspace_layout.document_in(place.folder).removesuffix(".md")
    head = Session(place.name, kind=kind, created_at=began, status="paused")
    with suppress(OSError):
        head.title = workspace_layout.title_in(place.folder)
    # Its lines tell when something was last said; at noon of a day nothing was.
    head.updated_at = clock.from_micros(0)
    return head, note


def _tokens(place: Place) -> int:
    """As the head has it, which says more than the session made of it."""
    try:
        counted = record_dicts.as_dict(json_codec.decode(read_file(place.head))).get(TOKENS[0])
    except (OSError, ValueError):
        return 0
    return bounded(counted) if isinstance(counted, int) else 0


def _lines(place: Place, old: Listed | None, now: str) -> _Lines:
    """The lines up to the size that the scan saw: what came since is for the next one."""
    seen = now.split("\t")[2].split()
    if not seen:
        return _Lines(note=f"{place.lines}: is missing")
    try:
        fd = open_file(place.lines)
    except FileNotFoundError:
        raise
    except OSError as error:
        return _Lines(note=f"{place.lines}: {reason_of(error)}")
    try:
        known = _known(fd, old, int(seen[1]))
        new = read_range(fd, known.size, int(seen[1]))
        whole = new[: new.rfind(b"\n") + 1]
        size = known.size + len(whole)
        end = read_range(fd, max(size - _END, 0), size)
    finally:
        os.close(fd)
    read = decode_lines(new, FOLDER.records, first_line=known.lines + 1)
    bad = [damage for damage in read.damages if damage.fatal]
    note = f"{place.lines}, line {bad[0].line}: {bad[0].detail}" if bad else ""
    times = [micros(message.timestamp) for message in read.messages[-1:]]
    return _Lines(
        size=size,
        lines=known.lines + whole.count(b"\n"),
        messages=known.messages + len(read.messages),
        last=times[0] if times else known.last,
        # A last line that has no newline yet is read again when it has.
        end=crc32(end) if whole == new else 0,
        note=note,
    )


def _known(fd: int, old: Listed | None, now: int) -> _Lines:
    """What `old` knew of the lines, if the file still begins with them; else nothing."""
    if old is None or not old.lines or old.is_damaged:
        return _Lines()
    size, lines, messages, last, end = map(int, old.lines.split())
    known = _Lines(size, lines, messages, last, end)
    if not known.end or known.size > now:
        return _Lines()
    end = read_range(fd, max(known.size - _END, 0), known.size)
    return known if crc32(end) == known.end else _Lines()


def _without_session(root: str, path: str, place: Place) -> Listed | None:
    """A folder whose session was deleted: its markdown tells what it was."""
    document = workspace_layout.document_in(place.folder)
    if not document:
        return None
    title = told(workspace_layout.title_in(place.folder)) or place.name
    at = os.stat(f"{place.folder}/{document}").st_mtime_ns // 1000
    kind = shown(document.removesuffix(".md"))
    about = facts(kind=kind, title=title, created_at=at)
    return Listed(root, path, place.name, "", at, about)
