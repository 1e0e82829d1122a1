"""Selection of the messages that an agent gets when the whole history is too long.

An exchange is a message of the user with everything up to the next one. The first message of the
user and the latest exchanges are always included. The newest other exchanges fill the rest of the
budget. For each omitted exchange, a line has the command that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise, starmap
from typing import NamedTuple

from cortext.formats.briefing import (
    Left,
    Past,
    escape,
    render_history,
    render_record,
    render_text,
)
from cortext.formats.message_history import HistoryPart, Show, history, is_abandoned
from cortext.formats.tool_inputs import one_line
from cortext.model.session import Session

BUDGET = 200_000
LEAST = 4_000
"""The smallest budget in characters. A smaller budget counts as this one."""
_LATEST = 3  # the number of latest exchanges that are always included
_REQUEST = 100  # characters shown of a request that is left out
_HOLES = _LATEST + 2  # the most lines for omitted messages among those always included

Record = Past | Left
Placed = tuple[int, Record]  # the index of the part that the record shows, and the record


class View(NamedTuple):
    """The selected part of a history: messages, and lines for omitted messages, in order.

    `messages` is the number of messages of the session that `records` contains.
    """

    records: list[Record]
    messages: int


def render_briefing_history(
    session: Session, *, nonce: str, show: Show, budget: int = BUDGET
) -> str:
    """Return the history of a session as text of at most `budget` characters.

    A budget below `LEAST` counts as `LEAST`. `nonce` is a new random text that marks the lines
    between messages. `show` returns the command that shows the message with a given number.
    """
    view = window(history(session, show, live=True), nonce=nonce, show=show, budget=budget)
    total = len(session.messages) - sum(map(is_abandoned, session.messages))
    return render_history(view.records, nonce, shown=view.messages, total=total)


def window(parts: Sequence[HistoryPart], *, nonce: str, show: Show, budget: int = BUDGET) -> View:
    """Select the parts of a history whose text has at most `budget` characters in total.

    `show` returns the command that shows the message with a given number.
    """
    total = sum(part.messages for part in parts)
    page = _BudgetedHistory(parts, nonce, show)
    room = max(budget, LEAST) - len(render_history([], nonce, shown=total, total=total + 1))
    if page.size(range(len(parts)), room) <= room:
        return View([part.past for part in parts], total)
    pinned, others = _exchanges(parts)
    records = page.pinned(pinned, room - min(sum(map(page.line_of, others)), room // 4))
    room -= sum(page.measure(record) for _, record in records)
    kept = page.fill(others, room)
    for exchange in kept:
        records += [(place, parts[place].past) for place in exchange]
        room -= page.size(exchange, room)
    records += page.lines([exchange for exchange in others if exchange not in kept], room)
    records.sort(key=lambda placed: placed[0])
    told = {place for place, record in records if isinstance(record, Past)}
    return View([record for _, record in records], sum(parts[place].messages for place in told))


def _exchanges(parts: Sequence[HistoryPart]) -> tuple[list[int], list[range]]:
    """Return the indexes of the parts that are always included, and the other exchanges.

    Each exchange is a range of indexes. The oldest exchange is the first.
    """
    asked = [place for place, part in enumerate(parts) if part.role == "user"]
    if not asked:
        return list(range(len(parts))), []
    first, latest = asked[0], asked[-_LATEST:][0]
    others = [range(first)] if first else []
    if latest > first:
        others += starmap(range, pairwise([first + 1, *asked[1 : 1 - _LATEST]]))
    return sorted({first, *range(latest, len(parts))}), [found for found in others if found]


class _BudgetedHistory:
    """A history whose parts are measured, shortened and replaced by lines until they fit."""

    def __init__(self, parts: Sequence[HistoryPart], nonce: str, show: Show) -> None:
        self.parts, self.nonce, self.show = parts, nonce, show
        last = parts[-1].number if parts else 1
        self.line = self.measure(Left("x" * (_REQUEST + 60) + show(last)))  # our longest line
        self.head = self.measure(Past("assistant", datetime.max.replace(tzinfo=UTC), ""))
        self.thin = self.measure(Past("user", datetime.min.replace(tzinfo=UTC), ""))
        self.least = 2 * self.head + self.line + 100  # the smallest size of a shortened message

    def measure(self, record: Record) -> int:
        return len(render_record(record, self.nonce)) + 1

    def line_of(self, exchange: range) -> int:
        """Estimate the number of characters of the line that replaces an omitted exchange."""
        return self.line - max(_REQUEST - self.parts[exchange[0]].least, 0)

    def size(self, places: Sequence[int], enough: int) -> int:
        """Return the number of characters of the parts at the indexes `places`.

        If the number exceeds `enough`, the result may be any smaller number above `enough`.
        """
        least = len(places) * self.thin + sum([self.parts[place].least for place in places])
        if least > enough:
            return least
        return sum([self.measure(self.parts[place].past) for place in places])

    def pinned(self, places: Sequence[int], room: int) -> list[Placed]:
        """Return the parts that are always included, shortened to `room` characters.

        First, the middle of the longest texts is left out. If that is not enough, only the user's
        messages and the newest other parts remain.
        """
        if self.size(places, room) <= room:
            return [(place, self.parts[place].past) for place in places]
        room -= _HOLES * self.line
        sizes: dict[int, int] = {}
        taken = 0
        for place in self._by_importance(places):
            size = self.size((place,), room)
            taken += min(size, self.least)
            if taken > room:
                break
            sizes[place] = size
        longest = _level(sorted(sizes.values()), room)
        records: list[Placed] = []
        for stays, group in groupby(places, sizes.__contains__):
            run = list(group)
            if not stays:
                records.append((run[0], self._left(run)))
                continue
            for place in run:
                part = self.parts[place]
                told = [part.past] if sizes[place] <= longest else self._cut(part, longest)
                records += [(place, record) for record in told]
        return records

    def fill(self, others: Sequence[range], room: int) -> set[range]:
        """Return the newest exchanges that fit into `room` characters.

        Lines for the omitted exchanges must fit too. The search stops at the first exchange that
        does not fit, but skips a very long exchange.
        """
        kept, most = set[range](), max(room // 2, self.line)
        left = sum(map(self.line_of, others))
        for exchange in reversed(others):
            line = self.line_of(exchange)
            space = room - min(left - line, most)
            size = self.size(exchange, space)
            if size <= space:
                kept.add(exchange)
                room, left = room - size, left - line
            elif size <= most // 4:
                break
        return kept

    def lines(self, left: Sequence[range], room: int) -> list[Placed]:
        """Return a line for each omitted exchange, in at most about `room` characters.

        If there are too many exchanges, those in the middle share one line.
        """
        first, last = 0, len(left)
        records: list[Placed] = []
        while first < last:
            front = first <= len(left) - last
            exchange = left[first if front else last - 1]
            record = self._left(exchange)
            room -= self.measure(record)
            if room < (self.line if last - first > 1 else 0):
                break
            records.append((exchange[0], record))
            first, last = (first + 1, last) if front else (first, last - 1)
        if first < last:
            start, end = self._number(left[first][0]), self._number(left[last - 1][-1])
            between = f"{last - first:,} more requests between messages {start} and {end}"
            records.append((left[first][0], Left(f"{between}: {self.show(start)}")))
        return records

    def _by_importance(self, places: Sequence[int]) -> list[int]:
        """Return the indexes of the parts, the most important first.

        The order is: the user's latest message, the first, the other ones, then the newest parts.
        """
        newest = list(reversed(places))
        asked = [place for place in newest if self.parts[place].role == "user"]
        return list(dict.fromkeys((*asked[:1], *asked[-1:], *asked, *newest)))

    def _left(self, places: Sequence[int]) -> Left:
        first, start, end = self.parts[places[0]], *map(self._number, (places[0], places[-1]))
        count = sum(self.parts[place].messages for place in places)
        if first.role == "user":
            rest = f" and {count - 1:,} after it" if count > 1 else ""
            what = f'message {start}{rest}, "{_beginning(first.past.text)}"'
        elif not count:
            what = f"tool calls of message {start}"
        else:
            what = f"messages {start} to {end}" if start < end else f"message {start}"
        return Left(f"{what}: {self.show(start)}")

    def _cut(self, part: HistoryPart, longest: int) -> list[Record]:
        """Shorten a message to `longest` characters: its beginning, a line, and its end.

        The line says how many characters are left out.
        """
        text, past = part.past.text, part.past
        half = (longest - 2 * self.head - self.line) // 2
        head = tail = min(half, len(text))  # a rendered character has a length of at least one
        while (size := len(render_text(text[:head]))) > half:
            head = min(head * half // size, head * 15 // 16)
        while (size := len(render_text(text[len(text) - tail :]))) > half:
            tail = min(tail * half // size, tail * 15 // 16)
        words = f"{len(text) - head - tail:,} characters of message {part.number}"
        return [
            past._replace(text=text[:head]),
            Left(f"{words}: {self.show(part.number)}"),
            past._replace(text=text[len(text) - tail :]),
        ]

    def _number(self, place: int) -> int:
        return self.parts[place].number


def _beginning(text: str) -> str:
    """Return the first words of a user's message, without hidden characters."""
    words = one_line(text, _REQUEST)
    return words if escape(words) == words else "".join(c for c in words if escape(c) == c)


def _level(sizes: Sequence[int], room: int) -> int:
    """Return the largest size of an item for which all items together fit into `room`.

    Larger items must be cut to this size. `sizes` must be sorted.
    """
    for place, size in enumerate(sizes):
        share = room // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)
