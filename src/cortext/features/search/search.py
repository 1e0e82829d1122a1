"""Finding what was said, wherever it was said: in workspaces, in the tools, in `aur spawn`, and in
what programs keep.

This module is imported by every search, so what reads transcripts is imported when one is read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from cortext import paths
from cortext.catalog.fulltext.fulltext_index import (
    MARKDOWN,
    SIDE,
    TITLE,
    FulltextIndex,
    Identity,
    TextMatch,
)
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError
from cortext.features.archive.background_sync import start_detached
from cortext.features.listing.conversation_list import (
    EVERYTHING,
    ConversationList,
    ListFilter,
    filter_rows,
)
from cortext.features.listing.folder_filters import in_folder, without_copies
from cortext.features.listing.session_of_row import LoadedRow, read_all
from cortext.features.search.index_entries import first_line_end, side_text
from cortext.features.search.index_refresh import RefreshedTexts, refresh
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.record_lines import decode_lines
from cortext.formats.text_search.search_query import Query, Snippet, parse, snippet
from cortext.formats.text_search.searchable_text import wording
from cortext.stores import workspace_layout

PATIENCE = 1.0
"""Seconds that a search reads what is new before it answers."""
_LONGEST = 2.0
"""Seconds for which an answer is looked for."""
_ALSO = 3
"""Times what is wanted: titles and documents that are found beside messages."""
_HEADING = 5
"""Lines in which a document says what it is."""
_FEW = 50
"""Conversations whose texts are looked for and not left over from all others."""
_REST = "from cortext.features.search.search import index_everything; index_everything()"


class SearchCursor(NamedTuple):
    """Of a text among all that are found: those that have the signs that were typed come first, of
    these the newest, and of one time what the index has last."""

    exact: bool
    time: int
    id: int

    def __str__(self) -> str:
        return f"{self.exact:d}.{self.time}.{self.id}"

    @classmethod
    def read(cls, text: str) -> SearchCursor:
        """What `str` makes of one; ValueError if it is not that."""
        exact, time, id = map(int, text.split("."))
        return cls(exact > 0, time, id)


class SearchHit(NamedTuple):
    """A text with the words: which conversation, who said it and when, and the piece of it. Without
    the signs that were typed it is not `exact`."""

    row: ConversationRow
    number: int
    role: str
    time: int
    snippet: Snippet
    id: int = 0
    exact: bool = True

    @property
    def place(self) -> SearchCursor:
        return SearchCursor(self.exact, self.time, self.id)


class TextFilter(NamedTuple):
    """Which texts are wanted, beside `ListFilter`: until when, below which folder, said by whom."""

    since: int | None = None
    until: int | None = None
    folder: str = ""
    role: str = ""

    def takes(self, spot: TextMatch) -> bool:
        """Whether it is said by whom it should; the rest the index is asked for."""
        return not self.role or spot.role == self.role

    def before(self, place: SearchCursor | None) -> tuple[int, int] | None:
        """Where the index begins: at the end of the time, and after a place."""
        bounds = [(self.until, 0)] if self.until is not None else []
        bounds += [place[1:]] if place else []
        return min(bounds, default=None)


class Spots(NamedTuple):
    """What was found, whether there may be more, and the ids of those that have the words but not
    the signs that were typed; these come last."""

    found: list[TextMatch]
    more: bool
    loose: frozenset[int] = frozenset()


class SearchScope(NamedTuple):
    """What is looked for: among which conversations, and how many texts. With `each`, only so many
    messages of one conversation count, and of each that has more one more is found."""

    expression: str
    rows: Mapping[Identity, ConversationRow]
    narrow: TextFilter
    most: int
    each: int = 0


class Search:
    """One look at everything that is listed; several questions can be asked of it."""

    def __init__(self, words: FulltextIndex | None = None) -> None:
        self._words = words or FulltextIndex.at_home()
        self._conversations = ConversationList(paths.workspace_root(), everywhere=True)
        listing = self._conversations.list(capture=True, copies=True)
        self.rows: list[ConversationRow] = listing.rows
        self.missing: list[str] = listing.missing
        """Workspaces that are gone or moved; what was said there cannot be found."""
        self._anew: set[Identity] = set()

    def close(self) -> None:
        """Let go of catalog and index; the next question opens them again."""
        self._words.close()
        self._conversations.close()

    def refresh(
        self,
        *,
        patience: float | None = PATIENCE,
        progress: Callable[[int, int], None] | None = None,
    ) -> RefreshedTexts:
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
        wanted: ListFilter = EVERYTHING,
        narrow: TextFilter | None = None,
        *,
        most: int = 20,
        after: SearchCursor | None = None,
        takes: Callable[[ConversationRow], bool] | None = None,
    ) -> list[SearchHit]:
        """The newest texts that have what was typed, in conversations that are taken, `after` the
        place of another; if it has signs, those that have them too come first."""
        query, narrow = parse(text), narrow or TextFilter()
        if not query:
            return []
        rows = self._all_rows
        if wanted != EVERYTHING or narrow.folder or takes:
            among = in_folder(filter_rows(self.rows, wanted), narrow.folder)
            rows = self._each_once([row for row in among if not takes or takes(row)])
        while True:
            spots = self._spots(query, rows, narrow, most, after=after)
            found = list(hits(spots, rows, query))
            if not self._read_anew(found):
                return found

    def _read_anew(self, found: Iterable[SearchHit]) -> bool:
        """Whether lines are not those that were read, for one has none of the words: a person
        changed them, and no head tells so. Then they are read anew, once."""
        other = [hit for hit in found if hit.number > TITLE and not hit.snippet.spans]
        new = {hit.row.identity for hit in other if not hit.row.tool} - self._anew
        if not new or self._words.is_read_only:
            return False
        self._anew |= new
        # Where that cannot be, as while another process reads, what is there has to do.
        return not refresh(self._words, self.rows, patience=PATIENCE, anew=new).why

    @cached_property
    def _all_rows(self) -> dict[Identity, ConversationRow]:
        return self._each_once(self.rows)

    def _each_once(self, rows: list[ConversationRow]) -> dict[Identity, ConversationRow]:
        """Without copies of another: all of them are searched, since any may be asked for alone."""
        return {row.identity: row for row in without_copies(rows, self._conversations.root)}

    def _spots(
        self,
        query: Query,
        rows: Mapping[Identity, ConversationRow],
        narrow: TextFilter,
        most: int,
        each: int = 0,
        after: SearchCursor | None = None,
    ) -> Spots:
        """So many of the newest, as `find` has them; see `SearchScope` for `each`."""
        among = SearchScope(query.expression, rows, narrow, most, each)
        if not query.signs:
            return self._taken(among, after)
        texts = Texts()

        def has_signs(spot: TextMatch) -> bool:
            return query.is_in(texts.of(rows[spot.identity], spot))

        exact = Spots([], more=False)
        if after is None or after.exact:
            exact = self._taken(among, after, has_signs)
            after = None
        left = most - len(exact.found)
        if left <= 0:
            return exact
        rest = self._taken(among._replace(most=left), after, lambda spot: not has_signs(spot))
        loose = frozenset([spot.id for spot in rest.found])
        return Spots(exact.found + rest.found, exact.more or rest.more, loose)

    def _taken(
        self,
        among: SearchScope,
        after: SearchCursor | None,
        takes: Callable[[TextMatch], bool] | None = None,
    ) -> Spots:
        """The newest that are taken, as far as there is time to look."""
        rows, narrow, most, each = among.rows, among.narrow, among.most, among.each
        found: list[TextMatch] = []
        counts: dict[Identity, int] = {}
        counted, end = 0, time.monotonic() + _LONGEST

        def skips(identity: Identity) -> bool:
            return identity not in rows or 0 < each < counts.get(identity, 0)

        for spot in self._words.find(
            among.expression,
            most=most,
            before=narrow.before(after),
            skips=skips,
            within=rows if len(rows) <= _FEW else (),
        ):
            if narrow.since is not None and spot.time < narrow.since:
                return Spots(found, more=False)
            if time.monotonic() > end:
                break
            if skips(spot.identity) or not narrow.takes(spot) or (takes and not takes(spot)):
                continue
            counts[spot.identity] = count = counts.get(spot.identity, 0) + (spot.number > TITLE)
            if each and count > each:
                found.append(spot)
                continue
            if counted >= most or len(found) >= (1 + _ALSO) * most:
                return Spots(found, more=True)
            found.append(spot)
            # What has the words in its title may be left out, for what else was found.
            counted += spot.number > TITLE or not each
        return Spots(found, more=time.monotonic() > end)


def hits(
    spots: Spots, rows: Mapping[Identity, ConversationRow], query: Query
) -> Iterator[SearchHit]:
    """What stands there."""
    texts = Texts()
    for spot in spots.found:
        row = rows[spot.identity]
        piece = snippet(texts.of(row, spot), query.terms)
        exact = spot.id not in spots.loose
        yield SearchHit(row, spot.number, spot.role, spot.time, piece, spot.id, exact)


class Texts:
    """The texts of spots, read from where they stand. Transcripts are read once."""

    def __init__(self) -> None:
        self._read: dict[Identity, LoadedRow] = {}

    def of(self, row: ConversationRow, spot: TextMatch) -> str:
        """What stands there now; "" if it cannot be read."""
        try:
            if spot.number == TITLE:
                return f"{row.title}\n{row.summary}".strip()
            if spot.number == MARKDOWN:
                name = workspace_layout.document_in(row.place.folder)
                text = read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")
                return _below_heading(text, row)
            return _at(row, spot) if spot.size else self._whole(row, spot.number)
        except (OSError, CortextError):
            return ""

    def _whole(self, row: ConversationRow, number: int) -> str:
        found = self._read.get(row.identity)
        if found is None:
            found = self._read[row.identity] = read_all(row)
        if number == SIDE:
            return side_text(found.side)
        messages = found.session.messages
        return wording(messages[number - 1]) if number <= len(messages) else ""


def _below_heading(text: str, row: ConversationRow) -> str:
    """A document without the lines that only repeat what its conversation is called."""
    first, rest = text.split("\n")[:_HEADING], text.split("\n")[_HEADING:]
    own = [
        line
        for line in first
        if line.strip() != f"# {row.title}" and not line.rstrip().endswith(f" · {row.id}")
    ]
    return "\n".join(own + rest)


def _at(row: ConversationRow, spot: TextMatch) -> str:
    is_log = row.is_log
    fd = open_file(row.path if is_log else row.place.lines)
    try:
        at = spot.at + (_first_line_end(fd) if is_log else 0)
        data = read_range(fd, at, at + spot.size)
    finally:
        os.close(fd)
    return _content(data, is_log=is_log)


def _first_line_end(fd: int) -> int:
    return first_line_end(fd)


def _content(line: bytes, *, is_log: bool) -> str:
    """What a message says. Nearly every line is plain JSON, for which nothing large is loaded."""
    try:
        record = json.loads(line)
        content = None if record.get("tool_calls") else record["content"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        content = None
    if isinstance(content, str):
        return content

    found = decode_lines(line + b"\n", (LOG if is_log else FOLDER).records).messages
    return wording(found[0]) if found else ""


def _read_the_rest() -> None:
    """Without anybody waiting for it. In CI nothing goes on after a command."""
    if not os.environ.get("CI"):
        start_detached("-c", _REST)


def index_everything() -> None:
    """Bring the index up to date with every conversation."""
    Search().refresh(patience=None)
