"""Search the text of all conversations and sessions.

The search covers conversations of workspaces, and sessions of AI tools, of `aur spawn` and of other
programs. A *match* is an entry of the full-text index. A *hit* is a match with a snippet of its
text.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from cortext import paths
from cortext.catalog.fulltext.fulltext_index import (
    MARKDOWN,
    TITLE,
    FulltextIndex,
    Identity,
    TextMatch,
)
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import first_line_end, open_file, read_file, read_range
from cortext.errors import CortextError
from cortext.features.archive.background_sync import start_detached
from cortext.features.listing.conversation_list import (
    EVERYTHING,
    ConversationList,
    ListFilter,
    filter_rows,
)
from cortext.features.listing.row_filters import in_folder, without_copies
from cortext.features.search.index_refresh import RefreshedTexts, refresh
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.message_lines import decode_lines
from cortext.formats.text_search.search_query import Query, Snippet, Term, parse, snippet
from cortext.formats.text_search.searchable_text import searchable_text_of
from cortext.model.safe_text import clean, without_terminal_codes
from cortext.stores import workspace_layout

PATIENCE = 1.0
"""The maximum number of seconds in which a search indexes new texts before it answers."""
_SEARCH_SECONDS = 2.0
"""The seconds after which a search stops and returns the matches so far."""
_EXTRA_FACTOR = 3
"""The maximum number of extra titles and markdown files, as a multiple of the wanted results."""
_HEADING_LINES = 5
"""The number of lines at the start of a markdown file that may repeat the title and the id."""
_FEW_CONVERSATIONS = 50
"""If at most this many conversations are searched, only their parts of the index are read."""
_INDEX_PROGRAM = "from cortext.features.search.search import index_everything; index_everything()"


class SearchHit(msgspec.Struct, frozen=True):
    """A text that matches a query: its conversation, message number, role, time and a snippet.

    `number` is 0 or less for a text that is not a message: a title, a markdown file or the messages
    of sub-agents. `exact` is False if the text has the words of the query, but not its punctuation.
    If the text is the output of a tool, `tool_name` is the name of the tool, such as "Bash". It is
    "" for other texts, and if the name is unknown.
    """

    row: ConversationRow
    number: int
    role: str
    time: int
    snippet: Snippet
    id: int = 0
    exact: bool = True
    tool_name: str = ""


class TextFilter(msgspec.Struct, frozen=True):
    """Filters for the texts that a search finds. `ListFilter` has the filters for conversations.

    `since` and `until` are times in microseconds since 1970. `folder` is the path of the folder
    where the conversation took place. `role` is the role of the message's author, such as "user". A
    field that is None or "" does not filter.
    """

    since: int | None = None
    until: int | None = None
    folder: str = ""
    role: str = ""

    def takes(self, match: TextMatch) -> bool:
        """Return whether a match has the wanted role. The search applies the other filters."""
        return not self.role or match.role == self.role


class Spots(msgspec.Struct, frozen=True):
    """The matches of a query (entries of the index), and whether there may be more matches.

    `loose` has the ids of the texts that have the words of the query, but not its punctuation.
    These texts come last in `found`.
    """

    found: list[TextMatch]
    more: bool
    loose: frozenset[int] = frozenset()


class SearchScope(msgspec.Struct, frozen=True):
    """What to search, and how many texts to find.

    `expression` is an expression for SQLite's full-text search (FTS5). `rows` are the conversations
    to search, and `narrow` filters their texts. `most` is the maximum number of texts. If `each` is
    not 0, it limits the number of messages from one conversation. If more messages of a
    conversation match, one more message is returned to show this. This message does not count
    toward `most`.
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
        self._index = words or FulltextIndex.at_home()
        self._conversations = ConversationList(paths.workspace_root(), everywhere=True)
        listing = self._conversations.list(capture=True, copies=True)
        self.rows: list[ConversationRow] = listing.rows
        self.missing: list[str] = listing.missing
        """The known workspaces that were deleted or moved, and cannot be searched."""
        self._reindexed: set[Identity] = set()

    def close(self) -> None:
        """Close the catalog and the index. The next call opens them again."""
        self._index.close()
        self._conversations.close()

    def refresh(
        self,
        *,
        patience: float | None = PATIENCE,
        progress: Callable[[int, int], None] | None = None,
    ) -> RefreshedTexts:
        """Add new texts to the index.

        The first refresh indexes all texts, however long this takes. A later refresh stops after
        about `patience` seconds, and a background process indexes the rest. If `patience` is None,
        there is no limit. `progress` is called with the number of finished conversations and the
        total number.
        """
        if self._index.is_stale:
            self._index.discard()
        # An index in memory starts empty, so each refresh of it is the first.
        first = not self._index.lock or not self._index.has_conversations()
        found = refresh(
            self._index, self.rows, patience=None if first else patience, progress=progress
        )
        if found.left and not found.why:
            _index_in_background()
        return found

    def find(
        self,
        text: str,
        wanted: ListFilter = EVERYTHING,
        narrow: TextFilter | None = None,
        *,
        most: int = 20,
    ) -> list[SearchHit]:
        """Return the newest texts that match a query, at most `most`.

        `wanted` filters the conversations, and `narrow` filters the texts. Texts that also have the
        punctuation of the query come first.
        """
        query, narrow = parse(text), narrow or TextFilter()
        if not query:
            return []
        rows = self._all_rows
        if wanted != EVERYTHING or narrow.folder:
            rows = self._by_identity(in_folder(filter_rows(self.rows, wanted), narrow.folder))
        while True:
            matches = self._find_matches(query, rows, narrow, most)
            found = list(hits(matches, rows, query, Texts(self._index)))
            if not self._reindex_edited(found):
                return found

    def _reindex_edited(self, found: Iterable[SearchHit]) -> bool:
        """Index conversations again if a user edited their files. Return whether that happened.

        If a hit contains none of the searched words, its text was edited after it was indexed. Each
        conversation is indexed again only once.
        """
        without_words = [hit for hit in found if hit.number > TITLE and not hit.snippet.spans]
        edited = {hit.row.identity for hit in without_words if not hit.row.tool} - self._reindexed
        if not edited or self._index.is_read_only:
            return False
        self._reindexed |= edited
        # If another process holds the index, use the index without an update.
        return not refresh(self._index, self.rows, patience=PATIENCE, anew=edited).why

    @cached_property
    def _all_rows(self) -> dict[Identity, ConversationRow]:
        return self._by_identity(self.rows)

    def _by_identity(self, rows: list[ConversationRow]) -> dict[Identity, ConversationRow]:
        """Return a dict from the identity of each row to the row.

        An identity is a key that no other row has. If there are several copies of a conversation,
        the dict has only one of them.
        """
        return {row.identity: row for row in without_copies(rows, self._conversations.root)}

    def _find_matches(
        self,
        query: Query,
        rows: Mapping[Identity, ConversationRow],
        narrow: TextFilter,
        most: int,
        each: int = 0,
    ) -> Spots:
        """Return the newest matches of a query. Matches with the query's punctuation come first.

        `most`, `each` and `narrow` limit the matches as in `SearchScope`.
        """
        scope = SearchScope(query.expression, rows, narrow, most, each)
        if not query.signs:
            return self._filter_matches(scope)
        texts = Texts(self._index)

        def has_signs(match: TextMatch) -> bool:
            return query.is_in(texts.of(rows[match.identity], match))

        exact = self._filter_matches(scope, has_signs)
        left = most - len(exact.found)
        if left <= 0:
            return exact
        rest = self._filter_matches(replace(scope, most=left), lambda match: not has_signs(match))
        loose = frozenset([match.id for match in rest.found])
        return Spots(exact.found + rest.found, exact.more or rest.more, loose)

    def _filter_matches(
        self,
        scope: SearchScope,
        takes: Callable[[TextMatch], bool] | None = None,
    ) -> Spots:
        """Return the newest matches in a scope for which `takes` returns True.

        The search stops after a time limit and returns the matches so far.
        """
        rows, narrow, most, each = scope.rows, scope.narrow, scope.most, scope.each
        found: list[TextMatch] = []
        counts: dict[Identity, int] = {}
        counted, end = 0, time.monotonic() + _SEARCH_SECONDS

        def skips(identity: Identity) -> bool:
            return identity not in rows or 0 < each < counts.get(identity, 0)

        for match in self._index.find(
            scope.expression,
            most=most,
            before=None if narrow.until is None else (narrow.until, 0),
            skips=skips,
            within=rows if len(rows) <= _FEW_CONVERSATIONS else (),
        ):
            if narrow.since is not None and match.time < narrow.since:
                return Spots(found, more=False)
            if time.monotonic() > end:
                break
            if skips(match.identity) or not narrow.takes(match) or (takes and not takes(match)):
                continue
            counts[match.identity] = count = counts.get(match.identity, 0) + (match.number > TITLE)
            if each and count > each:
                found.append(match)
                continue
            if counted >= most or len(found) >= (1 + _EXTRA_FACTOR) * most:
                return Spots(found, more=True)
            found.append(match)
            # A title may be left out of the results later, so it does not count.
            counted += match.number > TITLE or not each
        return Spots(found, more=time.monotonic() > end)


def hits(
    matches: Spots, rows: Mapping[Identity, ConversationRow], query: Query, texts: Texts
) -> Iterator[SearchHit]:
    """Yield a hit with a snippet of its text for each match."""
    for match in matches.found:
        row = rows[match.identity]
        excerpt = safe_snippet(texts.of(row, match), query.terms)
        exact = match.id not in matches.loose
        yield SearchHit(row, match.number, match.role, match.time, excerpt, match.id, exact)


def safe_snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """Return a snippet of a text, without characters that control a terminal."""
    found = snippet(text, terms)
    return replace(found, text=clean(found.text))


class Texts:
    """Reads the texts of matches, for snippets."""

    def __init__(self, index: FulltextIndex) -> None:
        self._index = index
        self._first, self._stored = 0, list[str]()

    def of(self, row: ConversationRow, match: TextMatch) -> str:
        """Return the text of a match without terminal codes; "" if the text cannot be read."""
        return without_terminal_codes(self._read_text(row, match))

    def _read_text(self, row: ConversationRow, match: TextMatch) -> str:
        try:
            if match.number == TITLE:
                return f"{row.title}\n{row.summary}".strip()
            if match.number == MARKDOWN:
                name = workspace_layout.document_in(row.place.folder)
                text = read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")
                return _below_heading(text, row)
            return _read_at(row, match) if match.size else self._stored_text(match.id)
        except (OSError, CortextError):
            return ""

    def _stored_text(self, id: int) -> str:
        """Return a text that the index stores. Texts that were stored together are read once."""
        if not 0 <= id - self._first < len(self._stored):
            self._first, self._stored = self._index.stored_texts(id)
        at = id - self._first
        return self._stored[at] if at < len(self._stored) else ""


def _below_heading(text: str, row: ConversationRow) -> str:
    """Return the text of a markdown file without the first lines that only repeat title or id."""
    first, rest = text.split("\n")[:_HEADING_LINES], text.split("\n")[_HEADING_LINES:]
    own = [
        line
        for line in first
        if line.strip() != f"# {row.title}" and not line.rstrip().endswith(f" · {row.id}")
    ]
    return "\n".join(own + rest)


def _read_at(row: ConversationRow, match: TextMatch) -> str:
    """Return the text of a message. `match` has the position of the message's line in the file."""
    is_log = row.is_log
    fd = open_file(row.path if is_log else row.place.lines)
    try:
        at = match.at + (_first_line_end(fd) if is_log else 0)
        data = read_range(fd, at, at + match.size)
    finally:
        os.close(fd)
    return _decode_line(data, is_log=is_log)


def _first_line_end(fd: int) -> int:
    return first_line_end(fd)


def _decode_line(line: bytes, *, is_log: bool) -> str:
    """Return the text of the message in a line of a conversation or log.

    Nearly every line is plain JSON, so try this first: it is fast.
    """
    try:
        record = json.loads(line)
        content = None if record.get("tool_calls") else record["content"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        content = None
    if isinstance(content, str):
        return content

    found = decode_lines(line + b"\n", (LOG if is_log else FOLDER).records).messages
    return searchable_text_of(found[0]) if found else ""


def _index_in_background() -> None:
    """Index the remaining texts in a background process. In CI, do nothing."""
    if not os.environ.get("CI"):
        start_detached("-c", _INDEX_PROGRAM)


def index_everything() -> None:
    """Bring the full-text index up to date with every conversation, without a time limit."""
    Search().refresh(patience=None)
