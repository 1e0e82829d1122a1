"""A copy of an OpenCode session in the archive: a compressed log with the session's rows.

Each line holds one row: `{"session":…}`, `{"message":…}` or `{"part":…}`. The rows of sub-agents'
sessions are included. A later line with the same id replaces the earlier line. A line `{"gone":…}`
removes a row.
"""

from __future__ import annotations

import hashlib
import math
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from cortext.durability.gzip_members import BrokenMemberError, Packed
from cortext.durability.read_files import open_file
from cortext.errors import SessionCorruptedError, file_and_reason
from cortext.formats.message_lines import Damage
from cortext.model import json_codec
from cortext.tools import jsonl_transcripts
from cortext.tools.opencode.storage import Origin, Raw, as_object

_DEEPEST = 5  # the maximum depth of sub-agents that start sub-agents
_END = 1 << 18  # bytes to read at each end of a large log

T = TypeVar("T")
Key = tuple[str, str]
"""The kind of a row ("session", "message" or "part") and its id."""


class _ArchivedRow(msgspec.Struct, gc=False):
    """A message or a part of a message, in a line of the log.

    `data` is the JSON that OpenCode stored. If OpenCode stored bytes that are not JSON, `base64`
    has these bytes instead.
    """

    id: str = ""
    session_id: str = ""
    message_id: str = ""
    time_created: int | float | None = None
    data: msgspec.Raw = msgspec.Raw()
    base64: str = ""

    @property
    def bytes(self) -> bytes:
        return bytes(self.data) or b64decode(self.base64)


class _ArchivedHead(msgspec.Struct):
    id: str = ""
    parent_id: str | None = None


class _RemovedRow(msgspec.Struct):
    kind: str = ""
    id: str = ""


class _ArchiveLine(msgspec.Struct):
    session: _ArchivedHead | None = None
    message: _ArchivedRow | None = None
    part: _ArchivedRow | None = None
    gone: _RemovedRow | None = None


_decode = msgspec.json.Decoder(_ArchiveLine).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _LinePosition(msgspec.Struct, frozen=True):
    """The position of the line that holds the latest version of a row.

    `start` and `end` are positions in bytes. `digest` is a digest of the line. The values of
    `session`, `message` and `created` come from the row, and are used to group and sort rows.
    """

    start: int
    end: int
    digest: bytes
    session: str
    message: str
    created: float


class ArchivedSession:
    """A reader of one archived session. `fd` is the open log file of the session.

    If `ends` is true and the log is large, only its beginning and its end are read. These parts
    contain the session's own row and its first and last messages. `rows` maps each row to the
    position of its latest line. `damages` holds the damage in the log file.
    """

    def __init__(self, path: str, fd: int, *, ends: bool = False) -> None:
        self.path = path
        self.damages: list[Damage] = list[Damage]()
        self._packed = Packed(fd)
        self.rows: dict[Key, _LinePosition] = {}
        short = ends and self._packed.size > 2 * _END
        for start, line in self._ends() if short else self._lines():
            self._index_line(start, line)
        self._messages = self._ordered("message", lambda place: place.session)
        self._parts = self._ordered("part", lambda place: place.message)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        rest, at = b"", 0
        broken = False
        for member in self._packed.members:
            try:
                data = self._packed.member(member)
            except BrokenMemberError as error:
                self.damages.append(Damage(str(error), path=self.path))
                rest, broken = b"", True
                continue
            if broken:  # skip the rest of a line that began in the damaged part
                cut = data.find(b"\n") + 1 or len(data)
                at, data, broken = member.start + cut, data[cut:], False
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield at, line
                at += len(line) + 1
        for gap in self._packed.gaps:
            self.damages.append(Damage(f"in the compressed copy, {gap}", path=self.path))

    def _ends(self) -> Iterator[tuple[int, bytes]]:
        size = self._packed.size
        for start, end in ((0, _END), (size - _END, size)):
            data, at = self._packed.read(start, end, lambda _: None), start
            if start:
                at += data.find(b"\n") + 1
            for line in data[at - start :].split(b"\n")[:-1]:
                yield at, line
                at += len(line) + 1

    def _index_line(self, start: int, line: bytes) -> None:
        try:
            value = _decode(line)
        except _UNREADABLE as error:
            self.damages.append(Damage(f"a line at byte {start}: {error}", path=self.path))
            return
        if gone := value.gone:
            self.rows.pop((gone.kind, gone.id), None)
        elif head := value.session:
            place = _LinePosition(
                start, start + len(line), _digest(line), head.parent_id or "", "", 0
            )
            self.rows["session", head.id] = place
        for kind, row in (("message", value.message), ("part", value.part)):
            if row:
                end, created = start + len(line), row.time_created or 0
                place = _LinePosition(
                    start, end, _digest(line), row.session_id, row.message_id, created
                )
                self.rows[kind, row.id] = place

    def _ordered(self, kind: str, group: Callable[[_LinePosition], str]) -> dict[str, list[str]]:
        rows = ((id, place) for (name, id), place in self.rows.items() if name == kind)
        keys = [(place.created, id, group(place)) for id, place in rows]
        ordered: dict[str, list[str]] = {}
        for _, id, name in sorted(keys):
            ordered.setdefault(name, []).append(id)
        return ordered

    def head(self, id: str) -> dict[str, Any]:
        place = self.rows.get(("session", id))
        if place is None:
            raise FileNotFoundError(f"{self.path} has no session {id}")
        head = dict(json_codec.decode(self._read(place))["session"])
        for name in ("revert", "model"):
            head[name] = as_object(head.get(name))
        return head

    def messages(self, id: str, *, last: bool = False) -> Iterator[Raw]:
        ids = self._messages.get(id, [])
        for one in ids[-1:] if last else ids:
            yield self._raw("message", one)

    def parts(self, id: str, message: str) -> Iterator[Raw]:
        for one in self._parts.get(message, []):
            yield self._raw("part", one)

    def children(self, id: str) -> list[str]:
        heads = [(one, place) for (kind, one), place in self.rows.items() if kind == "session"]
        return sorted(one for one, place in heads if place.session == id and one != id)

    def _raw(self, kind: str, id: str) -> Raw:
        value = _decode(self._read(self.rows[kind, id]))
        row = (value.message if kind == "message" else value.part) or _ArchivedRow()
        return Raw(id, row.bytes)

    def _read(self, place: _LinePosition) -> bytes:
        try:
            return self._packed.read(place.start, place.end)
        except BrokenMemberError as error:
            raise SessionCorruptedError(self.path, str(error)) from None


@contextmanager
def open_log(path: str, *, ends: bool = False) -> Generator[ArchivedSession]:
    """Open the log file of an archived session for a `with` statement.

    If `ends` is true, only the beginning and the end of a large log are read. Raises
    FileNotFoundError if `path` does not exist.
    """
    fd = open_file(path)
    try:
        yield ArchivedSession(path, fd, ends=ends)
    finally:
        os.close(fd)


def logs(home: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the id and the log file of each archived session.

    `home` is OpenCode's folder in the archive.
    """
    for entry in jsonl_transcripts.listed(os.path.join(home, "sessions")):
        name = jsonl_transcripts.plain(entry.name)
        if name != entry.name and name.endswith(".jsonl"):
            yield name.removesuffix(".jsonl"), entry


def new_lines(
    store: Origin, id: str, known: dict[Key, bytes], failures: list[str]
) -> Iterator[bytes]:
    """Yield the lines to append to the log of the session `id`, so that the log matches the store.

    `known` holds the digest of each row in the log. Read errors are added to `failures`. If a row
    of the log is missing in the store, yield a line `{"gone":…}`, unless there were read errors.

    The session's own row is the first line of a new log. If there are changes, it is also the last
    line to append. So a reader finds this row at the beginning or the end of the log.
    """
    seen: set[Key] = set()
    head, changed = b"", False
    for key, line in _rows(store, id, _DEEPEST, failures):
        seen.add(key)
        head = head or line + b"\n"
        if known.get(key) != _digest(line) and (changed or key != ("session", id) or not known):
            changed = True
            yield line + b"\n"
    for kind, one in () if failures else sorted(known.keys() - seen):
        changed = True
        yield json_codec.encode({"gone": {"kind": kind, "id": one}}) + b"\n"
    if changed or known.get(("session", id)) != _digest(head[:-1]):
        yield head


def digests(path: str) -> dict[Key, bytes]:
    """Return the digest of each row in the log at `path`, or {} if there is no log."""
    try:
        with open_log(path) as log:
            return {key: place.digest for key, place in log.rows.items()}
    except FileNotFoundError:
        return {}


def _rows(store: Origin, id: str, depth: int, failures: list[str]) -> Iterator[tuple[Key, bytes]]:
    head = {name: _plain(value) for name, value in store.row(id).items() if value is not None}
    yield ("session", id), json_codec.encode({"session": {**head, "id": id}})
    for raw, created in _readable(store.timed_messages(id), failures):
        fields = {"id": raw.id, "session_id": id, "time_created": created}
        yield ("message", raw.id), json_codec.encode({"message": fields | _data(raw.data)})
        for part in _readable(store.parts(id, raw.id), failures):
            fields = {"id": part.id, "session_id": id, "message_id": raw.id}
            yield ("part", part.id), json_codec.encode({"part": fields | _data(part.data)})
    for child in store.children(id) if depth else ():
        yield from _rows(store, child, depth - 1, failures)


def _readable(rows: Iterator[T], failures: list[str]) -> Iterator[T]:
    """Yield rows until a row cannot be read. Then add the error to `failures` and stop."""
    try:
        yield from rows
    except (SessionCorruptedError, OSError) as error:
        failures.append(file_and_reason(error))


def _data(data: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(data)
        # JSON on several lines must become one line of the log.
        return {"data": msgspec.Raw(msgspec.json.encode(value) if b"\n" in data else data)}
    except _UNREADABLE:
        return {"base64": b64encode(data).decode("ascii")}


def _plain(value: Any) -> Any:
    """Convert a value from a database to a value that JSON supports."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def blocks(lines: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Join lines to blocks, and yield the blocks.

    A block ends as soon as it has `most` bytes or more. Only the last block may be smaller.
    """
    parts, size = list[bytes](), 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= most:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=12).digest()
