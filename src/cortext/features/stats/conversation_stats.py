"""What one conversation adds to the statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.errors import CortextError, SessionNotFoundError, reason_of
from cortext.features.listing.load_row import read
from cortext.features.stats.prices import recorded_cost
from cortext.formats.record_lines import Damage
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tokens import Tokens, tokens_of

UNKNOWN = "not recorded"
_APART = {AUR: "spawn", DOCUMENT: "programs"}
_LONGEST_RESULT = 200
"""Characters of what a tool gave back: nothing of it is counted but that it was there."""


class Part(NamedTuple):
    """Hours and weekdays (0 is Monday) are those of the person's own messages; days are of the
    person's calendar. Without `tokens` there is no session to read; `damage` says what is wrong."""

    tool: str = UNKNOWN
    model: str = UNKNOWN
    messages: int = 0
    exchanges: int = 0
    days: Mapping[date, int] = Counter()
    hours: Mapping[int, int] = Counter()
    weekdays: Mapping[int, int] = Counter()
    tokens: Tokens | None = None
    recorded_usd: float | None = None
    damage: str = ""


def uncounted(row: ConversationRow, damage: str = "") -> Part:
    """Of a conversation that is not read, or cannot be: that it is there."""
    return Part(_APART.get(row.tool, row.tool) or UNKNOWN, damage=damage)


def count(row: ConversationRow, since: datetime | None = None) -> Part:
    """Read a conversation and count it, as far as it can be read."""
    if not row.status:
        return uncounted(row)
    try:
        session, damages = read(row, _LONGEST_RESULT)
    except SessionNotFoundError:
        return uncounted(row)
    except CortextError as error:
        return uncounted(row, str(error))
    except OSError as error:
        return uncounted(row, f"{row.path}: {reason_of(error)}")
    messages = session.messages
    if since is not None:
        messages = [message for message in messages if message.timestamp >= since]
    return _when(messages)._replace(
        tool=uncounted(row).tool if row.tool else _had_in(session),
        model=session.model or UNKNOWN,
        messages=len(messages),
        tokens=tokens_of(session, messages),
        recorded_usd=recorded_cost(session, messages),
        damage=_worst(damages),
    )


def _when(messages: Sequence[SessionMessage]) -> Part:
    exchanges = 0
    days, hours, weekdays = Counter[date](), Counter[int](), Counter[int]()
    for message in messages:
        asked = message.role == "user"
        exchanges += asked
        try:
            at = message.timestamp.astimezone()
        except (OverflowError, ValueError):
            continue  # a time at the end of the calendar has no local one
        days[at.date()] += 1
        if asked:
            hours[at.hour] += 1
            weekdays[at.weekday()] += 1
    return Part(exchanges=exchanges, days=days, hours=hours, weekdays=weekdays)


def _worst(damages: Sequence[Damage]) -> str:
    bad = next((damage for damage in damages if damage.fatal), None)
    if bad is None:
        return ""
    where = bad.path if bad.line is None else f"{bad.path}, line {bad.line}"
    return f"{where}: {bad.detail}"


def _had_in(session: Session) -> str:
    """The tools that a conversation was had in, so that the parts add up to the whole."""
    names = {str(native["tool"]) for native in session.native if native.get("tool")}
    return " + ".join(sorted(names)) or session.agent or UNKNOWN
