"""The reader of Codex's transcripts, `sessions/Y/M/D/rollout-<time>-<uuid>.jsonl`.

Codex calls a transcript a rollout. It compresses old rollouts to `.jsonl.zst`.

A rollout holds most messages twice: as items of the model's history, and as events for the screen.
The reader uses the items. It uses events only if there are no items. A rollout that continues
another rollout holds only the new records and the id of the other rollout.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, ClassVar

from cortext.durability.read_files import open_file
from cortext.errors import SessionStorageError, reason_of
from cortext.formats.message_lines import Damage
from cortext.model.message import Role, SessionMessage, unchecked_message
from cortext.model.session import Session
from cortext.model.title import RequestTitle, describe_request, first_line
from cortext.model.tool_binding import native_entry
from cortext.tools import jsonl_transcripts
from cortext.tools.codex.records import (
    UUID,
    Base,
    CodexUsage,
    Content,
    Output,
    Payload,
    RolloutLine,
    ThreadIndexEntry,
    call_of,
    parent_of,
    request_of,
    text_of,
    unwrap,
)
from cortext.tools.new_transcript_lines import MessageDelta, NewLines
from cortext.tools.reader_protocol import DecodedTranscript, Glance, TranscriptSource
from cortext.tools.transcript_folders import own_home, warn

_ID = re.compile(UUID, re.IGNORECASE)
_NAME = re.compile(rf"rollout-.*?-({UUID})(?:_{UUID})?\.jsonl(?:\.zst|\.gz)?", re.IGNORECASE)
_COMPRESSED = ".zst"
_SHELL = "<user_shell_command>"
# Skip these events: their large output is also in the result of the tool.
_SILENT = frozenset(("exec_command_end", "mcp_tool_call_end", "patch_apply_end", "turn_diff"))
_NEVER = datetime.fromtimestamp(0, UTC)
_COMPLETED: dict[str, Role] = {"UserMessage": "user", "AgentMessage": "assistant"}


class _CodexTranscript:
    """The content of a transcript (rollout), and of the rollouts that it continues."""

    def __init__(self, longest: int | None) -> None:
        self.meta: Payload | None = None
        self.title = self.model = ""
        self.request_title = RequestTitle()
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.stamp: str | int | float | None = None  # the time of the last record of any type
        self.usage = CodexUsage()
        self.spawned: dict[str, None] = {}
        self._longest, self._count = longest, 0
        self._names: dict[str, str] = {}
        self._seen: set[tuple[str, str]] = set()
        self._boundaries: list[int] = []
        # The same messages from three sources, the most reliable source first: items of the
        # history, then events, then events about completed items.
        self._channels: list[list[tuple[int, SessionMessage]]] = [[], [], []]
        self._items = self._channels[0]

    def add(self, line: RolloutLine, place: int, id: str) -> None:
        """Add a decoded line of the transcript of session `id`.

        `place` is the position of the line in the history of the conversation.
        """
        self._count += 1
        type, body, stamp = line.type, line.payload or line, line.timestamp
        if stamp:
            self.stamp = stamp
        if type == "event_msg" and body.type in _SILENT:
            return
        if when := jsonl_transcripts.time_of(stamp):
            self.last = when
            if self.first is None:
                self.first = when
        at = when or self.last or _NEVER
        if type == "response_item":
            self._add_item(body, at, self._record_id(type, body, place, id))
        elif type == "event_msg":
            self._add_event(body, at, self._record_id(type, body, place, id))
        elif type == "turn_context":
            self.model = body.model or self.model
        elif type == "compacted":
            self._boundaries.append(self._count)
        elif line.is_meta:
            self.meta = self.meta or body
        elif not line.payload:
            self._add_item(body, at, self._record_id(type, body, place, id))

    def _record_id(self, type: str, body: Payload, place: int, id: str) -> str:
        """Return the record's own id if it is unique, otherwise an id of the form "SESSION/PLACE".

        An id is unique if no earlier record of the same `type` has the same id. SESSION is the
        session's id (`id`), and PLACE is the position of the record (`place`).
        """
        own = body.item.id if body.item else body.id
        if not own or (type, own) in self._seen:
            return f"{id}/{place}"
        self._seen.add((type, own))
        return own

    def _add_event(self, body: Payload, at: datetime, id: str) -> None:
        if body.type == "token_count" and body.info and body.info.total_token_usage:
            self.usage = body.info.total_token_usage
        elif body.type == "thread_name_updated":
            self.title = (body.thread_name or "").strip() or self.title
        elif body.type == "thread_rolled_back":
            self._roll_back(body.num_turns or 0)
        elif body.type in ("user_message", "agent_message"):
            self._add_text(1, "user" if body.type[0] == "u" else "assistant", body.message, at, id)
        elif body.type == "item_completed" and body.item:
            role = _COMPLETED.get(body.item.type)
            if role:
                self._add_text(2, role, body.item.content, at, id)
        elif body.new_thread_id:
            self.spawned[body.new_thread_id] = None

    def _add_item(self, body: Payload, at: datetime, id: str) -> None:
        type, role = body.type, body.role
        if type == "message":
            if role == "user" or role == "assistant":
                self._add_text(0, role, body.content, at, id)
        elif type.endswith("_output"):
            self._items.append((self._count, self._result(body, at, id)))
        elif type.endswith("_call"):
            call = call_of(body)
            self._names[call["id"]] = call["name"]
            self._items.append(
                (self._count, jsonl_transcripts.message("assistant", "", at, id, [call]))
            )

    def _add_text(self, channel: int, role: Role, content: Content, at: datetime, id: str) -> None:
        text = text_of(content, role)
        if text:
            real_role = role
            if role == "user":
                real_role = "system" if text.startswith(_SHELL) else role
                if real_role == "user" and not self.request_title.is_final:
                    self.request_title.add(request_of(text))
            self._channels[channel].append(
                (self._count, unchecked_message(real_role, text, at, id))
            )

    def _result(self, body: Payload, at: datetime, id: str) -> SessionMessage:
        output, call = body.output, body.call_id or None
        facts: dict[str, Any] | None = None
        if isinstance(output, Output):
            facts = {"is_error": True} if output.success is False else None
            output = output.content
        text = text_of(output)
        if text.startswith('{"output":') and (wrapped := unwrap(text)):
            text = wrapped.output
            code = wrapped.metadata.exit_code if wrapped.metadata else None
            facts = facts if code is None else {"exit_code": code}
        name = self._names.get(call or "")
        if name and name.endswith("spawn_agent"):
            self.spawned |= dict.fromkeys(_ID.findall(text))
        if self._longest is not None:
            text = jsonl_transcripts.cut(text, self._longest)
        return unchecked_message("tool", text, at, id, None, call, name, None, facts)

    def _roll_back(self, turns: int) -> None:
        """Remove the last turns, because the user took them back.

        `turns` is the number of turns. Each turn starts with a message of the user.
        """
        request_places = [
            place for place, message in self._select_messages() if message.role == "user"
        ]
        if turns > 0 and request_places:
            end = request_places[-turns] if turns <= len(request_places) else 0
            for channel in self._channels:
                channel[:] = [pair for pair in channel if pair[0] < end]
            self._boundaries = [place for place in self._boundaries if place < end]

    def _select_messages(self) -> list[tuple[int, SessionMessage]]:
        """Return the messages of the session, each with its position.

        A transcript may hold the same messages in three forms: as items, as events, and as events
        about completed items. For each role ("user" and "assistant"), this method uses the first of
        these forms that has messages with the role.
        """
        items, *others = self._channels
        selected = items
        for role in ("user", "assistant"):
            if any(message.role == role and message.content for _, message in items):
                continue
            for channel in others:
                if texts := [pair for pair in channel if pair[1].role == role and pair[1].content]:
                    selected = sorted([*selected, *texts], key=lambda pair: pair[0])
                    break
        return selected

    def messages_after(self, count: int) -> list[SessionMessage] | None:
        """Return the messages after the first `count` records, or None.

        None means that the caller must read the whole file. There are two possible reasons:

        - The records do not contain the tool call of a tool result.
        - For one role, the records hold only events (texts for the screen). Earlier records may
          hold items (texts for the model) of that role, which are more reliable.
        """
        item_roles = {message.role for _, message in self._channels[0] if message.content}
        event_roles = {
            m.role for channel in self._channels[1:] for place, m in channel if place > count
        }
        messages = [message for place, message in self._select_messages() if place > count]
        is_incomplete = any(
            m.role == "tool" and m.tool_call_id not in self._names for m in messages
        )
        return None if is_incomplete or event_roles - item_roles else messages

    @property
    def count(self) -> int:
        return self._count

    def session(self, source: TranscriptSource, title: str, when: datetime) -> Session:
        meta, messages = self.meta or Payload(), self._select_messages()
        parent = parent_of(meta)
        facts = {
            "git_branch": meta.git.branch if meta.git else "",
            "tool_version": meta.cli_version,
            "compactions": [
                sum(place < boundary for place, _ in messages) for boundary in self._boundaries
            ],
            "subagent": bool(parent),
        }
        session = Session(
            source.id,
            title=title or self.title or self.request_title.text,
            created_at=self.first or when,
            updated_at=jsonl_transcripts.time_of(self.stamp) or self.last or when,
            working_dir=meta.cwd or "",
            model=self.model,
            agent=CodexBridge.tool,
            kind="chat",
            parent_id=parent or meta.forked_from_id or "",
            total_prompt_tokens=self.usage.input_tokens or 0,
            total_completion_tokens=self.usage.output_tokens or 0,
            native=[native_entry(CodexBridge.tool, source.id, source.path)],
            metadata={name: value for name, value in facts.items() if value},
        )
        session.messages = [message for _, message in messages]
        return session


_indexes: dict[str, tuple[tuple[int, int], dict[str, str]]] = {}
"""The cached titles of each index file, with the time and size of the file.

All bridges share the cache, because each conversation is read with a new bridge.
"""


class CodexBridge:
    """The reader of Codex's sessions. `home` is the folder of Codex or its archived copy."""

    tool: ClassVar[str] = "codex"

    def __init__(self, home: str | None = None) -> None:
        self.home: str = home or own_home(self.tool)

    def sources(self) -> Iterator[TranscriptSource]:
        """Yield the newest transcript (rollout) of each conversation.

        If a rollout exists both compressed and uncompressed, yield the uncompressed file.
        """
        for rollouts in self._rollouts().values():
            yield rollouts[-1]

    def is_transcript_of(self, id: str, path: str) -> bool:
        stem, _, ending = jsonl_transcripts.plain(os.path.basename(path)).partition(".jsonl")
        return bool(id) and f"-{id}" in stem and ending in ("", ".zst")

    def glance(self, source: TranscriptSource) -> Glance:
        """Return the title, folder, times and model of a session, from both ends of its file.

        A compressed transcript (rollout) is read only at its beginning.
        """
        fd = open_file(source.path)
        try:
            when = datetime.fromtimestamp(os.fstat(fd).st_mtime, UTC)
            if source.path.endswith(_COMPRESSED):
                head, tail = _compressed_head(source.path), list[RolloutLine]()
            else:
                ends = jsonl_transcripts.Ends(fd, RolloutLine)
                head = ends.head(
                    lambda line: bool(first_line(_request(line))),
                    lambda line: bool(describe_request(_request(line))),
                )
                tail = ends.tail(lambda line: jsonl_transcripts.time_of(line.timestamp) is not None)
        finally:
            os.close(fd)
        lines = [*head, *tail]
        meta = next((line.body for line in lines if line.is_meta), Payload())
        dated = [time for line in lines if (time := jsonl_transcripts.time_of(line.timestamp))]
        thread_name = jsonl_transcripts.last(
            line.body.thread_name for line in lines if line.type == "event_msg"
        )
        request_title = RequestTitle()
        for line in head:
            request_title.add(_request(line))
        return Glance(
            self._names().get(source.id) or thread_name or request_title.text,
            meta.cwd or "",
            dated[0] if dated else None,
            dated[-1] if tail and dated else when,
            jsonl_transcripts.last(
                line.body.model for line in lines if line.type == "turn_context"
            ),
            (meta.git.branch if meta.git else "") or "",
            meta.cli_version or "",
        )

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """Return the whole session, with its sub-agents and the damage in its files.

        Tool results of more than `longest` characters are cut to their beginning and end. Files
        are read line by line, so memory use does not grow with the size of a file.
        """
        damages: list[Damage] = []
        session, spawned = self._decode(source, longest, damages)
        side: list[Session] = []
        seen = {source.id}
        while spawned:
            id = spawned.pop(0)
            rollouts = self._rollouts().get(id) if id not in seen else None
            seen.add(id)
            if rollouts:
                part, more = self._decode(rollouts[-1], longest, damages)
                side.append(part)
                spawned += more
        return DecodedTranscript(session, damages, side)

    def follow(self, source: TranscriptSource, lately: NewLines) -> MessageDelta | None:
        """Return the messages of the new lines in `lately`.

        The result is None if the caller must decode the whole transcript instead.
        """
        part, lines, before, count = (
            _CodexTranscript(None),
            jsonl_transcripts.JsonLines(RolloutLine),
            RolloutLine(),
            0,
        )
        agents: set[str] = set()
        for number, line in lines.read([lately.before + lately.after]):
            place = lately.first + number - 2 if line.ordinal is None else line.ordinal
            new = lately.first + number > lately.new
            if new and (line.is_meta or line.body.type == "thread_rolled_back"):
                return None
            if not (line.type == "response_item" and line == before):
                part.add(line, place, source.id)
            if not new:
                count, agents = part.count, set(part.spawned)
            before = line
        new = None if lines.damages or part.spawned.keys() - agents else part.messages_after(count)
        return None if new is None else MessageDelta((), new, lately.mark, part.model)

    def beside(self, source: TranscriptSource) -> None:
        """Return None: cortext does not know the files of the sub-agents.

        Only `decode` can find the sub-agents of a Codex session.
        """

    def _decode(
        self, source: TranscriptSource, longest: int | None, damages: list[Damage]
    ) -> tuple[Session, list[str]]:
        """Return the session in one transcript, and the ids of the sub-agents that it started.

        The damage in the file is added to `damages`.
        """
        when = datetime.fromtimestamp(os.stat(source.path).st_mtime, UTC)
        transcript = _CodexTranscript(longest)
        self._read(transcript, source, None, damages, set())
        name = self._names().get(source.id, "")
        return transcript.session(source, name, when), list(transcript.spawned)

    def _read(
        self,
        transcript: _CodexTranscript,
        source: TranscriptSource,
        end: int | None,
        damages: list[Damage],
        seen: set[str],
    ) -> None:
        """Add the records of the rollout (transcript file) `source` to `transcript`.

        If `source` continues another rollout at some record, the records of the other rollout
        before that record are added too. `end` is the position of the first record to leave out, or
        None to add all records. `seen` holds the paths of the rollouts that were read already.
        Damage is added to `damages`.
        """
        seen.add(source.path)
        lines, id = jsonl_transcripts.JsonLines(RolloutLine, source.path), source.id
        has_base, before = False, RolloutLine()
        for number, line in lines.read(rollout_blocks(source.path, damages)):
            place = line.ordinal
            if place is None:
                place = number - 1
            if end is not None and place >= end:
                break
            is_item = line.type == "response_item"
            if is_item and line == before:
                detail = "the line repeats the record before it"
                damages.append(Damage(detail, number, False, source.path))
                continue
            before = line
            transcript.add(line, place, id)
            if is_item or has_base or not line.is_meta:
                continue
            if base := line.body.history_base:
                has_base = True
                self._read_base(transcript, base, source, damages, seen)
        damages += lines.damages

    def _read_base(
        self,
        transcript: _CodexTranscript,
        base: Base,
        source: TranscriptSource,
        damages: list[Damage],
        seen: set[str],
    ) -> None:
        rollouts = [s for s in self._rollouts().get(base.thread_id, []) if s.path not in seen]
        if not rollouts:
            detail = f"the session continues {base.thread_id}, which is missing"
            damages.append(Damage(detail, path=source.path))
            return
        last, stamp = transcript.last, transcript.stamp
        self._read(transcript, rollouts[-1], base.end_ordinal_exclusive, damages, seen)
        transcript.last, transcript.stamp, transcript.title = last, stamp, ""
        transcript.request_title = RequestTitle()

    def _rollouts(self) -> dict[str, list[TranscriptSource]]:
        """Return the transcripts (rollouts) of each conversation by id, the oldest file first."""
        rollouts: dict[str, list[TranscriptSource]] = {}
        entries = chain.from_iterable(
            _walk(os.path.join(self.home, name)) for name in ("archived_sessions", "sessions")
        )
        plain: set[str] = set()
        for entry in sorted(entries, key=lambda entry: entry.name):  # uncompressed files first
            name = _NAME.fullmatch(entry.name)
            bare = jsonl_transcripts.plain(entry.path).removesuffix(_COMPRESSED)
            if name and bare not in plain:
                plain.add(bare)
                for source in jsonl_transcripts.source(self.tool, name[1], entry):
                    rollouts.setdefault(source.id, []).append(source)
        return rollouts

    def _names(self) -> dict[str, str]:
        """Return the titles that users gave to sessions, by session id.

        The titles are in the index file of Codex. If the file has several titles for a session, the
        last title is used.
        """
        path = os.path.join(self.home, "session_index.jsonl")
        try:
            stat = os.stat(path)
            fingerprint = (stat.st_mtime_ns, stat.st_size)
            if path not in _indexes or _indexes[path][0] != fingerprint:
                entries = [
                    entry
                    for _, entry in jsonl_transcripts.JsonLines(ThreadIndexEntry).read(
                        jsonl_transcripts.read_blocks(path)
                    )
                ]
                names = {e.id: e.thread_name.strip() for e in entries if e.thread_name.strip()}
                _indexes[path] = fingerprint, names
        except FileNotFoundError:
            return {}
        except OSError as error:
            warn("skipped %s: %s", path, reason_of(error))
            return {}
        return _indexes[path][1]


def is_subagent(source: TranscriptSource) -> bool:
    """Return whether the first line of a transcript says that a sub-agent wrote the transcript.

    A compressed transcript is not read, and the result is False.
    """
    if source.path.endswith(_COMPRESSED):
        return False
    head = _first_line_of(source.path)
    # Most first lines name no parent session, and need not be decoded.
    return b"parent_thread_id" in head and bool(parent_of(_decode_meta(head)))


def read_meta(path: str) -> Payload:
    """Return the first record of a transcript, which says to which session it belongs.

    If the first line is no such record, the result has no values.
    """
    if path.endswith(_COMPRESSED):
        return next((line.body for line in _compressed_head(path)[:1] if line.is_meta), Payload())
    return _decode_meta(_first_line_of(path))


def _first_line_of(path: str) -> bytes:
    head = b""
    for most in jsonl_transcripts.ENDS:
        head, end, _ = jsonl_transcripts.read_head(path, most).partition(b"\n")
        if end or len(head) < most:
            break
    return head


def _decode_meta(first_line: bytes) -> Payload:
    lines = jsonl_transcripts.JsonLines(RolloutLine).read([first_line])
    return next((line.body for _, line in lines if line.is_meta), Payload())


def _request(line: RolloutLine) -> str:
    """Return the user's request in a line, or "" if the line has no message of the user."""
    body, content = line.body, None
    if line.type == "event_msg":
        if body.item and body.item.type == "UserMessage":
            content = body.item.content
        elif body.type == "user_message":
            content = body.message
    elif body.role == "user":
        content = body.content
    text = text_of(content, "user")
    return "" if text.startswith(_SHELL) else request_of(text)


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    for entry in jsonl_transcripts.listed(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        else:
            yield entry


def _compressed_head(path: str) -> list[RolloutLine]:
    """Return the first lines of a compressed transcript, from about its first 256 KiB."""
    data = b""
    try:
        for block in rollout_blocks(path, []):
            data += block
            if len(data) >= jsonl_transcripts.ENDS[2]:
                break
    except SessionStorageError as error:
        warn("%s", error)
    return [
        line
        for _, line in jsonl_transcripts.JsonLines(RolloutLine).read(
            [data[: data.rfind(b"\n") + 1]]
        )
    ]


def rollout_blocks(path: str, damages: list[Damage]) -> Iterator[bytes]:
    """Yield the bytes of a transcript in blocks, decompressed if necessary.

    Damage in a compressed file is added to `damages`. Raises SessionStorageError if the program
    `zstd` is needed and not installed.
    """
    if not path.endswith(_COMPRESSED):
        yield from jsonl_transcripts.read_blocks(path, damages)
        return
    import subprocess

    fd = open_file(path)
    try:
        program = subprocess.Popen(
            ["zstd", "-dcq"], stdin=fd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise SessionStorageError(
            f"{path} is compressed, and the program zstd is not installed",
            path=path,
            hint="install zstd, or open the conversation once in Codex",
        ) from None
    finally:
        os.close(fd)
    with program:
        try:
            while program.stdout and (block := program.stdout.read(jsonl_transcripts.BLOCK)):
                yield block
            program.wait()
        finally:
            program.kill()  # needed if the caller wanted only the beginning
    if program.returncode > 0:
        damages.append(Damage("the compressed file is damaged or incomplete", path=path))
