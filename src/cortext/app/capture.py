"""Capture: what was said in the tools, taken into the conversation that it belongs to.

Messages keep the ids that the bridge derives from the tool's own, so taking them twice changes
nothing. What was taken stays, also where the tool went back and took another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple, cast

from msgspec import structs

from cortext.app import progress
from cortext.app.binding import Bound, Entry, within
from cortext.app.facts import Facts, facts_of, note_facts
from cortext.app.progress import Point, Progress, key_of
from cortext.app.transcripts import find_transcript
from cortext.bridges.port import Bridge, Source
from cortext.bridges.recent import Follows, FollowsRows, Mark, mark_of, since
from cortext.bridges.registry import open_bridge
from cortext.durability.lock import FileLock
from cortext.durability.read import read_file
from cortext.durability.replace import side_dir, storage_errors
from cortext.errors import CortextError
from cortext.formats.folder import FOLDER
from cortext.formats.records import decode_lines, in_time_order
from cortext.lifecycle.workspace import Workspace
from cortext.model import wire
from cortext.model.message import SessionMessage
from cortext.stores.layout import Place, conversations_dir

_STOPPING = "/workspace.stop-conversation"


class Captured(NamedTuple):
    """How many messages are new, and what a person should know about it."""

    new: int = 0
    notes: Sequence[str] = ()


def capture(root: str, place: Place, *, whole: bool = False) -> Captured:
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

    def __init__(self, workspace: Workspace, place: Place, *, whole: bool) -> None:
        self._workspace, self._place, self._whole = workspace, place, whole
        self._head = workspace.store.head_at(place)
        if any(entry.get("pid") for entry in self._head.native):
            self._settle()
        self._entries = [entry for entry in self._head.native if entry.get("session_id")]
        self._points: dict[str, Point] = {}
        self._facts: list[tuple[Entry, Facts]] = []
        self._notes: list[str] = []

    def _settle(self) -> None:
        from cortext.app.waiting import settle_by_time

        settle_by_time(Bound(self._workspace.root, self._place))
        self._head = self._workspace.store.head_at(self._place)

    def run(self) -> Captured:
        if not self._entries:
            return Captured()
        known = None if self._whole else progress.load(self._place)
        news = [self._follow(entry, known) for entry in self._entries] if known else [None]
        if known is None or None in news:
            return self._reconcile()
        recent = set(known.recent)
        new = [m for each in news for m in each or () if m.id not in recent]
        return Captured() if self._waits(new) else self._finish(known, new)

    def _follow(self, entry: Entry, known: Progress) -> list[SessionMessage] | None:
        """What was said in one session since; None if all of it has to be read."""
        point = known.points.get(key_of(entry))
        try:
            found = _news(entry, point.mark, set(known.recent)) if point else None
        except (OSError, CortextError):
            return None  # reading all of it says what is wrong
        if point is None or found is None:
            return None
        said, mark = found
        if said and point.last and said[0].timestamp < point.last:
            return None  # where time goes back, something else happened than a next turn
        new = _rising(said, point.last)
        last = new[-1].timestamp if new else point.last
        self._points[key_of(entry)] = Point(mark, last)
        return within(entry, new)

    def _reconcile(self) -> Captured:
        """Compare all that was said with all that is there."""
        stored = decode_lines(read_file(self._place.lines), FOLDER.records).messages
        said = [m for entry in self._entries for m in self._read(entry)]
        there = {message.id: message for message in stored}
        copies = {_likeness(message) for message in stored}
        unique = {m.id: m for m in said}
        new = [m for m in unique.values() if m.id not in there and not _is_copy(m, copies)]
        if self._waits(new):
            return Captured(0, self._notes)
        grown = {m.id: m for m in unique.values() if m.id in there and _is_more(m, there[m.id])}
        if grown:
            self._workspace.store.rewrite_at(self._place, _replacing(grown))
        times = [message.timestamp for message in stored]
        known = Progress(last=max(times, default=None), recent=[m.id for m in stored[-100:]])
        done = self._finish(known, new, ordered=in_time_order(stored))
        note_facts(self._workspace, self._place, self._facts)
        return done

    def _read(self, entry: Entry) -> list[SessionMessage]:
        """All that one session has of the conversation; what cannot be read is said."""
        tool, id = str(entry["tool"]), str(entry["session_id"])
        try:
            path = str(entry.get("path") or "")
            found = find_transcript(tool, id, path, search=self._whole)
            if found is None:
                self._notes.append(f"the {tool} session {id} has no transcript any more")
                return []
            bridge, source = found
            mark = _mark(bridge, source)
            decoded = bridge.decode(source)
        except (OSError, CortextError) as error:
            self._notes.append(f"the {tool} session {id} could not be read: {error}")
            return []
        self._notes += [f"{d.path or source.path}: {d.detail}" for d in decoded.damages if d.fatal]
        messages = _rising(decoded.session.messages, None)
        if mark:
            last = messages[-1].timestamp if messages else None
            self._points[key_of(entry)] = Point(mark, last)
        kept = within(entry, messages)
        self._facts.append((entry, facts_of(decoded.session, kept, source.path)))
        return kept

    def _waits(self, new: Sequence[SessionMessage]) -> bool:
        """Whether what is new is to wait: the conversation was stopped, perhaps committed, and
        all that came since is how that was said."""
        return not (self._whole or self._head.status == "active" or any(map(_goes_on, new)))

    def _finish(
        self, known: Progress, new: list[SessionMessage], *, ordered: bool = True
    ) -> Captured:
        """Append what is new, in the order of time, and remember how far that was."""
        new.sort(key=attrgetter("timestamp"))
        if new:
            name = self._place.folder[len(self._workspace.root) + 1 :]
            self._workspace.store.append(name, *new)
            if not ordered or (known.last and new[0].timestamp < known.last):
                self._workspace.store.sort_at(self._place)
            if self._head.status == "paused" and not self._whole:
                self._workspace.reactivate(self._place, reopen=False)
            known.last = max(filter(None, (known.last, new[-1].timestamp)))
            known.remember(message.id for message in new)
        known.points |= self._points
        progress.store(self._place, known)
        return Captured(len(new), self._notes)


def _mark(bridge: Bridge, source: Source) -> Mark | None:
    """How far a session goes now, if its bridge can go on from there."""
    if isinstance(bridge, FollowsRows):
        return bridge.latest(source)
    return mark_of(source.path) if isinstance(bridge, Follows) else None


def _news(
    entry: Entry, mark: Mark, known: set[str]
) -> tuple[Sequence[SessionMessage], Mark] | None:
    """What was said since a mark, and the next one; None where all has to be read."""
    tool, id, path = (str(entry.get(name) or "") for name in ("tool", "session_id", "path"))
    if tool == "opencode":
        bridge, source = open_bridge(tool), Source(tool, id, path, 0, "")
    elif found := find_transcript(tool, id, path):
        bridge, source = found
    else:
        return None
    if isinstance(bridge, FollowsRows):
        changed = bridge.changed(source, mark)
        if changed is None or any(m.id in known and m.role != "user" for m in changed[0]):
            return None  # there is more of something that is captured
        return [m for m in changed[0] if m.id not in known], changed[1]
    if not isinstance(bridge, Follows) or (lately := since(path, mark)) is None:
        return None
    said = bridge.follow(source, lately) if lately.after else ()
    return None if said is None else (said, lately.mark)


def _rising(messages: Iterable[SessionMessage], last: datetime | None) -> list[SessionMessage]:
    """Messages with times that never go back: a result may have a later one than what follows."""
    made: list[SessionMessage] = []
    for message in messages:
        if last and message.timestamp < last:
            message = structs.replace(message, timestamp=last)
        made.append(message)
        last = message.timestamp
    return made


def _goes_on(message: SessionMessage) -> bool:
    """Whether a person says more than that this is the end."""
    from cortext.model.closing import is_closing

    if message.role != "user" or message.content.lstrip().startswith(_STOPPING):
        return False
    return not is_closing(message.content)


def _likeness(message: SessionMessage, content: str | None = None) -> tuple[object, ...]:
    """What a message has in common with its copy in a fork: OpenCode gives that another id."""
    calls = tuple(str(call.get("id")) for call in message.tool_calls or ())
    said = message.content if content is None else content
    return message.role, message.timestamp, message.tool_call_id, calls, said


def _is_copy(message: SessionMessage, there: set[tuple[object, ...]]) -> bool:
    """Whether it is there under another id, perhaps without the secrets that were in it."""
    if not there:
        return False
    from cortext.model.secrets import mask_text

    if _likeness(message) in there:
        return True
    return _likeness(message, mask_text(message.content)[0]) in there


def _is_more(said: SessionMessage, there: SessionMessage) -> bool:
    """Whether a message has grown since it was captured: a tool may write it as it is said. One
    that a person, or masking, has changed is left as it is."""
    calls, had = said.tool_calls or [], there.tool_calls or []
    longer = len(said.content) > len(there.content) or len(calls) > len(had)
    return longer and said.content.startswith(there.content) and calls[: len(had)] == had


def _replacing(grown: dict[str, SessionMessage]) -> Callable[[Any], Any]:
    """For `rewrite_at`: the records of these messages anew, all else as it is."""

    def change(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        record = cast("dict[str, Any]", value)
        found = grown.get(str(record.get("id")))
        return {**record, **wire.message_to_dict(found)} if found else record

    return change
