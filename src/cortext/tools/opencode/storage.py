"""The places where OpenCode stores sessions: a database, or JSON files in older releases.

Both kinds of stores return the head of a session, which is everything but its messages. They yield
its messages in order, and the parts of each message: texts, files and tool calls.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
from msgspec.structs import replace

from cortext.durability.foreign_database import explain_failure, find_tables, open_foreign
from cortext.durability.read_files import read_file
from cortext.errors import SessionCorruptedError, reason_of
from cortext.model import json_codec, message_dicts
from cortext.tools import jsonl_transcripts

T = TypeVar("T")

_PATIENCE = 5.0  # seconds to wait while another process recovers the database
_ATTEMPTS = 3
_HEAD = (
    "id", "parent_id", "directory", "title", "version", "time_created", "time_updated", "revert",
    "model", "cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read",
    "tokens_cache_write",
)  # fmt: skip
_TABLES = ("session", "message", "part")
# SQLite's error message may contain bytes of a damaged schema. This raises UnicodeDecodeError.
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
# In a damaged database, any column may hold a value of any type.
_RAW = "coalesce(CAST(id AS TEXT), ''), coalesce(CAST(data AS BLOB), x'')"
_PARTS = f"SELECT {_RAW} FROM part WHERE message_id = ? ORDER BY id"  # noqa: S608  our names
# This returns messages in the same order as the method `messages`. Python sorts the parts, because
# SQLite would copy all parts to sort them.
_ALL_PARTS = """
SELECT CAST(m.id AS BLOB), coalesce(CAST(p.id AS BLOB), x''), coalesce(CAST(p.data AS BLOB), x'')
FROM message m CROSS JOIN part p ON p.message_id = m.id
WHERE m.session_id = ? ORDER BY m.time_created, m.id"""
_ROOTS = """
SELECT CAST(s.id AS TEXT), CAST(s.directory AS TEXT), s.time_updated, m.id, m.time_updated,
  (SELECT count(*) || '-' || max(p.time_updated) FROM part p WHERE p.message_id = m.id)
FROM session s LEFT JOIN message m ON m.id = (
  SELECT id FROM message WHERE session_id = s.id ORDER BY time_created DESC, id DESC LIMIT 1)
WHERE s.id IS NOT NULL
  AND (s.parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM session p WHERE p.id = s.parent_id))
ORDER BY s.id"""

# Ignore invalid times and times in the far future, which would hide all later changes.
_SANE = "typeof(time_updated) = 'integer' AND time_updated < 10000000000000"
_LATEST = f"""
SELECT max(coalesce((SELECT max(time_updated) FROM message WHERE session_id = :id AND {_SANE}), 0),
           coalesce((SELECT max(time_updated) FROM part WHERE session_id = :id AND {_SANE}), 0))
"""  # noqa: S608  our names
_SINCE = f"""
SELECT CAST(id AS TEXT), CAST(directory AS BLOB) FROM session
WHERE parent_id IS NULL AND id IS NOT NULL AND time_updated >= ? AND {_SANE}
ORDER BY time_updated DESC LIMIT 200"""  # noqa: S608  our names
# The first two counts use indexes. The third count reads rows, but only if the first two differ.
_LOST = """
SELECT CASE (SELECT count(*) FROM part WHERE session_id = :id)
WHEN (SELECT count(*) FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = :id)
THEN 0 ELSE (SELECT count(*) FROM part p WHERE p.session_id = :id
  AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = p.message_id)) END"""
_CHANGED = f"""
SELECT {_RAW} FROM message WHERE session_id = :id AND (time_updated > :since OR id IN
  (SELECT message_id FROM part WHERE session_id = :id AND time_updated > :since))
ORDER BY time_created, id"""  # noqa: S608  our names


class Raw(NamedTuple):
    """A message, or a part of a message, as OpenCode stores it. `data` is JSON."""

    id: str
    data: bytes


class FoundSession(msgspec.Struct, frozen=True):
    """A session of the user, not of a sub-agent.

    `directory` is its working folder. `print` is a fingerprint that changes with its content.
    """

    id: str
    directory: str
    print: str


class Store(Protocol):
    """A store of sessions: a database, a folder of JSON files, or a log in the archive."""

    path: str

    def head(self, id: str) -> dict[str, Any]:
        """Return the head of a session: its fields without messages, by column name.

        Raises FileNotFoundError if the session no longer exists.
        """
        ...

    def messages(self, id: str, *, last: bool = False) -> Iterator[Raw]:
        """Yield the messages of a session in time order.

        If `last` is true, yield only the last message. Raises SessionCorruptedError if the store is
        damaged. The method `parts` also raises this error.
        """
        ...

    def parts(self, id: str, message: str) -> Iterator[Raw]: ...

    def children(self, id: str) -> list[str]:
        """Return the session ids of the sub-agents that the session `id` started."""
        ...


class Origin(Store, Protocol):
    """A store that OpenCode itself writes, and from which the archive copies sessions.

    Unlike other stores, it has all fields of a session.
    """

    def row(self, id: str) -> dict[str, Any]:
        """Return all stored fields of a session, by column name.

        Raises FileNotFoundError if the session no longer exists.
        """
        ...

    def timed_messages(self, id: str) -> Iterator[tuple[Raw, int | float | None]]:
        """Yield the messages of a session in time order, each with its time of creation.

        The time is None for a message from a JSON file, because the file's name gives the order. It
        is also None for a message without a valid time in the database.
        """
        ...


class OpenCodeDatabase:
    """An open database of OpenCode. Cortext writes nothing to the database or its folder."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._execute = connection.execute

    def roots(self) -> list[FoundSession]:
        rows = self._execute(_ROOTS).fetchall()
        return [
            FoundSession(id, folder or "", "-".join(map(str, rest))) for id, folder, *rest in rows
        ]

    def since(self, when: int) -> list[tuple[str, str]]:
        """Return the id and the folder of each session that changed since the time `when`.

        `when` is in milliseconds since 1970. The session that changed last comes first. Sessions of
        sub-agents are left out, and at most 200 sessions are returned.
        """
        rows = self._execute(_SINCE, (when,)).fetchall()
        return [(id, os.fsdecode(folder or b"")) for id, folder in rows]

    def head(self, id: str) -> dict[str, Any]:
        known = {row[1] for row in self._execute("PRAGMA table_info(session)")}
        names = [name for name in _HEAD if name in known]
        query = f"SELECT {', '.join(names)} FROM session WHERE id = ?"  # noqa: S608  our names
        row = self._execute(query, (id,)).fetchone()
        if row is None:
            raise FileNotFoundError(f"{self.path} has no session {id}")
        head = dict(zip(names, row, strict=True))
        for name in ("revert", "model"):
            head[name] = as_object(head.get(name))
        return head

    def row(self, id: str) -> dict[str, Any]:
        cursor = self._execute("SELECT * FROM session WHERE id = ?", (id,))
        row = cursor.fetchone()
        if row is None:
            raise FileNotFoundError(f"{self.path} has no session {id}")
        return dict(zip((column[0] for column in cursor.description), row, strict=True))

    def timed_messages(self, id: str) -> Iterator[tuple[Raw, int | float | None]]:
        query = f"SELECT time_created, {_RAW} FROM message WHERE session_id = ?"  # noqa: S608
        try:
            for when, message_id, data in self._execute(
                f"{query} ORDER BY time_created, id", (id,)
            ):
                yield Raw(message_id, data), when if isinstance(when, (int, float)) else None
        except _DAMAGED as error:
            raise SessionCorruptedError(self.path, explain_failure(error)) from None

    def families(self) -> list[FoundSession]:
        """Return the sessions of the user, without the sessions of sub-agents.

        The fingerprint of a session also changes when a session of its sub-agents changes. The
        fingerprints in the result of `roots` do not change in this case.
        """
        query = "SELECT CAST(id AS TEXT), CAST(parent_id AS TEXT), time_updated FROM session"
        rows = self._execute(query).fetchall()
        parents = {id: parent for id, parent, _ in rows}
        subagent_times: dict[str, list[str]] = {}
        for id, _, updated in rows:
            top, seen = id, set[str]()
            while parents.get(top) in parents and top not in seen:
                seen.add(top)
                top = parents[top]
            if top != id:
                subagent_times.setdefault(top, []).append(str(updated))
        return [
            replace(one, print="-".join((one.print, str(len(times)), max(times, default=""))))
            for one in self.roots()
            for times in [subagent_times.get(one.id, [])]
        ]

    def messages(self, id: str, *, last: bool = False) -> Iterator[Raw]:
        order = "time_created DESC, id DESC LIMIT 1" if last else "time_created, id"
        query = f"SELECT {_RAW} FROM message WHERE session_id = ? ORDER BY {order}"  # noqa: S608
        return self._rows(query, id)

    def parts(self, id: str, message: str) -> Iterator[Raw]:
        return self._rows(_PARTS, message)

    def with_parts(self, id: str) -> Iterator[tuple[Raw, Iterable[tuple[str, bytes]]]]:
        """Yield the messages of a session, each with the id and the data of its parts.

        One query reads the parts of all messages. If that query finds damage, a separate query
        reads the parts of each message, so that as little as possible is lost.
        """
        groups, group = self._grouped_parts(id), None
        for raw in self.messages(id):
            try:
                group = group or (next(groups, None) if groups else None)
            except _DAMAGED:
                groups = None
            if groups is None:
                yield raw, self.parts(id, raw.id)
            elif group and group[0] == raw.id:
                yield raw, group[1]
                group = None
            else:
                yield raw, []
        if group:
            raise SessionCorruptedError(
                self.path, f"parts belong to the message {group[0]!r:.80}, which is missing"
            )

    def _grouped_parts(self, id: str) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
        current, parts = b"", list[tuple[str, bytes]]()
        for message, part_id, data in self._execute(_ALL_PARTS, (id,)):
            if message != current:
                if parts:
                    yield _text(current), sorted(parts)
                current, parts = message, []
            parts.append((part_id.decode("utf-8", "replace"), data))
        if parts:
            yield _text(current), sorted(parts)

    def lost_parts(self, id: str) -> int:
        """Return how many parts of a session belong to a message that does not exist."""
        return int(self._execute(_LOST, {"id": id}).fetchone()[0])

    def latest(self, id: str) -> int:
        """Return when a message of a session, or a part of a message, was last changed.

        The time is in milliseconds since 1970. The result is 0 if there are no messages.
        """
        return int(self._execute(_LATEST, {"id": id}).fetchone()[0])

    def count(self, id: str, until: int) -> int:
        """Return how many messages of a session were created at or before the time `until`.

        The time is in milliseconds since 1970.
        """
        query = "SELECT count(*) FROM message WHERE session_id = ? AND time_created <= ?"
        return int(self._execute(query, (id, until)).fetchone()[0])

    def created_before(self, id: str, count: int) -> int:
        """Return when the message before the last `count` messages of a session was created.

        The time is in milliseconds since 1970. The result is 0 if there is no message before them.
        """
        query = """SELECT time_created FROM message WHERE session_id = ?
            ORDER BY time_created DESC LIMIT 1 OFFSET ?"""
        row = self._execute(query, (id, count)).fetchone()
        return int(row[0]) if row else 0

    def changed(self, id: str, since: int) -> list[Raw]:
        """Return the messages of a session that changed after the time `since`, oldest first.

        A message also counts if one of its parts changed. The time is in milliseconds since 1970.
        """
        rows = self._execute(_CHANGED, {"id": id, "since": since})
        return [Raw._make(row) for row in rows]

    def _rows(self, query: str, id: str) -> Iterator[Raw]:
        try:
            yield from map(Raw._make, self._execute(query, (id,)))
        except _DAMAGED as error:
            raise SessionCorruptedError(self.path, explain_failure(error)) from None

    def children(self, id: str) -> list[str]:
        query = "SELECT CAST(id AS TEXT) FROM session WHERE parent_id = ? AND id <> ? ORDER BY id"
        return [row[0] for row in self._execute(query, (id, id))]


def read_database(
    path: str, work: Callable[[OpenCodeDatabase], T], *, patience: float = _PATIENCE
) -> T:
    """Open a database of OpenCode, call `work` with it, and return the result.

    `patience` is the number of seconds to wait for a lock of another process. Raises
    FileNotFoundError if there is no database, and SessionCorruptedError if it is damaged.
    """
    attempts = _ATTEMPTS
    while True:
        attempts -= 1
        before = _state(path)
        is_unused = not before.has_log
        # If no process has the database open, open it as immutable. Otherwise SQLite would create
        # two files next to it. An immutable database may be read while another process writes to
        # it, so check for changes afterwards and try again.
        try:
            with open_foreign(path, timeout=patience, immutable=is_unused) as connection:
                connection.text_factory = _text
                _refuse_views(connection)
                result = work(OpenCodeDatabase(path, connection))
        except _DAMAGED as error:
            if is_unused and attempts and _state(path) != before:
                continue
            raise SessionCorruptedError(path, explain_failure(error)) from None
        if not (is_unused and attempts and _state(path) != before):
            return result


def explain_refusal(error: OSError | SessionCorruptedError) -> str:
    """Return the reason in `error`, without the path of the store that could not be read."""
    return error.reason if isinstance(error, SessionCorruptedError) else reason_of(error)


def _refuse_views(connection: sqlite3.Connection) -> None:
    named = {name for (name,) in connection.execute("SELECT lower(name) FROM sqlite_master")}
    refused = named - find_tables(connection)
    for name in _TABLES:
        if name in refused:
            raise sqlite3.DatabaseError(f"`{name}` is not a plain table")


class _DatabaseState(msgspec.Struct, frozen=True):
    changed: int
    size: int
    has_log: bool


def _state(path: str) -> _DatabaseState:
    stat = os.stat(path)
    return _DatabaseState(stat.st_mtime_ns, stat.st_size, _has_log(path))


def _has_log(path: str) -> bool:
    """Return whether recent changes may be in the write-ahead log, a file next to the database."""
    try:
        return os.stat(f"{path}-wal").st_size > 0 or os.path.exists(f"{path}-shm")
    except FileNotFoundError:
        return False


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def as_object(value: Any) -> Any:
    """Return the decoded value of a JSON column, or None if the column holds no valid JSON."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    try:
        return json_codec.decode(value.encode()) if isinstance(value, str) else None
    except ValueError:
        return None


class Tree:
    """A session that an older release of OpenCode stored in the folder `storage`.

    The folder has a JSON file for each session, message and part. In the first releases, each
    project had its own folder `storage`, and its subfolders were nested one level deeper.
    """

    def __init__(self, path: str) -> None:
        """Find the folder `storage` that contains the JSON file `path` of a session."""
        self.path = path
        folder = os.path.dirname(path)
        self._is_first_format = os.path.basename(folder) == "info"
        self._root = os.path.dirname(folder if self._is_first_format else os.path.dirname(folder))

    @property
    def found(self) -> FoundSession:
        id = os.path.basename(self.path).removesuffix(".json")
        last = jsonl_transcripts.listed(os.path.join(self._root, "message", id))[-1:]
        parts = (
            jsonl_transcripts.listed(self._parts(id, last[0].name.removesuffix(".json")))
            if last
            else []
        )
        stats = [os.stat(path) for path in (self.path, *(one.path for one in (*last, *parts)))]
        latest = max(stat.st_mtime_ns for stat in stats)
        folder = self.head(id).get("directory")
        return FoundSession(id, folder or "", f"{latest}-{len(stats)}-{stats[0].st_size}")

    @property
    def is_side(self) -> bool:
        """Whether the session belongs to a sub-agent whose parent session still exists."""
        parent = self.head(os.path.basename(self.path).removesuffix(".json")).get("parent_id")
        beside = os.path.join(os.path.dirname(self.path), f"{parent}.json")
        return bool(parent) and os.path.exists(beside)

    def head(self, id: str) -> dict[str, Any]:
        path = os.path.join(os.path.dirname(self.path), f"{id}.json")
        try:
            head = message_dicts.as_dict(json_codec.decode(read_file(path)))
        except ValueError as error:
            raise SessionCorruptedError(path, str(error)) from None
        times = head.get("time")
        times = cast("dict[str, Any]", times) if isinstance(times, dict) else {}
        named = {"id": id, "parent_id": head.get("parentID")}
        return head | named | {f"time_{name}": when for name, when in times.items()}

    def row(self, id: str) -> dict[str, Any]:
        return self.head(id)

    def timed_messages(self, id: str) -> Iterator[tuple[Raw, int | float | None]]:
        return ((raw, None) for raw in self.messages(id))

    def messages(self, id: str, *, last: bool = False) -> Iterator[Raw]:
        folder = os.path.join(self._root, "message", id)
        return _files(folder, last=last)

    def parts(self, id: str, message: str) -> Iterator[Raw]:
        return _files(self._parts(id, message))

    def _parts(self, id: str, message: str) -> str:
        between = (id, message) if self._is_first_format else (message,)
        return os.path.join(self._root, "part", *between)

    def children(self, id: str) -> list[str]:
        needle = id.encode()
        named = [one.id for one in _files(os.path.dirname(self.path)) if needle in one.data]
        return [one for one in named if one != id and self._parent(one) == id]

    def _parent(self, id: str) -> str | None:
        try:
            return self.head(id).get("parent_id")
        except SessionCorruptedError:
            return None  # `sources` reports the damage


def _files(folder: str, *, last: bool = False) -> Iterator[Raw]:
    """Yield the names and contents of the JSON files in a folder, the oldest file first.

    The files are sorted by name, which is the order of their creation. If `last` is true, yield
    only the last file.
    """
    entries = [entry for entry in jsonl_transcripts.listed(folder) if entry.name.endswith(".json")]
    for entry in entries[-1:] if last else entries:
        yield Raw(entry.name.removesuffix(".json"), read_file(entry.path))


def trees(home: str) -> Iterator[Tree]:
    """Yield each session that older releases stored as JSON files below OpenCode's folder."""
    for project in jsonl_transcripts.listed(os.path.join(home, "storage", "session")):
        yield from _sessions(project.path)
    for project in jsonl_transcripts.listed(os.path.join(home, "project")):
        yield from _sessions(os.path.join(project.path, "storage", "session", "info"))


def _sessions(folder: str) -> Iterator[Tree]:
    for entry in jsonl_transcripts.listed(folder):
        if entry.name.endswith(".json"):
            yield Tree(entry.path)
