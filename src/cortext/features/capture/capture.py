"""Capture: copy new messages of tool sessions into the conversations that they are bound to.

The id of a captured message is derived from the tool's own id, so a second capture adds nothing. A
captured message stays, even if the user goes back in the tool and takes another branch.

A capture reads each transcript from the position where the last capture ended. If that is not
possible, it reads the whole transcripts and compares them with the stored messages.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from cortext.durability.durable_files import side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionStorageError, file_and_reason, is_temporary
from cortext.features.capture.bindings import (
    ConversationRef,
    bound_messages,
    find_start,
    is_sound,
)
from cortext.features.capture.capture_permission import may_capture
from cortext.features.capture.capture_progress_and_ledger import (
    REMOVED,
    CapturedMessage,
    CaptureLedger,
    Point,
    Progress,
    load_progress,
    message_fingerprint,
    point_key,
    store_progress,
)
from cortext.features.capture.message_reconciliation import (
    Copies,
    Ledger,
    ToolTranscript,
    apply_changes,
    find_changes,
)
from cortext.features.capture.pending_bindings import describe_pending, resolve_pending_by_content
from cortext.features.capture.transcript_metadata import (
    FactsOfBinding,
    facts_of_messages,
    facts_of_session,
    note_facts,
)
from cortext.features.capture.transcripts import (
    find_transcript,
    is_own,
    read_new_messages,
    transcript_at,
)
from cortext.formats.folder import FOLDER
from cortext.formats.message_lines import decode_lines, in_time_order
from cortext.model.closing_phrases import is_closing
from cortext.model.message import SessionMessage
from cortext.model.tool_binding import ToolBinding, bindings_of
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath, conversations_dir
from cortext.tools.new_transcript_lines import (
    FilePosition,
    Follows,
    FollowsRows,
    MessageDelta,
    mark_of,
)
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool
from cortext.workspace.idle_conversations import REASON
from cortext.workspace.workspace import Workspace

_log = logging.getLogger("cortext.features")
_STOP_COMMAND = "/workspace.stop-conversation"


class Captured(NamedTuple):
    """The result of a capture: the number of new messages, and notes for the user."""

    new: int = 0
    notes: Sequence[str] = ()


def capture(root: str, place: ConversationPath, *, whole: bool = False) -> Captured:
    """Copy new messages of the bound tool sessions into a conversation.

    If the user stopped the conversation, new messages are copied only after the user's next request
    in the tool. If `whole` is true, the sessions are read from the beginning, and new messages are
    copied even if the user stopped the conversation.

    If a session cannot be read, the result has a note with the reason. If `whole` is false and the
    error may be temporary, SessionStorageError is raised instead.
    """
    if not FolderStore(root).head_at(place).native:
        return Captured()
    locks = f"{side_dir(conversations_dir(root))}/locks"
    lock = FileLock(f"{locks}/{place.day}~{place.name}.capture.lock", guards=place.folder)
    with storage_errors("write", place.session), lock:
        return _Capture(ConversationRef(root, place), whole=whole).run()


class _Capture:
    """One capture of a conversation. The caller holds the conversation's capture lock."""

    def __init__(self, ref: ConversationRef, *, whole: bool) -> None:
        self._ref, self._place, self._whole = ref, ref.place, whole
        self._store = FolderStore(ref.root)
        self._notes: list[str] = []
        self._head = self._store.head_at(self._place)
        if any(each.is_pending for each in bindings_of(self._head)):
            resolve_pending_by_content(ref)
            self._notes += describe_pending(ref)
            self._head = self._store.head_at(self._place)
        found = bindings_of(self._head)
        self._bindings = [each for each in found if is_sound(each)]
        if any(each.session_id or each.malformed for each in found if not is_sound(each)):
            self._notes.append(
                f"{self._place.head}: an entry in `native` is invalid or names an unknown tool"
            )
        self._points: dict[str, Point] = {}
        self._before: dict[str, Point] = {}
        self._facts: list[FactsOfBinding] = []
        self._ledger = CaptureLedger(self._place, self._head)
        self._sessions: dict[str, str] = {}
        """The label of the tool session that each message comes from, by message id."""

    def run(self) -> Captured:
        if not self._bindings:
            return Captured(0, self._notes)
        known = load_progress(self._place)
        self._before = known.points if known else {}
        known = None if self._whole else known
        deltas = [self._follow(each, known) for each in self._bindings] if known else [None]
        if known is None or None in deltas:
            return self._reconcile()
        recent = set(known.recent)
        new = [m for each in deltas for m in each or () if m.id not in recent]
        if self._must_wait(new):
            return Captured(0, self._notes)
        done = self._finish(known, new)
        note_facts(self._ref.root, self._place, self._facts)
        return done

    def _follow(self, binding: ToolBinding, known: Progress) -> Sequence[SessionMessage] | None:
        """Return the new messages of one bound session, or None if the whole session must be read.

        `known` says how far the last capture read.
        """
        point = known.points.get(point_key(binding))
        if point and (
            not binding.is_open or (point.mark is None and not self._may_have_transcript(binding))
        ):
            return ()  # the session was read to its end, or is on another machine
        try:
            delta = (
                _read_delta(binding, point.mark, set(known.recent))
                if point and point.mark
                else None
            )
        except (OSError, CortextError):
            return None  # the read of the whole session reports the error
        if point is None or delta is None:
            return None
        read = delta.new
        if read and point.last and read[0].timestamp < point.last:
            return None  # times go backwards, so these may not be the next messages
        new = _with_rising_times(read, point.last)
        last = new[-1].timestamp if new else point.last
        own = new if point.begun else bound_messages(binding, new)
        self._points[point_key(binding)] = Point(delta.mark, last, point.begun or bool(own))
        self._sessions |= dict.fromkeys((m.id for m in own), binding.label)
        if any(message.role == "assistant" for message in own):
            self._facts.append((binding, facts_of_messages(binding, self._head, own, delta.model)))
        return own

    def _may_have_transcript(self, binding: ToolBinding) -> bool:
        """Return whether a transcript that was missing before may exist now.

        `binding` is the binding of the transcript's session. The result is True if this is the
        latest open binding, or if the file at `binding.path` exists.
        """
        latest = [each for each in self._bindings if each.is_open][-1]
        return binding is latest or (
            is_own(binding.tool, binding.path) and os.path.exists(binding.path)
        )

    def _reconcile(self) -> Captured:
        """Read all bound sessions completely, and update the stored messages from them."""
        stored = decode_lines(read_file(self._place.lines), FOLDER.records).messages
        ledger = self._ledger.read()
        stored_ids = {message.id for message in stored}
        reads = [r for b in self._bindings if (r := self._read(b, ledger, bool(stored)))]
        removed = [id for id in ledger if id not in stored_ids]
        new = _find_new(reads, stored, {*stored_ids, *removed})
        if self._must_wait(new):
            return Captured(0, self._notes)
        if changed := find_changes(ledger, stored, reads):
            self._store.rewrite_at(self._place, apply_changes(changed))
        self._update_ledger(ledger, stored)
        times = [message.timestamp for message in stored]
        recent = [*removed[-100:], *(m.id for m in stored[-100:])]
        known = Progress(last=max(times, default=None), recent=recent)
        done = self._finish(known, new, ordered=in_time_order(stored))
        note_facts(self._ref.root, self._place, self._facts)
        return done

    def _update_ledger(self, ledger: Ledger, stored: Sequence[SessionMessage]) -> None:
        """Update the ledger (the list of captured messages) from the stored messages.

        If a stored message came from a bound session and is not in the ledger, add the message to
        the ledger. If a message in the ledger is no longer stored, the user removed the message.
        Mark it as removed in the ledger.
        """
        added = [
            CapturedMessage(message.id, session, message_fingerprint(message))
            for message in stored
            if message.id not in ledger and (session := self._sessions.get(message.id))
        ]
        stored_ids = {message.id for message in stored}
        removed = [
            captured
            for id, captured in ledger.items()
            if id not in stored_ids and captured.fingerprint != REMOVED
        ]
        if removed:
            self._notes.append(
                f"messages removed from messages.jsonl are not captured again: {len(removed)}"
            )
        self._ledger.add([*added, *(replace(each, fingerprint=REMOVED) for each in removed)])

    def _read(
        self, binding: ToolBinding, ledger: Ledger, has_messages: bool
    ) -> ToolTranscript | None:
        """Read one bound session, or return None and add a note with the reason.

        `has_messages` says whether the conversation already has messages.
        """
        tool, id = binding.tool, binding.session_id
        try:
            found = find_transcript(tool, id, binding.path, search=self._whole)
            if found is None:
                ended = not binding.is_open and point_key(binding) in self._before
                captured = any(each.session == binding.label for each in ledger.values())
                if not ended and (captured or not has_messages):
                    self._notes.append(f"the transcript of the {tool} session {id} is missing")
                self._points[point_key(binding)] = Point(None)
                return None
            if not may_capture(self._ref.root, self._place, tool, id, binding.path):
                self._notes.append(
                    f"skipped the {tool} session {id}, which took place elsewhere and is not bound"
                )
                return None
            bridge, source = found
            position = _current_position(bridge, source)
            decoded = bridge.decode(source)
        except (OSError, CortextError) as error:
            problem = f"could not read the {tool} session {id}: {file_and_reason(error)}"
            number = getattr(error, "errno", None)
            if not self._whole and is_temporary(number):
                # Without `whole`, callers show no notes.
                raise SessionStorageError(problem, errno=number) from error
            self._notes.append(problem)
            return None
        self._notes += [f"{d.path or source.path}: {d.detail}" for d in decoded.damages if d.fatal]
        messages = _with_rising_times(decoded.session.messages, None)
        own = bound_messages(binding, messages)
        if position:
            last = messages[-1].timestamp if messages else None
            begun = find_start(binding, messages) is not None
            self._points[point_key(binding)] = Point(position, last, begun)
        self._facts.append((binding, facts_of_session(decoded.session, own, source.path)))
        self._sessions |= dict.fromkeys((m.id for m in own), binding.label)
        return ToolTranscript(
            binding.label,
            own,
            [m.id for m in messages],
            not any(d.fatal for d in decoded.damages),
        )

    def _must_wait(self, new: Sequence[SessionMessage]) -> bool:
        """Return whether the messages `new` must not be stored yet.

        If the user stopped the conversation, new messages wait until they contain a new request of
        the user. If the whole sessions are read, they never wait.
        """
        paused_as_idle = self._head.status == "paused" and self._head.stop_reason == REASON
        continues = self._head.status == "active" or paused_as_idle
        return not (self._whole or continues or _has_new_request(new))

    def _finish(
        self, known: Progress, new: list[SessionMessage], *, ordered: bool = True
    ) -> Captured:
        """Append new messages in the order of their times, and store how far the capture read.

        `ordered` says whether the messages that are already stored are in time order.
        """
        new.sort(key=attrgetter("timestamp"))
        if new:
            self._store.append(self._ref.path, *new)
            self._ledger.add(
                CapturedMessage(m.id, self._sessions.get(m.id, ""), message_fingerprint(m))
                for m in new
            )
            if not ordered or (known.last and new[0].timestamp < known.last):
                self._store.sort_at(self._place)
            if self._head.status == "paused" and not self._whole:
                Workspace(self._ref.root).reactivate(self._place, reopen=False)
            known.last = max(filter(None, (known.last, new[-1].timestamp)))
            known.remember(message.id for message in new)
        known.points |= self._points
        store_progress(self._place, known)
        return Captured(len(new), self._notes)


def _current_position(bridge: Bridge, source: TranscriptSource) -> FilePosition | None:
    """Return the position at the end of a transcript, for the next capture.

    The result is None if the reader of the tool cannot continue from a position.
    """
    if isinstance(bridge, FollowsRows):
        return bridge.latest(source)
    return mark_of(source.path) if isinstance(bridge, Follows) else None


def _read_delta(binding: ToolBinding, mark: FilePosition, known: set[str]) -> MessageDelta | None:
    """Return the messages after the position `mark`, or None if the whole session must be read.

    `known` holds the ids of messages that were captured recently.
    """
    found = transcript_at(binding.tool, binding.session_id, binding.path)
    changed = read_new_messages(*found, mark) if found else None
    if changed is None:
        return None
    messages = [*changed.again, *changed.new]
    if find_tool(binding.tool).has_databases:
        if any(m.id in known and m.role != "user" for m in messages):
            return None  # a captured message has changed
        messages = [m for m in messages if m.id not in known]
    return replace(changed, again=(), new=messages)


def _find_new(
    reads: Sequence[ToolTranscript], stored: Sequence[SessionMessage], known: set[str]
) -> list[SessionMessage]:
    """Return the messages in `reads` that are new to the conversation.

    `reads` are the bound tool sessions, `stored` are the messages of the conversation, and `known`
    holds the ids of all captured messages. When the user forks a session, the tool copies old
    messages into the new session. Such copies are left out.
    """
    several = len({read.session for read in reads}) > 1
    new: dict[str, SessionMessage] = {}
    for read in reads:
        own = set(read.live)
        others = [m for m in (*stored, *new.values()) if several and m.id not in own]
        copies = Copies(others)
        fresh = [m for m in read.own if m.id not in known and m.id not in new]
        new |= {m.id: m for m in fresh if not copies.take(m)}
    return list(new.values())


def _with_rising_times(
    messages: Iterable[SessionMessage], last: datetime | None
) -> list[SessionMessage]:
    """Return the messages with changed times, so that no message is older than the one before it.

    In a transcript, a tool result may have a later time than the messages after it. These messages
    get the time of the result. `last` is the time of the message before `messages`, or None.
    """
    result: list[SessionMessage] = []
    for message in messages:
        if last and message.timestamp < last:
            message = structs.replace(message, timestamp=last)
        result.append(message)
        last = message.timestamp
    return result


def _has_new_request(new: Sequence[SessionMessage]) -> bool:
    """Return whether new messages contain a request of the user.

    A command or a phrase that stops the conversation does not count.
    """
    for index, message in enumerate(new):
        text = message.content.lstrip()
        if message.role != "user" or text.startswith(_STOP_COMMAND) or is_closing(text):
            continue
        # A command that the tool itself handles, such as `/exit`, is not a request.
        if not text.startswith(("/", "!")) or _is_answered(new[index + 1 :]):
            return True
    return False


def _is_answered(later: Sequence[SessionMessage]) -> bool:
    return next((m.role for m in later if m.role != "system"), "") in ("assistant", "tool")
