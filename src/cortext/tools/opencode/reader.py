"""The reader of OpenCode's sessions, in `opencode.db` or in the files of older releases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from cortext.errors import SessionCorruptedError, file_and_reason
from cortext.formats.message_lines import Damage
from cortext.model.session import Session
from cortext.model.title import RequestTitle
from cortext.model.tool_binding import native_entry
from cortext.tools import jsonl_transcripts
from cortext.tools.new_transcript_lines import FilePosition, MessageDelta
from cortext.tools.opencode.archived_session_log import ArchivedSession, logs, open_log
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
_FIRST = 20  # messages to search for a request with a topic
DEEPEST = 5
"""The maximum depth of sub-agents that start sub-agents."""
_AT_ONCE = 1 << 18  # bytes of messages and parts in a batch
_Number = int | float | None
_Amount = jsonl_transcripts.Count | jsonl_transcripts.Cost | None

T = TypeVar("T")
_Stored = tuple[Raw, Iterable[tuple[str, bytes]]]
"""A stored message, and the id and the data of each of its parts."""


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
        """The input tokens, the output tokens and the cost in US dollars. Missing values are 0."""
        read = (self.tokens_input, self.tokens_cache_read, self.tokens_cache_write)
        written = (self.tokens_output, self.tokens_reasoning)
        return int(sum(filter(None, read))), int(sum(filter(None, written))), self.cost or 0.0


class OpenCodeBridge:
    """The reader of OpenCode's sessions. `home` is the tool's folder or its archived copy."""

    tool: ClassVar[str] = "opencode"

    def __init__(self, home: str | None = None) -> None:
        self._custom_home = home
        self.home: str = home or own_home(self.tool)

    def sources(self) -> Iterator[TranscriptSource]:
        """Yield every session of the user, without the sessions of sub-agents.

        If a session is both in a database and in a file, the file is skipped. The size of a session
        in a database is unknown, so the `size` of its source is 0.
        """
        seen: set[str] = set()
        for path in self.databases():
            try:
                found = read_database(path, OpenCodeDatabase.roots)
            except (OSError, SessionCorruptedError) as error:
                warn("skipped %s: %s", path, explain_refusal(error))
                continue
            for one in found:
                seen.add(one.id)
                yield TranscriptSource(self.tool, one.id, path, 0, one.print, one.directory)
        for tree in trees(self.home):
            try:
                one = None if tree.is_side else tree.found
                size = os.stat(tree.path).st_size
            except (OSError, SessionCorruptedError) as error:
                warn("skipped %s: %s", tree.path, explain_refusal(error))
                continue
            if one and one.id not in seen:
                seen.add(one.id)
                yield TranscriptSource(self.tool, one.id, tree.path, size, one.print, one.directory)
        for id, entry in logs(self.home):
            yield from jsonl_transcripts.source(self.tool, id, entry)

    def databases(self) -> list[str]:
        """Return the paths of OpenCode's databases.

        Each release channel of OpenCode has its own database. The environment variable
        `OPENCODE_DB` can hold the path of one more database.
        """
        names = [entry.name for entry in jsonl_transcripts.listed(self.home)]
        found = [name for name in names if name.startswith("opencode") and name.endswith(".db")]
        given = "" if self._custom_home else os.environ.get("OPENCODE_DB", "")
        if given and given != ":memory:":
            found.append(given)
        return list(dict.fromkeys(os.path.join(self.home, name) for name in found))

    def glance(self, source: TranscriptSource) -> Glance:
        """Return the title, folder, times and model of a session, without reading all messages.

        If the user and the model gave no title, the title is made from a request of the user.
        """
        return read_store(source, lambda store: _glance(store, source.id), ends=True)

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """Return the whole session, with its sub-agents and the damage in its store.

        Tool results of more than `longest` characters are cut to their beginning and end.
        """

        def work(store: Store) -> DecodedTranscript:
            damages = list(store.damages) if isinstance(store, ArchivedSession) else list[Damage]()
            session = _session(store, source.id, damages, longest)
            side = list(_subagent_sessions(store, source.id, damages, longest, DEEPEST))
            return DecodedTranscript(session, damages, side)

        return read_store(source, work)

    def has_bytes(self, source: TranscriptSource, is_in: Callable[[Iterable[bytes]], bool]) -> bool:
        """Call `is_in` with the rows of the session and its sub-agents, and return the result."""
        return read_store(source, lambda store: is_in(_stored_bytes(store, source.id, DEEPEST)))

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """Return the position of a session's last change, as `FollowsRows.latest` defines."""
        if not source.path.endswith(".db"):
            return None
        return read_database(source.path, lambda database: _position(database, source.id))

    def near_end(self, source: TranscriptSource, count: int) -> FilePosition | None:
        """Return the position before the last messages, as `FollowsLastRows.near_end` defines."""
        if not source.path.endswith(".db"):
            return None

        def work(database: OpenCodeDatabase) -> FilePosition:
            time = database.created_before(source.id, count)
            return FilePosition(0, time, database.count(source.id, time), "")

        return read_database(source.path, work)

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """Return the messages that changed since `mark`, as `FollowsRows.changed` defines."""

        def work(database: OpenCodeDatabase) -> MessageDelta | None:
            if _head(database, source.id).revert:
                return None
            if database.count(source.id, mark.size) != mark.lines:
                return None  # the user went back, and messages were removed
            now = _position(database, source.id)
            rows = database.changed(source.id, mark.size)
            first = len(rows) - (now.lines - mark.lines)  # index of the first new row
            if first < 0:
                return None
            damages: list[Damage] = []
            converter, changed_count, model = OpenCodeMessages(None), 0, ""
            for number, raw in enumerate(rows):
                changed_count = len(converter.messages) if number == first else changed_count
                if info := read_info(raw, damages):
                    model = info.used or model
                    parts = database.parts(source.id, raw.id)
                    converter.tell(raw.id, info, _parts(raw.id, info, parts, damages))
            if damages or converter.cuts:
                return None
            changed_count = len(converter.messages) if first >= len(rows) else changed_count
            return MessageDelta(
                converter.messages[:changed_count], converter.messages[changed_count:], now, model
            )

        return read_database(source.path, work)

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the database sessions in which the sub-agents ran.

        The fingerprint changes when one of these sessions is added or changed. The result is None
        if the session is not in a database.
        """
        if not source.path.endswith(".db"):
            return None

        def work(database: OpenCodeDatabase) -> str:
            ids, changes = [source.id], list[str]()
            for _ in range(DEEPEST):
                ids = [child for id in ids for child in database.children(id)]
                changes += [f"{id} {database.latest(id)}" for id in ids]
            return "\n".join(changes)

        return read_database(source.path, work)


def _position(database: OpenCodeDatabase, id: str) -> FilePosition:
    """Return the position after a session's last change.

    In this position, `size` is the time of the change, and `lines` is the number of messages that
    were created until then.
    """
    time = database.latest(id)
    return FilePosition(0, time, database.count(id, time), "")


def read_store(source: TranscriptSource, work: Callable[[Store], T], *, ends: bool = False) -> T:
    """Open the store that contains a session, call `work` with the store, and return the result.

    If the store is a log in the archive and `ends` is true, only the beginning and the end of the
    log are read.
    """
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
        title = _request_title(store, id) or title
    return Glance(
        title,
        head.directory or "",
        started,
        max(times, default=started or datetime.fromtimestamp(0, UTC)),
        last.used or ((head.model and head.model.id) or ""),
        version=head.version or "",
    )


def _request_title(store: Store, id: str) -> str:
    """Return a title made from the first user message with a topic, or ""."""
    title = RequestTitle()
    for _, raw in zip(range(_FIRST), store.messages(id), strict=False):
        info = read_info(raw, [])
        if info and info.role == "user":
            converter = OpenCodeMessages(None)
            converter.tell(raw.id, info, _parts(raw.id, info, store.parts(id, raw.id), []))
            if converter.messages:
                title.add(converter.messages[0].content)
        if title.is_final:
            break
    return title.text


def _with_parts(store: Store, id: str) -> Iterator[_Stored]:
    """Yield the messages of a session, each with its parts."""
    if isinstance(store, OpenCodeDatabase):
        return store.with_parts(id)
    return ((raw, store.parts(id, raw.id)) for raw in store.messages(id))


def _stored_bytes(store: Store, id: str, depth: int) -> Iterator[bytes]:
    """Yield the data of all messages and parts of a session and of its sub-agents."""
    for raw, parts in _with_parts(store, id):
        yield raw.data
        yield from (data for _, data in parts)
    for child in store.children(id) if depth else ():
        yield from _stored_bytes(store, child, depth - 1)


def _before_revert(rows: Iterable[_Stored], revert: _Revert) -> Iterator[_Stored]:
    """Yield the messages in `rows` before the message that the user went back to.

    `revert` holds the id of this message. If `revert` also holds the id of a part of the message,
    the message itself is yielded too.
    """
    for row in rows:
        if row[0].id != revert.messageID:
            yield row
            continue
        if revert.partID:
            yield row
        return


def _batches(rows: Iterable[_Stored]) -> Iterator[list[_Stored]]:
    """Yield messages in batches, because it is faster to read and decode several at once."""
    batch, size = list[_Stored](), 0
    for raw, parts in rows:
        batch.append((raw, parts))
        read = isinstance(parts, list)
        size += len(raw.data) + (sum([len(data) for _, data in parts]) if read else _AT_ONCE)
        if size >= _AT_ONCE:
            yield batch
            batch, size = [], 0
    yield batch


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
        damages.append(Damage(file_and_reason(error)))


def _session(store: Store, id: str, damages: list[Damage], longest: int | None) -> Session:
    notes: list[str] = []
    head, seen = _head(store, id, notes), _glance(store, id)
    if isinstance(store, OpenCodeDatabase) and (lost := store.lost_parts(id)):
        notes.append(f"ignored parts without a message: {lost}")
    damages += [Damage(f"{id}: {note}", fatal=False) for note in notes]
    converter, spent = OpenCodeMessages(longest), (0, 0, 0.0)
    revert = head.revert or _Revert()
    for batch in _batches(_before_revert(_readable(_with_parts(store, id), damages), revert)):
        known = [(raw.id, info, rows) for raw, rows in batch if (info := read_info(raw, damages))]
        decoded = [
            (message_id, info, _parts(message_id, info, rows, damages))
            for message_id, info, rows in known
        ]
        for message_id, info, parts in decoded:
            if message_id == revert.messageID:
                parts = [one for one in parts if one[0] < (revert.partID or "")]
            converter.tell(message_id, info, parts)
            read, written, cost = info.spent
            spent = spent[0] + read, spent[1] + written, spent[2] + cost
    read, written, cost = head.spent if any(head.spent) else spent
    facts: dict[str, Any] = {
        "tool_version": seen.version,
        "cost_usd": cost,
        "compactions": converter.cuts,
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
    session.messages = converter.messages
    return session


def _subagent_sessions(
    store: Store, id: str, damages: list[Damage], longest: int | None, depth: int
) -> Iterator[Session]:
    for child in store.children(id) if depth else ():
        yield _session(store, child, damages, longest)
        yield from _subagent_sessions(store, child, damages, longest, depth - 1)
