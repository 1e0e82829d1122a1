"""Capture: copy new messages of the tools' sessions into their conversation.

Messages keep the ids that the reader derives from the tool's own ids, so a second capture changes
nothing. A captured message stays, even if the user goes back in the tool and takes another branch.

A capture reads each transcript from the position where the last capture ended. If that is not
possible, it reads the whole transcripts and reconciles them with the stored messages.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from msgspec import structs

from cortext.catalog.row import ConversationRow
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import side_dir, storage_errors
from cortext.errors import CortextError, where_and_why
from cortext.features.capture.bindings import (
    ConversationRef,
    bound_messages,
    find_start,
    is_sound,
    row_of,
)
from cortext.features.capture.capture_state import (
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
from cortext.features.capture.consent import may_capture
from cortext.features.capture.pending_bindings import describe_pending, resolve_pending_by_content
from cortext.features.capture.reconcile import (
    Copies,
    Ledger,
    ToolTranscript,
    apply_changes,
    find_changes,
)
from cortext.features.capture.session_facts import (
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
from cortext.formats.record_lines import decode_lines, in_time_order
from cortext.model.closing_phrases import is_closing
from cortext.model.message import SessionMessage
from cortext.model.tool_binding import ToolBinding, bindings_of
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath, conversations_dir
from cortext.tools.new_messages import FilePosition, Follows, FollowsRows, MessageDelta, mark_of
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool
from cortext.workspace.inactivity import REASON
from cortext.workspace.workspace import Workspace

_log = logging.getLogger("cortext.features")
_STOPPING = "/workspace.stop-conversation"


class Captured(NamedTuple):
    """The result of a capture: the number of new messages, and notes for the user."""

    new: int = 0
    notes: Sequence[str] = ()


def capture(root: str, place: ConversationPath, *, whole: bool = False) -> Captured:
    """Copy new messages of the bound tool sessions into a conversation.

    If `whole` is true, the whole sessions are read. Then messages from after the conversation was
    stopped are captured too. Otherwise, such messages wait until the user continues.
    """
    if not FolderStore(root).head_at(place).native:
        return Captured()
    locks = f"{side_dir(conversations_dir(root))}/locks"
    lock = FileLock(f"{locks}/{place.day}~{place.name}.capture.lock", guards=place.folder)
    with storage_errors("write", place.session), lock:
        return _Capture(ConversationRef(root, place), whole=whole).run()


def capture_pending(row: ConversationRow) -> ConversationRow:
    """Capture new messages before a conversation is shown, and return its new row.

    A failure is only logged, because the stored messages can still be shown.
    """
    if row.tool or not row.status:
        return row
    try:
        if not capture(row.workspace, row.place).new:
            return row
        return structs.replace(row_of(ConversationRef(row.workspace, row.place)), key=row.key)
    except (OSError, CortextError) as error:
        _log.info("new messages of %s were not captured: %s", row.key, error)
        return row


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
                f"{self._place.head}: an entry of `native` is of no tool that we know"
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
        news = [self._follow(each, known) for each in self._bindings] if known else [None]
        if known is None or None in news:
            return self._reconcile()
        recent = set(known.recent)
        new = [m for each in news for m in each or () if m.id not in recent]
        if self._must_wait(new):
            return Captured(0, self._notes)
        done = self._finish(known, new)
        note_facts(self._ref.root, self._place, self._facts)
        return done

    def _follow(self, binding: ToolBinding, known: Progress) -> Sequence[SessionMessage] | None:
        """Return the new messages of one bound session, or None if all of it must be read.

        `known` is the progress of the last capture.
        """
        point = known.points.get(point_key(binding))
        if point and (
            not binding.is_open or (point.mark is None and not self._may_be_here(binding))
        ):
            return ()  # the session was read to its end, or is on another machine
        try:
            news = (
                _read_news(binding, point.mark, set(known.recent)) if point and point.mark else None
            )
        except (OSError, CortextError):
            return None  # the read of the whole session reports the error
        if point is None or news is None:
            return None
        said = news.new
        if said and point.last and said[0].timestamp < point.last:
            return None  # times go backwards, so these may not be the next messages
        new = _with_rising_times(said, point.last)
        last = new[-1].timestamp if new else point.last
        own = new if point.begun else bound_messages(binding, new)
        self._points[point_key(binding)] = Point(news.mark, last, point.begun or bool(own))
        self._sessions |= dict.fromkeys((m.id for m in own), binding.label)
        if any(message.role == "assistant" for message in own):
            self._facts.append((binding, facts_of_messages(binding, self._head, own, news.model)))
        return own

    def _may_be_here(self, binding: ToolBinding) -> bool:
        """Return whether a session that had no transcript on this machine may have one now.

        The result is True for the latest open session, and for a session whose file exists.
        """
        latest = [each for each in self._bindings if each.is_open][-1]
        return binding is latest or (
            is_own(binding.tool, binding.path) and os.path.exists(binding.path)
        )

    def _reconcile(self) -> Captured:
        """Read all bound sessions completely, and update the stored messages from them."""
        stored = decode_lines(read_file(self._place.lines), FOLDER.records).messages
        ledger = self._ledger.read()
        there = {message.id for message in stored}
        reads = [r for b in self._bindings if (r := self._read(b, ledger, bool(stored)))]
        removed = [id for id in ledger if id not in there]
        new = _find_new(reads, stored, {*there, *removed})
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
        """Add the stored messages of bound sessions that the ledger lacks.

        Mark messages in the ledger as removed if the user removed them from the conversation.
        """
        found = [
            CapturedMessage(message.id, session, message_fingerprint(message))
            for message in stored
            if message.id not in ledger and (session := self._sessions.get(message.id))
        ]
        there = {message.id for message in stored}
        gone = [
            captured
            for id, captured in ledger.items()
            if id not in there and captured.fingerprint != REMOVED
        ]
        if gone:
            self._notes.append(
                f"what was taken out of messages.jsonl stays out of it ({len(gone)} messages)"
            )
        self._ledger.add([*found, *(each._replace(fingerprint=REMOVED) for each in gone)])

    def _read(self, binding: ToolBinding, ledger: Ledger, some: bool) -> ToolTranscript | None:
        """Read one bound session, or return None and add a note with the reason.

        `some` is whether the conversation has stored messages.
        """
        tool, id = binding.tool, binding.session_id
        try:
            found = find_transcript(tool, id, binding.path, search=self._whole)
            if found is None:
                ended = not binding.is_open and point_key(binding) in self._before
                captured = any(each.session == binding.label for each in ledger.values())
                if not ended and (captured or not some):
                    self._notes.append(f"the {tool} session {id} has no transcript any more")
                self._points[point_key(binding)] = Point(None)
                return None
            if not may_capture(self._ref.root, self._place, tool, id, binding.path):
                self._notes.append(
                    f"the {tool} session {id} was had elsewhere, and is not bound here: it is left"
                )
                return None
            bridge, source = found
            mark = _current_mark(bridge, source)
            decoded = bridge.decode(source)
        except (OSError, CortextError) as error:
            self._notes.append(f"the {tool} session {id} could not be read: {where_and_why(error)}")
            return None
        self._notes += [f"{d.path or source.path}: {d.detail}" for d in decoded.damages if d.fatal]
        messages = _with_rising_times(decoded.session.messages, None)
        own = bound_messages(binding, messages)
        if mark:
            last = messages[-1].timestamp if messages else None
            begun = find_start(binding, messages) is not None
            self._points[point_key(binding)] = Point(mark, last, begun)
        self._facts.append((binding, facts_of_session(decoded.session, own, source.path)))
        self._sessions |= dict.fromkeys((m.id for m in own), binding.label)
        return ToolTranscript(
            binding.label,
            own,
            [m.id for m in messages],
            not any(d.fatal for d in decoded.damages),
        )

    def _must_wait(self, new: Sequence[SessionMessage]) -> bool:
        """Return whether new messages must wait, because the conversation was stopped.

        They wait until they contain a new request of the user.
        """
        paused_as_idle = self._head.status == "paused" and self._head.stop_reason == REASON
        continues = self._head.status == "active" or paused_as_idle
        return not (self._whole or continues or _has_new_request(new))

    def _finish(
        self, known: Progress, new: list[SessionMessage], *, ordered: bool = True
    ) -> Captured:
        """Append new messages in the order of their times, and store the progress.

        `ordered` is whether the stored messages are in time order.
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


def _current_mark(bridge: Bridge, source: TranscriptSource) -> FilePosition | None:
    """Return the position at the end of a transcript, or None if its reader cannot use one."""
    if isinstance(bridge, FollowsRows):
        return bridge.latest(source)
    return mark_of(source.path) if isinstance(bridge, Follows) else None


def _read_news(binding: ToolBinding, mark: FilePosition, known: set[str]) -> MessageDelta | None:
    """Return the messages after the position `mark`, or None if a full read is needed.

    `known` holds the ids of messages that were captured recently.
    """
    found = transcript_at(binding.tool, binding.session_id, binding.path)
    changed = read_new_messages(*found, mark) if found else None
    if changed is None:
        return None
    said = [*changed.again, *changed.new]
    if find_tool(binding.tool).has_databases:
        if any(m.id in known and m.role != "user" for m in said):
            return None  # a captured message has changed
        said = [m for m in said if m.id not in known]
    return changed._replace(again=(), new=said)


def _find_new(
    reads: Sequence[ToolTranscript], stored: Sequence[SessionMessage], known: set[str]
) -> list[SessionMessage]:
    """Return the messages whose ids are not in `known`.

    Copies of messages of other sessions are left out. A tool makes such copies in a fork.
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
    """Return the messages with times that never go backwards, starting at `last`.

    In a transcript, a tool result may have a later time than the messages after it.
    """
    made: list[SessionMessage] = []
    for message in messages:
        if last and message.timestamp < last:
            message = structs.replace(message, timestamp=last)
        made.append(message)
        last = message.timestamp
    return made


def _has_new_request(new: Sequence[SessionMessage]) -> bool:
    """Return whether the user sent a request, other than a command or phrase to stop."""
    for place, message in enumerate(new):
        said = message.content.lstrip()
        if message.role != "user" or said.startswith(_STOPPING) or is_closing(said):
            continue
        # A command that the tool itself handles, such as `/exit`, is not a request.
        if not said.startswith(("/", "!")) or _is_answered(new[place + 1 :]):
            return True
    return False


def _is_answered(later: Sequence[SessionMessage]) -> bool:
    return next((m.role for m in later if m.role != "system"), "") in ("assistant", "tool")
