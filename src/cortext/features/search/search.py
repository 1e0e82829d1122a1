"""Search the text of all conversations and sessions.

The search covers conversations of workspaces, and sessions of AI tools, of `aur spawn` and of other
programs. A *spot* is the location of a matching text in the full-text index.
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
"""The seconds for which a search indexes new texts before it answers."""
_LONGEST = 2.0
"""The seconds after which a search stops and returns the matches so far."""
_ALSO = 3
"""The limit for additional titles and markdown files, as a multiple of the wanted results."""
_HEADING = 5
"""The number of lines at the start of a markdown that may repeat title and id."""
_FEW = 50
"""If at most this many conversations are searched, only their parts of the index are read."""
_REST = "from cortext.features.search.search import index_everything; index_everything()"


class SearchCursor(NamedTuple):
    """The position of a hit in the order of results, for pagination.

    Texts with the same punctuation as the query come first, then newer texts, then texts that were
    indexed later.
    """

    exact: bool
    time: int
    id: int

    def __str__(self) -> str:
        return f"{self.exact:d}.{self.time}.{self.id}"

    @classmethod
    def read(cls, text: str) -> SearchCursor:
        """Parse the string form of a cursor. Raises ValueError if the text is not a cursor."""
        exact, time, id = map(int, text.split("."))
        return cls(exact > 0, time, id)


class SearchHit(NamedTuple):
    """A text that matches a query: its conversation, message number, role, time and a snippet.

    `number` is 0 or less for a text that is not a message: a title, a markdown or the messages of
    sub-agents. `exact` is False if the text has the words of the query, but not its punctuation.
    """

    row: ConversationRow
    number: int
    role: str
    time: int
    snippet: Snippet
    id: int = 0
    exact: bool = True

    @property
    def place(self) -> SearchCursor:
        """The cursor of this hit. A search with it as `after` continues behind this hit."""
        return SearchCursor(self.exact, self.time, self.id)


class TextFilter(NamedTuple):
    """Filters for the texts that a search finds, in addition to those of `ListFilter`.

    `since` and `until` are times in microseconds since 1970. `folder` is where the conversation
    took place. `role` is who wrote the message. None and "" do not filter.
    """

    since: int | None = None
    until: int | None = None
    folder: str = ""
    role: str = ""

    def takes(self, spot: TextMatch) -> bool:
        """Return whether the matching text has the wanted role.

        Other code applies the other filters.
        """
        return not self.role or spot.role == self.role

    def before(self, place: SearchCursor | None) -> tuple[int, int] | None:
        """Return the time and number before which the index is searched; None for no limit.

        The limit is `until` or the cursor `place`, whichever is earlier.
        """
        bounds = [(self.until, 0)] if self.until is not None else []
        bounds += [place[1:]] if place else []
        return min(bounds, default=None)


class Spots(NamedTuple):
    """The locations of matching texts, and whether there may be more of them.

    `loose` has the ids of the texts that have the words of the query, but not its punctuation.
    These texts come last in `found`.
    """

    found: list[TextMatch]
    more: bool
    loose: frozenset[int] = frozenset()


class SearchScope(NamedTuple):
    """An FTS5 expression, the conversations to search, and how many texts to find.

    `most` limits all texts. With `each`, only that many messages of one conversation count toward
    `most`. One more message is found to show that the conversation has more.
    """

    expression: str
    rows: Mapping[Identity, ConversationRow]
    narrow: TextFilter
    most: int
    each: int = 0


class Search:
    """A full-text search over all conversations and sessions.

    One object can answer several queries.
    """

    def __init__(self, words: FulltextIndex | None = None) -> None:
        self._words = words or FulltextIndex.at_home()
        self._conversations = ConversationList(paths.workspace_root(), everywhere=True)
        listing = self._conversations.list(capture=True, copies=True)
        self.rows: list[ConversationRow] = listing.rows
        self.missing: list[str] = listing.missing
        """The known workspaces that were deleted or moved, and cannot be searched."""
        self._anew: set[Identity] = set()

    def close(self) -> None:
        """Close the catalog and the index. The next call opens them again."""
        self._words.close()
        self._conversations.close()

    def refresh(
        self,
        *,
        patience: float | None = PATIENCE,
        progress: Callable[[int, int], None] | None = None,
    ) -> RefreshedTexts:
        """Add new texts to the index.

        The first refresh indexes everything, however long that takes. Later ones stop after about
        `patience` seconds, and a background process indexes the rest. None means no limit.
        `progress` is called with the number of conversations done and the total.
        """
        if self._words.is_stale:
            self._words.discard()
        # An index in memory starts empty, so each refresh of it is the first.
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
        """Return the newest texts that match a query, at most `most`.

        `wanted` and `takes` choose the conversations, and `narrow` chooses the texts. `after` is
        the cursor of the last hit on the previous page. Texts that also have the punctuation of the
        query come first.
        """
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
        """Index conversations again if a user edited their files. Return whether that happened.

        A hit that contains none of the words shows such an edit: the head of the conversation did
        not change with the messages. Each conversation is read again only once.
        """
        other = [hit for hit in found if hit.number > TITLE and not hit.snippet.spans]
        new = {hit.row.identity for hit in other if not hit.row.tool} - self._anew
        if not new or self._words.is_read_only:
            return False
        self._anew |= new
        # If another process is reading, use the index as it is.
        return not refresh(self._words, self.rows, patience=PATIENCE, anew=new).why

    @cached_property
    def _all_rows(self) -> dict[Identity, ConversationRow]:
        return self._each_once(self.rows)

    def _each_once(self, rows: list[ConversationRow]) -> dict[Identity, ConversationRow]:
        """Return the rows by identity, without copies of the same conversation."""
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
        """Return the newest matches in the order of `find`. `each` is as in `SearchScope`."""
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
        """Return the newest matches that pass the filters and `takes`, within a time limit."""
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
            # A title may be left out of the results later, so it does not count.
            counted += spot.number > TITLE or not each
        return Spots(found, more=time.monotonic() > end)


def hits(
    spots: Spots, rows: Mapping[Identity, ConversationRow], query: Query
) -> Iterator[SearchHit]:
    """Yield a hit with a snippet of its text for each match in `spots`."""
    texts = Texts()
    for spot in spots.found:
        row = rows[spot.identity]
        piece = snippet(texts.of(row, spot), query.terms)
        exact = spot.id not in spots.loose
        yield SearchHit(row, spot.number, spot.role, spot.time, piece, spot.id, exact)


class Texts:
    """The texts of matches, read from the session files. Each transcript is read once."""

    def __init__(self) -> None:
        self._read: dict[Identity, LoadedRow] = {}

    def of(self, row: ConversationRow, spot: TextMatch) -> str:
        """Return the current text of a match; "" if the text cannot be read."""
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
    """Return the text of a markdown without the first lines that only repeat its title or id."""
    first, rest = text.split("\n")[:_HEADING], text.split("\n")[_HEADING:]
    own = [
        line
        for line in first
        if line.strip() != f"# {row.title}" and not line.rstrip().endswith(f" · {row.id}")
    ]
    return "\n".join(own + rest)


def _at(row: ConversationRow, spot: TextMatch) -> str:
    """Return the text of a message from its line in a file."""
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
    """Return the text of the message in a line of a conversation or log.

    Nearly every line is plain JSON and needs no full decoding.
    """
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
    """Index the remaining texts in a background process. In CI, do nothing."""
    if not os.environ.get("CI"):
        start_detached("-c", _REST)


def index_everything() -> None:
    """Bring the full-text index up to date with every conversation, without a time limit."""
    Search().refresh(patience=None)
