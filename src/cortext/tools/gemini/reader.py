"""The reader of Gemini CLI's transcripts, `tmp/<project>/chats/session-*.jsonl`.

A transcript is a log of events, with one JSON object on each line. Older transcripts are single
JSON documents. The name `<project>` in the path leads to the working folder of the conversation,
because the content of a transcript usually does not contain that folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from cortext.durability.read_files import open_file, read_file
from cortext.errors import why
from cortext.formats.message_lines import Damage
from cortext.model import json_codec
from cortext.model.session import Session
from cortext.model.tool_binding import native_entry
from cortext.tools import jsonl_transcripts
from cortext.tools.gemini.records import GeminiMessages, GeminiRecord, TranscriptState
from cortext.tools.new_transcript_lines import MessageDelta, NewLines
from cortext.tools.reader_protocol import DecodedTranscript, Glance, TranscriptSource
from cortext.tools.transcript_folders import own_home, warn

_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9._-]{0,127})"')
_ANY_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_HEAD = 4096
"""The number of bytes at the beginning of a transcript that contain the session's id."""
_SUBAGENT = re.compile(rb'"kind"\s*:\s*"subagent"')
# Match within one line: a match across empty lines would take quadratic time.
_MESSAGE = re.compile(rb'^[ \t\r\0]*\{"id"|"type"\s*:\s*"gemini"', re.MULTILINE)
_FIELD = re.compile(r'"(startTime|lastUpdated|summary)"\s*:\s*("(?:[^"\\]|\\.)*+")')
_MESSAGES = re.compile(r'"messages"\s*:\s*\[\s*')
_BETWEEN = re.compile(r"[\s,]*")
_LAST_SUMMARY = re.compile(rb'\]\s*,\s*"summary"\s*:\s*("(?:[^"\\]|\\.)*+")')
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')


def _read(path: str, log: TranscriptState) -> None:
    broken: list[Damage] = []
    if jsonl_transcripts.plain(path).endswith(".json"):
        _read_document(jsonl_transcripts.read_whole(path, broken), log)
        log.damages += broken
        return
    lines = jsonl_transcripts.JsonLines(GeminiRecord, path)
    log.damages = lines.damages
    for _, record in lines.read(jsonl_transcripts.read_blocks(path, broken)):
        log.add(record)
    log.damages += broken


def _read_document(data: bytes, log: TranscriptState) -> None:
    notes: list[str] = []
    try:
        value = json_codec.decode(data, notes)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        log.add(jsonl_transcripts.fit(cast("dict[str, Any]", value), GeminiRecord, notes))
    except ValueError as error:
        log.damages.append(Damage(str(error)))
        _salvage(data, log)
    log.damages += [Damage(note, fatal=False) for note in notes]


def _salvage(data: bytes, log: TranscriptState) -> None:
    """Add the readable content of a damaged JSON document to `log`.

    The readable content is fields and complete messages. `data` holds the bytes of the document, or
    only its first bytes.
    """
    import json as standard

    text = data.decode("utf-8", "replace")
    start = _MESSAGES.search(text)
    head = text[: start.start()] if start else text
    decoder = standard.JSONDecoder(strict=False)
    fields: dict[str, Any] = {}
    for name, value in _FIELD.findall(head):
        with suppress(ValueError):  # half a character, or a character that JSON forbids
            fields[name] = decoder.decode(value)
    log.add(jsonl_transcripts.fit(fields, GeminiRecord, []))
    place = start.end() if start else len(text)
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return  # the document ends, or a number has thousands of digits
        if isinstance(value, dict) and "id" in value:
            log.add(jsonl_transcripts.fit(cast("dict[str, Any]", value), GeminiRecord, []))
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place


def _glance_at_document(fd: int, log: TranscriptState) -> None:
    size, read = jsonl_transcripts.opened(fd)
    if size <= jsonl_transcripts.ENDS[1]:
        _read_document(read(0, size), log)
        return
    _salvage(read(0, jsonl_transcripts.ENDS[1]), log)
    tail = read(size - jsonl_transcripts.ENDS[1], size)
    if summaries := _LAST_SUMMARY.findall(tail):
        log.summary = str(json_codec.decode(summaries[-1])).strip() or log.summary
    if models := _MODEL.findall(tail):
        log.model = models[-1].decode("utf-8", "replace")


def _glance_at_lines(fd: int, log: TranscriptState) -> None:
    ends, tail = jsonl_transcripts.Ends(fd, GeminiRecord), TranscriptState()

    def has_topic(record: GeminiRecord) -> bool:
        log.add(record)
        return log.request_title.is_final

    def has_request(record: GeminiRecord) -> bool:
        log.add(record)
        return bool(log.request_title.text)

    ends.head(has_request, has_topic)
    for record in ends.tail(lambda record: bool(record.model)):
        tail.add(record)
    for name in ("stamp", "updated", "model", "summary"):
        setattr(log, name, getattr(tail, name) or getattr(log, name))


def _session(log: TranscriptState, source: TranscriptSource, when: datetime) -> Session:
    started = log.first or log.last or when
    converter, compactions, records = GeminiMessages(started), list[int](), log.records
    for number, record in enumerate(records):
        if log.cuts:
            compactions += [len(converter.messages)] * log.cuts.count(number)
        converter.tell(record)
    compactions += [len(converter.messages)] * log.cuts.count(len(records))
    spent = log.spent.values()
    session = Session(
        source.id,
        title=log.title,
        created_at=started,
        updated_at=log.last or when,
        working_dir=source.cwd or next(iter(log.directories), ""),
        model=log.model,
        agent=GeminiBridge.tool,
        kind="chat",
        total_prompt_tokens=sum((one.input or 0) + (one.tool or 0) for one in spent),
        total_completion_tokens=sum((one.output or 0) + (one.thoughts or 0) for one in spent),
        native=[native_entry(GeminiBridge.tool, source.id, source.path)],
        metadata={"compactions": compactions} if compactions else {},
    )
    session.messages = converter.messages
    return session


class GeminiBridge:
    """The reader of Gemini CLI's sessions. `home` is the tool's folder or its archived copy."""

    tool: ClassVar[str] = "gemini"

    def __init__(self, home: str | None = None) -> None:
        self.home: str = home or own_home(self.tool)

    def sources(self) -> Iterator[TranscriptSource]:
        """Yield the transcript of every conversation. Transcripts of sub-agents are left out.

        The beginning of each file is read, because the name has only eight characters of the id.
        """
        folders = self._folders()
        for project in jsonl_transcripts.listed(os.path.join(self.home, "tmp")):
            chats = jsonl_transcripts.listed(os.path.join(project.path, "chats"))
            names = {jsonl_transcripts.plain(entry.name) for entry in chats}
            cwd = _project_root(project.path) or folders.get(project.name, "") if chats else ""
            for entry in chats:
                # When an old document (`.json`) is continued, a log (`.jsonl`) of the same name
                # repeats its messages. Then skip the document.
                name = jsonl_transcripts.plain(entry.name)
                kind = name.rpartition(".")[2]
                if kind == "jsonl" or (kind == "json" and f"{name}l" not in names):
                    for source in jsonl_transcripts.source(self.tool, "", entry):
                        if id := _id_at(source.path):
                            yield replace(source, id=id, cwd=cwd)

    def is_transcript_of(self, id: str, path: str) -> bool:
        """Return whether a file is the transcript of the session `id`.

        The beginning of the file is read, because the file's name has only a part of the id.
        """
        if jsonl_transcripts.plain(os.path.basename(path)).rpartition(".")[0] == id:
            return True  # an old transcript without another id
        match = _ANY_ID.search(jsonl_transcripts.read_head(path, _HEAD))
        return match is not None and match[1] == id.encode("utf-8", "surrogatepass")

    def glance(self, source: TranscriptSource) -> Glance:
        """Return the title, folder, times and model of a session, from both ends of its file.

        The title is the summary of the session. If neither end of the file has a summary, the title
        is made from the first request with a topic.
        """
        log = TranscriptState()
        fd = open_file(source.path)
        try:
            stat = os.fstat(fd)
            if jsonl_transcripts.plain(source.path).endswith(".json"):
                _glance_at_document(fd, log)
            else:
                _glance_at_lines(fd, log)
        finally:
            os.close(fd)
        updated = log.last or datetime.fromtimestamp(stat.st_mtime, UTC)
        cwd = source.cwd or next(iter(log.directories), "")
        return Glance(log.title, cwd, log.first, updated, log.model)

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """Return the whole session, with its sub-agents and the damage in its files.

        Tool results of more than `longest` characters are cut to their beginning and end.
        """
        session, damages = _decode(source, longest)
        side: list[Session] = []
        for child in subagent_sources(source):
            part, more = _decode(child, longest)
            part.parent_id = source.id
            side.append(part)
            damages += more
        return DecodedTranscript(session, damages, side)

    def follow(self, source: TranscriptSource, lately: NewLines) -> MessageDelta | None:
        """Return the messages of the new lines in `lately`.

        The result is None if the caller must decode the whole transcript instead. This is necessary
        after a resume, because Gemini CLI then writes all messages again.
        """
        log, lines = TranscriptState(), jsonl_transcripts.JsonLines(GeminiRecord)
        for _, record in lines.read([lately.before]):
            log.add(record)
        known, count = log.keys, len(log.records)
        if not (known or lately.is_all):
            return None  # the last record may begin before the part that was read
        for _, record in lines.read([lately.after]):
            if record.rewind is not None or (record.set or record).messages is not None:
                return None
            if record.id is not None and log.key(record) in known:
                return None
            log.add(record)
        converter, first_new = GeminiMessages(log.first or datetime.fromtimestamp(0, UTC)), 0
        for number, record in enumerate(log.records):
            first_new = len(converter.messages) if number == count else first_new
            converter.tell(record)
        new = converter.messages[first_new:] if len(log.records) > count else []
        return None if lines.damages else MessageDelta((), new, lately.mark, log.model)

    def beside(self, source: TranscriptSource) -> str:
        """Return a fingerprint of the files that hold the session's sub-agents.

        The fingerprint changes when one of these files is added, changed or deleted.
        """
        return jsonl_transcripts.prints(child.path for child in subagent_sources(source))

    def _folders(self) -> dict[str, str]:
        """Return the working folder of each project in `projects.json`, by the project's name.

        The name of a project is the name of its folder below `tmp`. It is a short name, or a hash
        in older releases of Gemini CLI. The result has both names of each project.
        """
        path = os.path.join(self.home, "projects.json")
        try:
            projects = cast("dict[str, str]", json_codec.decode(read_file(path))["projects"])
            hashes = {hashlib.sha256(folder.encode()).hexdigest(): folder for folder in projects}
            return {slug: folder for folder, slug in projects.items()} | hashes
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            warn("skipped %s: %s", path, why(error))
            return {}


def _decode(source: TranscriptSource, longest: int | None) -> tuple[Session, list[Damage]]:
    log = TranscriptState(longest)
    when = datetime.fromtimestamp(os.stat(source.path).st_mtime, UTC)
    _read(source.path, log)
    return _session(log, source, when), log.damages


def subagent_sources(source: TranscriptSource) -> Iterable[TranscriptSource]:
    """Yield the transcripts of a session's sub-agents.

    They are in a folder next to the session's transcript. The name of the folder is the session's
    id.
    """
    for entry in jsonl_transcripts.listed(os.path.join(os.path.dirname(source.path), source.id)):
        id, _, kind = jsonl_transcripts.plain(entry.name).rpartition(".")
        if kind in ("jsonl", "json"):
            for child in jsonl_transcripts.source(source.tool, id, entry):
                yield replace(child, cwd=source.cwd)


def _id_at(path: str) -> str:
    """Return the session id in a transcript, or the file's name if the file contains no id.

    The result is "" if the caller must skip the file: a sub-agent's file, a session without
    messages, or an unreadable file.
    """
    try:
        head = jsonl_transcripts.read_head(path, jsonl_transcripts.ENDS[1])
    except OSError as error:
        warn("skipped %s: %s", path, why(error))
        return ""
    path = jsonl_transcripts.plain(path)
    if path.endswith(".jsonl"):
        # Skip a file without messages. Each start of Gemini CLI creates such a file, even a resume.
        if len(head) < jsonl_transcripts.ENDS[1] and not _MESSAGE.search(head):
            return ""
        head = head.partition(b"\n")[0]
    if _SUBAGENT.search(head):
        return ""
    id = _ID.search(head)
    return id[1].decode("utf-8", "replace") if id else os.path.basename(path).rpartition(".")[0]


def _project_root(folder: str) -> str:
    try:
        return read_file(os.path.join(folder, ".project_root")).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""  # older releases do not write the file
