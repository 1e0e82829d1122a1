"""Selection of the messages that an agent gets when the whole history is too long.

An exchange is a message of the user, with everything up to the user's next message. The first
message of the user and the latest exchanges are always included. The newest of the other exchanges
fill the rest of the budget, which is a number of characters. Each omitted exchange is replaced by a
note: a line with the command that shows the exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise, starmap

import msgspec

from cortext.formats.history_in_order import HistoryPart, Show, history, is_abandoned
from cortext.formats.history_text import (
    Left,
    Past,
    escape,
    render_history,
    render_record,
    render_text,
)
from cortext.formats.tool_call_arguments import one_line
from cortext.model.session import Session

BUDGET = 200_000
LEAST = 4_000
"""The smallest budget in characters. A smaller budget is raised to this number."""
_LATEST = 3  # the number of latest exchanges that are always included
_REQUEST = 100  # the number of characters of an omitted request that its note quotes
_MOST_NOTES = _LATEST + 2  # the maximum number of notes among the parts that are always included

Record = Past | Left
Placed = tuple[int, Record]  # an index into the list of parts, and the record for that part


class View(msgspec.Struct, frozen=True):
    """The selected messages of a history.

    `records` has the selected messages, and notes about omitted messages. `messages` is the number
    of the session's messages that are not omitted.
    """

    records: list[Record]
    messages: int


def render_briefing_history(
    session: Session, *, nonce: str, show: Show, budget: int = BUDGET
) -> str:
    """Return the history of a session as text of at most `budget` characters.

    A budget below `LEAST` counts as `LEAST`. `nonce` is a new random text that starts the first
    line of each message. `show` returns the command that shows the message with a given number.
    """
    view = window(history(session, show, live=True), nonce=nonce, show=show, budget=budget)
    total = len(session.messages) - sum(map(is_abandoned, session.messages))
    return render_history(view.records, nonce, shown=view.messages, total=total)


def window(parts: Sequence[HistoryPart], *, nonce: str, show: Show, budget: int = BUDGET) -> View:
    """Select the parts of a history that an agent gets, with at most `budget` characters in total.

    The caller will write the random text `nonce` into the first line of each part. This function
    uses only the length of `nonce`. `show` returns the command that shows the message with a given
    number.
    """
    total = sum(part.messages for part in parts)
    page = _BudgetedHistory(parts, nonce, show)
    room = max(budget, LEAST) - len(render_history([], nonce, shown=total, total=total + 1))
    if page.size(range(len(parts)), room) <= room:
        return View([part.past for part in parts], total)
    pinned, others = _exchanges(parts)
    records = page.fit_pinned(pinned, room - min(sum(map(page.note_size, others)), room // 4))
    room -= sum(page.measure(record) for _, record in records)
    selected = page.select_newest(others, room)
    for exchange in selected:
        records += [(place, parts[place].past) for place in exchange]
        room -= page.size(exchange, room)
    records += page.describe_omitted(
        [exchange for exchange in others if exchange not in selected], room
    )
    records.sort(key=lambda placed: placed[0])
    shown = {place for place, record in records if isinstance(record, Past)}
    return View([record for _, record in records], sum(parts[place].messages for place in shown))


def _exchanges(parts: Sequence[HistoryPart]) -> tuple[list[int], list[range]]:
    """Separate the parts that are always included from the other exchanges.

    The first result has the indexes of the parts that are always included: the user's first message
    and the latest exchanges. The second result has the other exchanges, the oldest first. Each of
    them is a range of indexes into `parts`.
    """
    requests = [place for place, part in enumerate(parts) if part.role == "user"]
    if not requests:
        return list(range(len(parts))), []
    first, latest = requests[0], requests[-_LATEST:][0]
    others = [range(first)] if first else []
    if latest > first:
        others += starmap(range, pairwise([first + 1, *requests[1 : 1 - _LATEST]]))
    return sorted({first, *range(latest, len(parts))}), [
        exchange for exchange in others if exchange
    ]


class _BudgetedHistory:
    """The parts of a history, with methods that measure and shorten parts and write notes.

    A note describes omitted parts. In all methods, `places` are indexes into `parts`, and `room` is
    a number of characters.
    """

    def __init__(self, parts: Sequence[HistoryPart], nonce: str, show: Show) -> None:
        self.parts, self.nonce, self.show = parts, nonce, show
        last = parts[-1].number if parts else 1
        self.longest_note = self.measure(Left("x" * (_REQUEST + 60) + show(last)))
        self.longest_header = self.measure(Past("assistant", datetime.max.replace(tzinfo=UTC), ""))
        self.shortest_header = self.measure(Past("user", datetime.min.replace(tzinfo=UTC), ""))
        # The smallest size of a shortened message.
        self.least = 2 * self.longest_header + self.longest_note + 100

    def measure(self, record: Record) -> int:
        return len(render_record(record, self.nonce)) + 1

    def note_size(self, exchange: range) -> int:
        """Estimate the number of characters of the note that replaces an omitted exchange."""
        return self.longest_note - max(_REQUEST - self.parts[exchange[0]].least, 0)

    def size(self, places: Sequence[int], enough: int) -> int:
        """Return the number of characters of the parts at the indexes `places`.

        If a quick estimate is already more than `enough`, return the estimate instead. The real
        number is never lower than the estimate.
        """
        least = len(places) * self.shortest_header + sum(
            [self.parts[place].least for place in places]
        )
        if least > enough:
            return least
        return sum([self.measure(self.parts[place].past) for place in places])

    def fit_pinned(self, places: Sequence[int], room: int) -> list[Placed]:
        """Return the parts that are always included, shortened to `room` characters.

        First, the longest texts lose their middle. If that is not enough, notes replace the least
        important parts (see `_by_importance`).
        """
        if self.size(places, room) <= room:
            return [(place, self.parts[place].past) for place in places]
        room -= _MOST_NOTES * self.longest_note
        sizes: dict[int, int] = {}
        needed = 0
        for place in self._by_importance(places):
            size = self.size((place,), room)
            needed += min(size, self.least)
            if needed > room:
                break
            sizes[place] = size
        longest = _size_limit(sorted(sizes.values()), room)
        records: list[Placed] = []
        for is_included, group in groupby(places, sizes.__contains__):
            run = list(group)
            if not is_included:
                records.append((run[0], self._note_for(run)))
                continue
            for place in run:
                part = self.parts[place]
                part_records = (
                    [part.past] if sizes[place] <= longest else self._shorten(part, longest)
                )
                records += [(place, record) for record in part_records]
        return records

    def select_newest(self, others: Sequence[range], room: int) -> set[range]:
        """Return the newest of the exchanges `others` that fit into `room` characters.

        The notes about the omitted exchanges must fit too. The search begins with the newest
        exchange. It skips very long exchanges, and ends at the first shorter exchange that does not
        fit.
        """
        selected, most = set[range](), max(room // 2, self.longest_note)
        notes_size = sum(map(self.note_size, others))
        for exchange in reversed(others):
            line = self.note_size(exchange)
            space = room - min(notes_size - line, most)
            size = self.size(exchange, space)
            if size <= space:
                selected.add(exchange)
                room, notes_size = room - size, notes_size - line
            elif size <= most // 4:
                break
        return selected

    def describe_omitted(self, omitted: Sequence[range], room: int) -> list[Placed]:
        """Return a note for each omitted exchange, with about `room` characters in total.

        If there are too many exchanges, the exchanges in the middle get one common note.
        """
        first, last = 0, len(omitted)
        records: list[Placed] = []
        while first < last:
            front = first <= len(omitted) - last
            exchange = omitted[first if front else last - 1]
            record = self._note_for(exchange)
            room -= self.measure(record)
            if room < (self.longest_note if last - first > 1 else 0):
                break
            records.append((exchange[0], record))
            first, last = (first + 1, last) if front else (first, last - 1)
        if first < last:
            start, end = self._number(omitted[first][0]), self._number(omitted[last - 1][-1])
            between = f"{last - first:,} more requests between messages {start} and {end}"
            records.append((omitted[first][0], Left(f"{between}: {self.show(start)}")))
        return records

    def _by_importance(self, places: Sequence[int]) -> list[int]:
        """Return the indexes `places` in the order of importance, the most important first.

        The order is: the user's latest message, the user's first message, the user's other
        messages, and then all other parts. Within a group, newer parts come first.
        """
        newest = list(reversed(places))
        requests = [place for place in newest if self.parts[place].role == "user"]
        return list(dict.fromkeys((*requests[:1], *requests[-1:], *requests, *newest)))

    def _note_for(self, places: Sequence[int]) -> Left:
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

    def _shorten(self, part: HistoryPart, longest: int) -> list[Record]:
        """Shorten a message to `longest` characters.

        The result has three records: the beginning of the message, a note, and the end of the
        message. The note says how many characters are omitted.
        """
        text, past = part.past.text, part.past
        half = (longest - 2 * self.longest_header - self.longest_note) // 2
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


def _size_limit(sizes: Sequence[int], room: int) -> int:
    """Return the size to which large items must be cut, so that all items fit into `room`.

    `sizes` has the sizes of the items, the smallest first. Items of at most this size are not cut.
    """
    for place, size in enumerate(sizes):
        share = room // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)
