"""The reader of OpenCode's sessions, in `opencode.db` or in the files of older releases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from cortext.errors import SessionCorruptedError, where_and_why
from cortext.formats.record_lines import Damage
from cortext.model.session import Session
from cortext.model.tool_binding import native_entry
from cortext.tools import jsonl_transcripts
from cortext.tools.new_messages import FilePosition, MessageDelta
from cortext.tools.opencode.archive_log import ArchivedSession, logs, open_log
from cortext.tools.opencode.records import (
    MessageInfo,
    MessagePart,
    ModelInfo,
    OpenCodeMessages,
    read_info,
    read_parts,
)
from cortext.tools.opencode.storage import (
    OpenCodeDatabase,
    Raw,
    Store,
    Tree,
    explain_refusal,
    read_database,
    trees,
)
from cortext.tools.reader_protocol import DecodedTranscript, Glance, TranscriptSource
from cortext.tools.transcript_folders import own_home, warn

_UNNAMED = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT")
_FIRST = 20  # messages to search for the first request
_DEEPEST = 5  # the maximum depth of sub-agents that start sub-agents
_AT_ONCE = 1 << 18  # bytes of messages and parts in a batch
_Number = int | float | None
_Amount = jsonl_transcripts.Count | jsonl_transcripts.Cost | None

T = TypeVar("T")
_Stored = tuple[Raw, Iterable[tuple[str, bytes]]]
"""A message, and the id and the data of each of its parts."""


class _Revert(Struct):
    messageID: str | None = None
    partID: str | None = None


class _SessionHead(Struct):
    """The head of a session, which is everything but its messages."""

    parent_id: str | None = None
    directory: str | None = None
    title: str | None = None
    version: str | None = None
    time_created: _Number = None
    time_updated: _Number = None
    revert: _Revert | None = None
    model: ModelInfo | None = None
    cost: _Amount = None
    tokens_input: _Amount = None
    tokens_output: _Amount = None
    tokens_reasoning: _Amount = None
    tokens_cache_read: _Amount = None
    tokens_cache_write: _Amount = None

    @property
    def spent(self) -> tuple[int, int, float]:
        """The tokens read, the tokens written, and the cost, or zeros if none are stored."""
        read = (self.tokens_input, self.tokens_cache_read, self.tokens_cache_write)
        written = (self.tokens_output, self.tokens_reasoning)
        return int(sum(filter(None, read))), int(sum(filter(None, written))), self.cost or 0.0


class OpenCodeBridge:
    """The reader of OpenCode's sessions. `home` is the tool's folder or its archived copy."""

    tool: ClassVar[str] = "opencode"

    def __init__(self, home: str | None = None) -> None:
        self._given = home
        self.home: str = home or own_home(self.tool)

    def sources(self) -> Iterator[TranscriptSource]:
        """Yield every session of the user, without the sessions of sub-agents.

        A session file is skipped if the session is also in a database. The size of a session in a
        database is unknown and given as 0.
        """
        seen: set[str] = set()
        for path in self.databases():
            try:
                found = read_database(path, OpenCodeDatabase.roots)
            except (OSError, SessionCorruptedError) as error:
                warn("%s is passed over: %s", path, explain_refusal(error))
                continue
            for one in found:
                seen.add(one.id)
                yield TranscriptSource(self.tool, one.id, path, 0, one.print, one.directory)
        for tree in trees(self.home):
            try:
                one = None if tree.is_side else tree.found
                size = os.stat(tree.path).st_size
            except (OSError, SessionCorruptedError) as error:
                warn("%s is passed over: %s", tree.path, explain_refusal(error))
                continue
            if one and one.id not in seen:
                seen.add(one.id)
                yield TranscriptSource(self.tool, one.id, tree.path, size, one.print, one.directory)
        for id, entry in logs(self.home):
            yield from jsonl_transcripts.source(self.tool, id, entry)

    def databases(self) -> list[str]:
        """Return the paths of OpenCode's databases.

        Each release channel has its own database. `$OPENCODE_DB` names one more.
        """
        names = [entry.name for entry in jsonl_transcripts.listed(self.home)]
        found = [name for name in names if name.startswith("opencode") and name.endswith(".db")]
        given = "" if self._given else os.environ.get("OPENCODE_DB", "")
        if given and given != ":memory:":
            found.append(given)
        return list(dict.fromkeys(os.path.join(self.home, name) for name in found))

    def glance(self, source: TranscriptSource) -> Glance:
        """Return the title, folder, times and model of a session, without reading all messages.

        If the title is only the time when the session began, the first request is used instead.
        """
        return _read(source, lambda store: _glance(store, source.id), ends=True)

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """Return the whole session, with its sub-agents and the damage in its store.

        Tool results of more than `longest` characters are cut to their beginning and end.
        """

        def work(store: Store) -> DecodedTranscript:
            damages = list(store.damages) if isinstance(store, ArchivedSession) else list[Damage]()
            session = _session(store, source.id, damages, longest)
            side = list(_side(store, source.id, damages, longest, _DEEPEST))
            return DecodedTranscript(session, damages, side)

        return _read(source, work)

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """Return the position of a session's last change, as `FollowsRows.latest` defines."""
        if not source.path.endswith(".db"):
            return None
        return read_database(source.path, lambda database: _mark(database, source.id))

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """Return the messages of changed rows, as `FollowsRows.changed` defines."""

        def work(database: OpenCodeDatabase) -> MessageDelta | None:
            if _head(database, source.id).revert:
                return None
            if database.count(source.id, mark.size) != mark.lines:
                return None  # the user went back, and messages were removed
            now = _mark(database, source.id)
            rows = database.changed(source.id, mark.size)
            first = len(rows) - (now.lines - mark.lines)  # index of the first new row
            if first < 0:
                return None
            damages: list[Damage] = []
            telling, again, model = OpenCodeMessages(None), 0, ""
            for number, raw in enumerate(rows):
                again = len(telling.messages) if number == first else again
                if info := read_info(raw, damages):
                    model = info.used or model
                    parts = database.parts(source.id, raw.id)
                    telling.tell(raw.id, info, _parts(raw.id, info, parts, damages))
            if damages or telling.cuts:
                return None
            again = len(telling.messages) if first >= len(rows) else again
            return MessageDelta(telling.messages[:again], telling.messages[again:], now, model)

        return read_database(source.path, work)

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the sub-agents' sessions, as `FollowsRows.beside` defines."""
        if not source.path.endswith(".db"):
            return None

        def work(database: OpenCodeDatabase) -> str:
            ids, marks = [source.id], list[str]()
            for _ in range(_DEEPEST):
                ids = [child for id in ids for child in database.children(id)]
                marks += [f"{id} {database.latest(id)}" for id in ids]
            return "\n".join(marks)

        return read_database(source.path, work)


def _mark(database: OpenCodeDatabase, id: str) -> FilePosition:
    """Return the position after a session's last change. Its `lines` counts the messages."""
    time = database.latest(id)
    return FilePosition(0, time, database.count(id, time), "")


def _read(source: TranscriptSource, work: Callable[[Store], T], *, ends: bool = False) -> T:
    if source.path.endswith(".json"):
        return work(Tree(source.path))
    if jsonl_transcripts.plain(source.path) != source.path:
        with open_log(source.path, ends=ends) as log:
            return work(log)
    return read_database(source.path, work)


def _head(store: Store, id: str, notes: list[str] | None = None) -> _SessionHead:
    return jsonl_transcripts.fit(store.head(id), _SessionHead, [] if notes is None else notes)


def _glance(store: Store, id: str) -> Glance:
    head, last = _head(store, id), MessageInfo()
    for raw in store.messages(id, last=True):
        last = read_info(raw, []) or last
    started = jsonl_transcripts.time_of(head.time_created)
    ends = (head.time_updated, last.times.created, last.times.completed)
    times = [time for time in map(jsonl_transcripts.time_of, ends) if time]
    title = (head.title or "").strip()
    if not title or _UNNAMED.match(title):
        title = _request(store, id) or title
    return Glance(
        title,
        head.directory or "",
        started,
        max(times, default=started or datetime.fromtimestamp(0, UTC)),
        last.used or ((head.model and head.model.id) or ""),
        version=head.version or "",
    )


def _request(store: Store, id: str) -> str:
    """Return a title made from the first user message with text, or ""."""
    for _, raw in zip(range(_FIRST), store.messages(id), strict=False):
        info = read_info(raw, [])
        if info and info.role == "user":
            telling = OpenCodeMessages(None)
            telling.tell(raw.id, info, _parts(raw.id, info, store.parts(id, raw.id), []))
            if telling.messages and (
                title := jsonl_transcripts.title_of(telling.messages[0].content)
            ):
                return title
    return ""


def _with_parts(store: Store, id: str) -> Iterator[_Stored]:
    """Yield the messages of a session, each with its parts."""
    if isinstance(store, OpenCodeDatabase):
        return store.with_parts(id)
    return ((raw, store.parts(id, raw.id)) for raw in store.messages(id))


def _live(rows: Iterable[_Stored], revert: _Revert) -> Iterator[_Stored]:
    """Yield the messages before the message that the user went back to.

    If the user went back to a part inside that message, that message is included.
    """
    for row in rows:
        if row[0].id != revert.messageID:
            yield row
            continue
        if revert.partID:
            yield row
        return


def _together(rows: Iterable[_Stored]) -> Iterator[list[_Stored]]:
    """Group messages into batches, because reading and decoding in batches is faster."""
    some, size = list[_Stored](), 0
    for raw, parts in rows:
        some.append((raw, parts))
        read = isinstance(parts, list)
        size += len(raw.data) + (sum([len(data) for _, data in parts]) if read else _AT_ONCE)
        if size >= _AT_ONCE:
            yield some
            some, size = [], 0
    yield some


def _parts(
    message: str, info: MessageInfo, rows: Iterable[tuple[str, bytes]], damages: list[Damage]
) -> list[tuple[str, MessagePart]]:
    parts = read_parts(rows, damages)
    if info.parts:
        inside = enumerate(info.parts)
        return [(f"{message}-{number}", part) for number, part in inside] + parts
    return parts


def _readable(rows: Iterable[T], damages: list[Damage]) -> Iterator[T]:
    """Yield rows until a row cannot be read. Then add the error to `damages` and stop."""
    try:
        yield from rows
    except (SessionCorruptedError, OSError) as error:
        damages.append(Damage(where_and_why(error)))


def _session(store: Store, id: str, damages: list[Damage], longest: int | None) -> Session:
    notes: list[str] = []
    head, seen = _head(store, id, notes), _glance(store, id)
    if isinstance(store, OpenCodeDatabase) and (lost := store.lost_parts(id)):
        notes.append(f"parts of no message are passed over: {lost}")
    damages += [Damage(f"{id}: {note}", fatal=False) for note in notes]
    telling, spent = OpenCodeMessages(longest), (0, 0, 0.0)
    revert = head.revert or _Revert()
    for some in _together(_live(_readable(_with_parts(store, id), damages), revert)):
        known = [(raw.id, info, rows) for raw, rows in some if (info := read_info(raw, damages))]
        told = [(own, info, _parts(own, info, rows, damages)) for own, info, rows in known]
        for own, info, parts in told:
            if own == revert.messageID:
                parts = [one for one in parts if one[0] < (revert.partID or "")]
            telling.tell(own, info, parts)
            read, written, cost = info.spent
            spent = spent[0] + read, spent[1] + written, spent[2] + cost
    read, written, cost = head.spent if any(head.spent) else spent
    facts: dict[str, Any] = {
        "tool_version": seen.version,
        "cost_usd": cost,
        "compactions": telling.cuts,
        "provider": head.model.providerID if head.model else "",
    }
    session = Session(
        id,
        title=seen.title,
        created_at=seen.started_at or seen.updated_at,
        updated_at=seen.updated_at,
        working_dir=seen.cwd,
        model=seen.model,
        agent=OpenCodeBridge.tool,
        kind="chat",
        parent_id=head.parent_id or "",
        total_prompt_tokens=read,
        total_completion_tokens=written,
        native=[native_entry(OpenCodeBridge.tool, id, store.path)],
        metadata={name: fact for name, fact in facts.items() if fact},
    )
    session.messages = telling.messages
    return session


def _side(
    store: Store, id: str, damages: list[Damage], longest: int | None, depth: int
) -> Iterator[Session]:
    for child in store.children(id) if depth else ():
        yield _session(store, child, damages, longest)
        yield from _side(store, child, damages, longest, depth - 1)
