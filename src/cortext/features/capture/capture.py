"""Capture: what was said in the tools, taken into the conversation that it belongs to.

Messages keep the ids that the bridge derives from the tool's own, so taking them twice changes
nothing. What was taken stays, also where the tool went back and took another way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from msgspec import structs

from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import side_dir, storage_errors
from cortext.errors import CortextError, where_and_why
from cortext.features.capture import capture_progress
from cortext.features.capture.bindings import Bound, Entry, begins, is_sound, within
from cortext.features.capture.capture_progress import Point, Progress, key_of
from cortext.features.capture.consent import may_take
from cortext.features.capture.ledger import OUT, Taken, Took, add_taken, print_of, session_of
from cortext.features.capture.reconcile import Copies, ToolTranscript, changes, rewriting
from cortext.features.capture.session_facts import (
    TranscriptFacts,
    facts_of,
    facts_of_new,
    note_facts,
)
from cortext.features.capture.transcript_reader import read_new_messages, transcript_at
from cortext.features.capture.transcripts import find_transcript, is_own
from cortext.formats.folder import FOLDER
from cortext.formats.record_lines import decode_lines, in_time_order
from cortext.model import record_dicts
from cortext.model.message import SessionMessage
from cortext.stores.workspace_layout import ConversationPath, conversations_dir
from cortext.tools.incremental import FilePosition, Follows, FollowsRows, mark_of
from cortext.tools.protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool
from cortext.workspace.inactivity import REASON
from cortext.workspace.workspace import Workspace

_STOPPING = "/workspace.stop-conversation"


class Captured(NamedTuple):
    """How many messages are new, and what a person should know about it."""

    new: int = 0
    notes: Sequence[str] = ()


def capture(root: str, place: ConversationPath, *, whole: bool = False) -> Captured:
    """Take what is new in the tool sessions of a conversation into it.

    `whole` reads all of them, whatever is known of them, and also takes what was said after the
    conversation was stopped; else that waits until the person says more.
    """
    if not Workspace(root).store.head_at(place).native:
        return Captured()
    locks = f"{side_dir(conversations_dir(root))}/locks"
    lock = FileLock(f"{locks}/{place.day}~{place.name}.capture.lock", guards=place.folder)
    with storage_errors("write", place.session), lock:
        return _Capture(Workspace(root), place, whole=whole).run()


class _Capture:
    """One capture, under its lock."""

    def __init__(self, workspace: Workspace, place: ConversationPath, *, whole: bool) -> None:
        self._workspace, self._place, self._whole = workspace, place, whole
        self._head = workspace.store.head_at(place)
        self._notes: list[str] = []
        if any(entry.get("pid") for entry in self._head.native):
            self._settle()
        named = [entry for entry in self._head.native if entry.get("session_id")]
        self._entries = [entry for entry in named if is_sound(entry)]
        if len(self._entries) < len(named):
            self._notes.append(f"{place.head}: an entry of `native` is of no tool that we know")
        self._points: dict[str, Point] = {}
        self._before: dict[str, Point] = {}
        self._facts: list[tuple[Entry, TranscriptFacts]] = []
        self._of = f"{self._head.id} {record_dicts.iso(self._head.created_at)}"
        self._sessions: dict[str, str] = {}  # of messages, by their ids

    def _settle(self) -> None:
        from cortext.features.capture.pending_bindings import settle_by_time, unsettled

        try:
            bound = Bound(self._workspace.root, self._place)
            settle_by_time(bound)
            self._notes += unsettled(bound)
        except (KeyError, TypeError, ValueError):
            self._notes.append(f"{self._place.head}: an entry of `native` cannot be read")
        self._head = self._workspace.store.head_at(self._place)

    def run(self) -> Captured:
        if not self._entries:
            return Captured(0, self._notes)
        known = capture_progress.load(self._place)
        self._before = known.points if known else {}
        known = None if self._whole else known
        news = [self._follow(entry, known) for entry in self._entries] if known else [None]
        if known is None or None in news:
            return self._reconcile()
        recent = set(known.recent)
        new = [m for each in news for m in each or () if m.id not in recent]
        if self._waits(new):
            return Captured(0, self._notes)
        done = self._finish(known, new)
        note_facts(self._workspace, self._place, self._facts)
        return done

    def _follow(self, entry: Entry, known: Progress) -> Sequence[SessionMessage] | None:
        """What was said in one session since; None if all of it has to be read."""
        point = known.points.get(key_of(entry))
        if point and (entry.get("to") or (point.mark is None and not self._may_be_here(entry))):
            return ()  # it was read to its end, or is on another machine
        try:
            news = _news(entry, point.mark, set(known.recent)) if point and point.mark else None
        except (OSError, CortextError):
            return None  # reading all of it says what is wrong
        if point is None or news is None:
            return None
        said, mark = news
        if said and point.last and said[0].timestamp < point.last:
            return None  # where time goes back, something else happened than a next turn
        new = _rising(said, point.last)
        last = new[-1].timestamp if new else point.last
        own = new if point.begun else within(entry, new)
        self._points[key_of(entry)] = Point(mark, last, point.begun or bool(own))
        self._sessions |= dict.fromkeys((m.id for m in own), session_of(entry))
        if any(message.role == "assistant" for message in own):
            self._facts.append((entry, facts_of_new(entry, self._head, own)))
        return own

    def _may_be_here(self, entry: Entry) -> bool:
        """Whether a session without a transcript may have one by now: the latest of the open
        ones, which may be the one that is going on, or one whose file is there."""
        latest = [each for each in self._entries if not each.get("to")][-1]
        path = str(entry.get("path") or "")
        return entry is latest or (is_own(str(entry["tool"]), path) and os.path.exists(path))

    def _reconcile(self) -> Captured:
        """Compare all that was said with all that is there."""
        stored = decode_lines(read_file(self._place.lines), FOLDER.records).messages
        taken = Taken(self._place, self._of)
        there = {message.id for message in stored}
        reads = [r for e in self._entries if (r := self._read(e, taken, bool(stored)))]
        out = [id for id in taken.found if id not in there]
        new = _new(reads, stored, {*there, *out})
        if self._waits(new):
            return Captured(0, self._notes)
        if changed := changes(taken, stored, reads):
            self._workspace.store.rewrite_at(self._place, rewriting(changed))
        self._remember(taken, stored)
        times = [message.timestamp for message in stored]
        recent = [*out[-100:], *(m.id for m in stored[-100:])]
        known = Progress(last=max(times, default=None), recent=recent)
        done = self._finish(known, new, ordered=in_time_order(stored))
        note_facts(self._workspace, self._place, self._facts)
        return done

    def _remember(self, taken: Taken, stored: Sequence[SessionMessage]) -> None:
        """Write down what is there and was not known to be, and what a person took out."""
        found = [
            Took(message.id, session, print_of(message))
            for message in stored
            if message.id not in taken.found and (session := self._sessions.get(message.id))
        ]
        there = {message.id for message in stored}
        gone = [took for id, took in taken.found.items() if id not in there and took.print != OUT]
        if gone:
            self._notes.append(
                f"what was taken out of messages.jsonl stays out of it ({len(gone)} messages)"
            )
        add_taken(self._place, self._of, [*found, *(took._replace(print=OUT) for took in gone)])

    def _read(self, entry: Entry, taken: Taken, some: bool) -> ToolTranscript | None:
        """All that one session has of the conversation; what cannot be read is said."""
        tool, id = str(entry["tool"]), str(entry["session_id"])
        try:
            path = str(entry.get("path") or "")
            found = find_transcript(tool, id, path, search=self._whole)
            if found is None:
                ended = entry.get("to") and key_of(entry) in self._before
                if not ended and (session_of(entry) in taken.sessions or not some):
                    self._notes.append(f"the {tool} session {id} has no transcript any more")
                self._points[key_of(entry)] = Point(None)
                return None
            if not may_take(self._workspace.root, self._place, tool, id, path):
                self._notes.append(
                    f"the {tool} session {id} was had elsewhere, and is not bound here: it is left"
                )
                return None
            bridge, source = found
            mark = _mark(bridge, source)
            decoded = bridge.decode(source)
        except (OSError, CortextError) as error:
            self._notes.append(f"the {tool} session {id} could not be read: {where_and_why(error)}")
            return None
        self._notes += [f"{d.path or source.path}: {d.detail}" for d in decoded.damages if d.fatal]
        messages = _rising(decoded.session.messages, None)
        own = within(entry, messages)
        if mark:
            last = messages[-1].timestamp if messages else None
            begun = begins(entry, messages) is not None
            self._points[key_of(entry)] = Point(mark, last, begun)
        self._facts.append((entry, facts_of(decoded.session, own, source.path)))
        self._sessions |= dict.fromkeys((m.id for m in own), session_of(entry))
        return ToolTranscript(
            session_of(entry),
            own,
            [m.id for m in messages],
            not any(d.fatal for d in decoded.damages),
        )

    def _waits(self, new: Sequence[SessionMessage]) -> bool:
        """Whether what is new is to wait: the conversation was stopped, perhaps committed, and
        all that came since is how that was said."""
        by_itself = self._head.status == "paused" and self._head.stop_reason == REASON
        going_on = self._head.status == "active" or by_itself
        return not (self._whole or going_on or _goes_on(new))

    def _finish(
        self, known: Progress, new: list[SessionMessage], *, ordered: bool = True
    ) -> Captured:
        """Append what is new, in the order of time, and remember how far that was."""
        new.sort(key=attrgetter("timestamp"))
        if new:
            self._workspace.store.append(Bound(self._workspace.root, self._place).path, *new)
            took = [Took(m.id, self._sessions.get(m.id, ""), print_of(m)) for m in new]
            add_taken(self._place, self._of, took)
            if not ordered or (known.last and new[0].timestamp < known.last):
                self._workspace.store.sort_at(self._place)
            if self._head.status == "paused" and not self._whole:
                self._workspace.reactivate(self._place, reopen=False)
            known.last = max(filter(None, (known.last, new[-1].timestamp)))
            known.remember(message.id for message in new)
        known.points |= self._points
        capture_progress.store(self._place, known)
        return Captured(len(new), self._notes)


def _mark(bridge: Bridge, source: TranscriptSource) -> FilePosition | None:
    """How far a session goes now, if its bridge can go on from there."""
    if isinstance(bridge, FollowsRows):
        return bridge.latest(source)
    return mark_of(source.path) if isinstance(bridge, Follows) else None


def _news(
    entry: Entry, mark: FilePosition, known: set[str]
) -> tuple[Sequence[SessionMessage], FilePosition] | None:
    """What was said since a mark, and the next one; None where all has to be read."""
    tool, id, path = (str(entry.get(name) or "") for name in ("tool", "session_id", "path"))
    found = transcript_at(tool, id, path)
    changed = read_new_messages(*found, mark) if found else None
    if changed is None:
        return None
    said = [*changed.again, *changed.new]
    if find_tool(tool).has_databases:
        if any(m.id in known and m.role != "user" for m in said):
            return None  # there is more of something that is captured
        said = [m for m in said if m.id not in known]
    return said, changed.mark


def _new(
    reads: Sequence[ToolTranscript], stored: Sequence[SessionMessage], known: set[str]
) -> list[SessionMessage]:
    """What was said and is not known, but for copies of what another session has."""
    several = len({read.session for read in reads}) > 1
    new: dict[str, SessionMessage] = {}
    for read in reads:
        own = set(read.live)
        others = [m for m in (*stored, *new.values()) if several and m.id not in own]
        copies = Copies(others)
        fresh = [m for m in read.own if m.id not in known and m.id not in new]
        new |= {m.id: m for m in fresh if not copies.take(m)}
    return list(new.values())


def _rising(messages: Iterable[SessionMessage], last: datetime | None) -> list[SessionMessage]:
    """Messages with times that never go back: a result may have a later one than what follows."""
    made: list[SessionMessage] = []
    for message in messages:
        if last and message.timestamp < last:
            message = structs.replace(message, timestamp=last)
        made.append(message)
        last = message.timestamp
    return made


def _goes_on(new: Sequence[SessionMessage]) -> bool:
    """Whether a person says more than that this is the end."""
    from cortext.model.closing_phrases import is_closing

    for place, message in enumerate(new):
        said = message.content.lstrip()
        if message.role != "user" or said.startswith(_STOPPING) or is_closing(said):
            continue
        # What the tool does itself, as `/exit`, is no word to the agent.
        if not said.startswith(("/", "!")) or _is_answered(new[place + 1 :]):
            return True
    return False


def _is_answered(later: Sequence[SessionMessage]) -> bool:
    return next((m.role for m in later if m.role != "system"), "") in ("assistant", "tool")
