"""Count the messages, days and tokens of conversations for `cortext stats`.

Standalone sessions, which belong to no workspace, can be long. A thread therefore counts them in
the background, the latest first. It reads a session again only after the session has changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

import msgspec
from msgspec.structs import replace

from cortext.catalog.fulltext.fulltext_rows import Identity
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.errors import CortextError, SessionNotFoundError, reason_of
from cortext.features.listing.session_of_row import read
from cortext.features.search.conversation_change_fingerprint import fingerprint_of
from cortext.features.usage.recorded_cost import recorded_cost
from cortext.formats.message_lines import Damage
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.token_count import TokenCount, tokens_of
from cortext.model.tool_binding import bindings_of

UNKNOWN = "not recorded"
_STANDALONE_NAMES = {AUR: "spawn", DOCUMENT: "programs"}
_LONGEST_RESULT = 200
"""The number of characters of a tool result that are read. The rest is not needed for counts."""


class ConversationCount(msgspec.Struct, frozen=True):
    """The statistics of one conversation.

    An exchange is a user message with everything up to the next user message. `days` has the number
    of messages on each local date. `hours` has the number of user messages in each hour of the day,
    and `weekdays` on each day of the week (0 is Monday). `tokens` is None if there is no session to
    read. `recorded_usd` is the cost that the tool recorded, or None. `damage` describes the
    unreadable part of the session, or is "".
    """

    tool: str = UNKNOWN
    model: str = UNKNOWN
    messages: int = 0
    exchanges: int = 0
    days: Mapping[date, int] = Counter()
    hours: Mapping[int, int] = Counter()
    weekdays: Mapping[int, int] = Counter()
    tokens: TokenCount | None = None
    recorded_usd: float | None = None
    damage: str = ""


def empty_count(row: ConversationRow, damage: str = "") -> ConversationCount:
    """Return the statistics of a conversation that was not read: only its tool is known.

    `damage` says why the conversation cannot be read.
    """
    return ConversationCount(_STANDALONE_NAMES.get(row.tool, row.tool) or UNKNOWN, damage=damage)


def count_conversation(row: ConversationRow, since: datetime | None = None) -> ConversationCount:
    """Read a conversation and return its statistics.

    If `since` is given, count only messages from that time on. Damaged parts are left out.
    """
    if not row.status:
        return empty_count(row)
    try:
        session, damages = read(row, _LONGEST_RESULT)
    except SessionNotFoundError:
        return empty_count(row)
    except CortextError as error:
        return empty_count(row, str(error))
    except OSError as error:
        return empty_count(row, f"{row.path}: {reason_of(error)}")
    messages = session.messages
    if since is not None:
        messages = [message for message in messages if message.timestamp >= since]
    return replace(
        _count_times(messages),
        tool=empty_count(row).tool if row.tool else _tools_of(session),
        model=session.model or UNKNOWN,
        messages=len(messages),
        tokens=tokens_of(session, messages),
        recorded_usd=recorded_cost(session, messages),
        damage=_describe_damage(damages),
    )


def _count_times(messages: Sequence[SessionMessage]) -> ConversationCount:
    exchanges = 0
    days, hours, weekdays = Counter[date](), Counter[int](), Counter[int]()
    for message in messages:
        asked = message.role == "user"
        exchanges += asked
        try:
            at = message.timestamp.astimezone()
        except (OverflowError, ValueError):
            continue  # a time at the end of the calendar has no local time
        days[at.date()] += 1
        if asked:
            hours[at.hour] += 1
            weekdays[at.weekday()] += 1
    return ConversationCount(exchanges=exchanges, days=days, hours=hours, weekdays=weekdays)


def _describe_damage(damages: Sequence[Damage]) -> str:
    bad = next((damage for damage in damages if damage.fatal), None)
    if bad is None:
        return ""
    where = bad.path if bad.line is None else f"{bad.path}, line {bad.line}"
    return f"{where}: {bad.detail}"


def _tools_of(session: Session) -> str:
    """Return the tools of a conversation as one name, such as "A + B".

    So each conversation counts for exactly one name, and the numbers by tool add up to the total.
    """
    names = {binding.tool for binding in bindings_of(session) if binding.tool}
    return " + ".join(sorted(names)) or session.agent or UNKNOWN


class KnownCounts(msgspec.Struct, frozen=True):
    """The statistics of standalone sessions, which belong to no workspace.

    `parts` has the statistics of each session. `unread` is the number of sessions that are not read
    yet. The statistics of these sessions are still empty.
    """

    parts: list[tuple[ConversationRow, ConversationCount]]
    unread: int


class StandaloneCounts:
    """Counts the messages, days and tokens of standalone sessions, which belong to no workspace.

    A background thread reads the sessions. The methods can be called from any thread.
    """

    def __init__(self) -> None:
        self._known: dict[Identity, tuple[str, ConversationCount]] = {}
        """The fingerprint of each session when it was read, and its numbers."""
        self._thread: threading.Thread | None = None

    @property
    def goes_on(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def catch_up(self, rows: Sequence[ConversationRow], patience: float) -> None:
        """Start a thread that reads the changed sessions. Wait for it at most `patience` seconds.

        `rows` are all standalone sessions. The known statistics of any other session are dropped.
        If an earlier thread is still reading, only wait for that thread.
        """
        if not self.goes_on:
            current = {row.identity for row in rows}
            self._known = {key: count for key, count in self._known.items() if key in current}
            new = [
                row
                for row in rows
                if self._known.get(row.identity, ("",))[0] != fingerprint_of(row)
            ]
            if not new:
                return
            new.sort(key=lambda row: row.last_active, reverse=True)
            self._thread = threading.Thread(
                target=self._read, args=(new,), name="cortext-counts", daemon=True
            )
            self._thread.start()
        if self._thread is not None:
            self._thread.join(patience)

    def of(self, rows: Sequence[ConversationRow]) -> KnownCounts:
        known = dict(self._known)  # a snapshot, because the thread may add to it
        parts = [(row, known.get(row.identity, ("", empty_count(row)))[1]) for row in rows]
        return KnownCounts(parts, sum(row.identity not in known for row in rows))

    def _read(self, rows: Iterable[ConversationRow]) -> None:
        for row in rows:
            # Take the fingerprint first, so that a later change is noticed next time.
            self._known[row.identity] = fingerprint_of(row), count_conversation(row)
