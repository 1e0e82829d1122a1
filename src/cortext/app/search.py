"""Finding what was said, wherever it was said: in workspaces, in the tools, in `aur spawn`, and in
what programs keep.

This module is imported by every search, so what reads transcripts is imported when one is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cortext import paths
from cortext.app.conversations import EVERYTHING, Conversations, Wanted, filtered
from cortext.app.indexing import AUR, Refreshed, refresh
from cortext.durability.read import open_file, read_file, read_range
from cortext.errors import CortextError
from cortext.formats.query import Query, Snippet, parse, snippet
from cortext.index.listed import Listed
from cortext.index.words import DOCUMENT, SIDE, TITLE, Identity, Spot, Words
from cortext.stores import layout

if TYPE_CHECKING:
    from cortext.app.reading import Read

PATIENCE = 1.0
"""Seconds that a search reads what is new before it answers."""
_PAGE = 100
_MORE = 4
"""How many times more are looked at each time that too few of them were wanted."""
_MOST = 10_000
"""Places that are looked at."""
_LONGEST = 2.0
"""Seconds for which that goes on."""
_WITH_SIGNS = 200
"""Texts that are read to see whether they have the signs that were typed too."""
_REST = "from cortext.app.search import read_all; read_all()"


class Hit(NamedTuple):
    """A text with the words: which conversation, who said it and when, and the piece of it."""

    row: Listed
    number: int
    role: str
    time: int
    snippet: Snippet


class Narrow(NamedTuple):
    """Which texts are wanted, beside `Wanted`: until when, below which folder, said by whom."""

    since: int | None = None
    until: int | None = None
    folder: str = ""
    role: str = ""

    def takes(self, spot: Spot) -> bool:
        return (
            (self.since is None or spot.time >= self.since)
            and (self.until is None or spot.time < self.until)
            and (not self.role or spot.role == self.role)
        )


class Spots(NamedTuple):
    """What was found, the newest first, and whether there may be more."""

    found: list[Spot]
    more: bool


class Search:
    """One look at everything that is listed; several questions can be asked of it."""

    def __init__(self, words: Words | None = None) -> None:
        self._words = words or Words.at_home()
        self._conversations = Conversations(paths.workspace_root(), everywhere=True)
        self.rows: list[Listed] = self._conversations.list().rows

    def refresh(
        self,
        *,
        patience: float | None = PATIENCE,
        progress: Callable[[int, int], None] | None = None,
    ) -> Refreshed:
        """Read what is new. The first time all of it, however long that takes; later what there is
        no time for is read in the background."""
        if self._words.is_stale:
            self._words.discard()
        # An index that is not on the disk is always the first.
        first = not self._words.lock or not self._words.known_any()
        found = refresh(
            self._words, self.rows, patience=None if first else patience, progress=progress
        )
        if found.left and not found.why:
            _read_the_rest()
        return found

    def find(
        self,
        text: str,
        wanted: Wanted = EVERYTHING,
        narrow: Narrow | None = None,
        *,
        most: int = 20,
    ) -> list[Hit]:
        """The newest texts that have what was typed; if it has signs, those that have them too come
        first."""
        query, narrow = parse(text), narrow or Narrow()
        if not query:
            return []
        rows = self._all_rows
        if wanted != EVERYTHING or narrow.folder:
            rows = {r.identity: r for r in below(filtered(self.rows, wanted), narrow.folder)}
        return list(_hits(self._spots(query, rows, narrow, most).found[:most], rows, query))

    @cached_property
    def _all_rows(self) -> dict[Identity, Listed]:
        return {row.identity: row for row in self.rows}

    def _spots(
        self,
        query: Query,
        rows: dict[Identity, Listed],
        narrow: Narrow,
        most: int,
        each: int = 0,
    ) -> Spots:
        """So many of the newest, as `find` has them, or somewhat more. With `each`, only so many of
        a conversation count, and where it has more the rest of them is passed over."""
        found: list[Spot] = []
        counts: dict[Identity, int] = {}
        before: int | None = None
        page, end = _PAGE * (2 if each else 1), time.monotonic() + _LONGEST
        enough = max(most, _WITH_SIGNS) if query.signs and not each else most
        while True:
            spots = self._words.find(query.expression, before=before, most=page)
            for spot in spots:
                if spot.identity in rows and narrow.takes(spot):
                    found.append(spot)
                    counts[spot.identity] = counts.get(spot.identity, 0) + 1
            count = sum(min(n, each) for n in counts.values()) if each else len(found)
            ended = len(spots) < page
            if ended or count >= enough or len(found) >= _MOST or time.monotonic() > end:
                break
            last = spots[-1]
            if each and not query.signs and counts.get(last.identity, 0) > each:
                before = last.run
            else:
                before, page = last.id, page * _MORE
        found.sort(key=lambda spot: spot.time, reverse=True)
        return Spots(_with_signs(found, rows, query) if query.signs else found, more=not ended)


def _with_signs(spots: Sequence[Spot], rows: dict[Identity, Listed], query: Query) -> list[Spot]:
    """Those first that have what was typed to the letter."""
    texts, end = Texts(), time.monotonic() + _LONGEST
    have: list[Spot] = []
    others: list[Spot] = []
    for number, spot in enumerate(spots):
        looked = number < _WITH_SIGNS and time.monotonic() < end
        has = looked and query.is_in(texts.of(rows[spot.identity], spot))
        (have if has else others).append(spot)
    return have + others


def below(rows: Sequence[Listed], folder: str) -> Sequence[Listed]:
    """Those that were had in a folder or below it; "" is anywhere."""
    if not folder:
        return rows
    start = f"{os.path.abspath(folder).rstrip('/')}/"
    return [row for row in rows if f"{row.had_in or row.cwd}/".startswith(start)]


def _hits(spots: Sequence[Spot], rows: dict[Identity, Listed], query: Query) -> Iterator[Hit]:
    texts = Texts()
    for spot in spots:
        row = rows[spot.identity]
        text = texts.of(row, spot)
        yield Hit(row, spot.number, spot.role, spot.time, snippet(text, query.terms))


class Texts:
    """The texts of spots, read from where they stand. Transcripts are read once."""

    def __init__(self) -> None:
        self._read: dict[Identity, Read] = {}

    def of(self, row: Listed, spot: Spot) -> str:
        """What stands there now; "" if it cannot be read."""
        try:
            if spot.number == TITLE:
                return f"{row.title}\n{row.summary}".strip()
            if spot.number == DOCUMENT:
                name = layout.document_in(row.place.folder)
                return read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")
            return _at(row, spot) if spot.size else self._whole(row, spot.number)
        except (OSError, CortextError):
            return ""

    def _whole(self, row: Listed, number: int) -> str:
        from cortext.app.new_texts import side_text
        from cortext.app.reading import read_all

        found = self._read.get(row.identity)
        if found is None:
            found = self._read[row.identity] = read_all(row)
        if number == SIDE:
            return side_text(found.side)
        messages = found.session.messages
        return messages[number - 1].content if number <= len(messages) else ""


def _at(row: Listed, spot: Spot) -> str:
    is_log = row.tool == AUR
    fd = open_file(row.path if is_log else row.place.lines)
    try:
        at = spot.at + (_first_line_end(fd) if is_log else 0)
        data = read_range(fd, at, at + spot.size)
    finally:
        os.close(fd)
    return _content(data, is_log=is_log)


def _first_line_end(fd: int) -> int:
    from cortext.app.new_texts import first_line_end

    return first_line_end(fd)


def _content(line: bytes, *, is_log: bool) -> str:
    """What a message says. Nearly every line is plain JSON, for which nothing large is loaded."""
    import json

    try:
        content = json.loads(line)["content"]
    except (ValueError, KeyError, TypeError, RecursionError):
        content = None
    if isinstance(content, str):
        return content
    from cortext.formats.folder import FOLDER
    from cortext.formats.log import LOG
    from cortext.formats.records import decode_lines

    found = decode_lines(line + b"\n", (LOG if is_log else FOLDER).records).messages
    return found[0].content if found else ""


def _read_the_rest() -> None:
    """Without anybody waiting for it. In CI nothing goes on after a command."""
    from cortext.app.background import start_detached

    if not os.environ.get("CI"):
        start_detached("-c", _REST)


def read_all() -> None:
    """Bring the index up to date with everything that there is."""
    Search().refresh(patience=None)
