"""What a client may see: the conversations of its own folder, and more only when it asks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from cortext import paths
from cortext.catalog.fulltext.fulltext_index import MARKDOWN, TITLE
from cortext.catalog.lookup import nearest, resolve
from cortext.catalog.row import ConversationRow
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.listing.conversation_names import Names
from cortext.features.listing.folder_filters import is_in_folder, without_copies
from cortext.features.listing.session_of_row import read
from cortext.features.listing.standalone_sessions import find_named_or_imported
from cortext.features.listing.time_ranges import Span
from cortext.features.search.search import SearchCursor, SearchHit, TextFilter
from cortext.features.search.search_results import Finder
from cortext.formats.briefing import escape_field, unescape
from cortext.mcp.own_session import Own, own_session
from cortext.model.session import Session
from cortext.workspace.conversation_types import Types, UnknownTypeError

EVERY = "all"
_PATIENCE = 1.0
_SAID = ("CLAUDE_PROJECT_DIR",)
"""What tools say, to the servers that they start, of the folder that they work in."""


def folder_here(roots: Sequence[str] = ()) -> str:
    """The folder that a client works in: of those that it names the first which belongs to a
    workspace, else the first; else what its tool says, else the current one."""
    there = [os.path.realpath(root) for root in roots if os.path.isdir(root)]
    personal = paths.personal_workspace()
    for root in there:
        if paths.workspace_root(root) != personal:
            return root
    said = [os.environ.get(name, "") for name in _SAID]
    there += [os.path.realpath(one) for one in said if os.path.isabs(one) and os.path.isdir(one)]
    return there[0] if there else os.path.realpath(os.getcwd())


class Reach:
    """The conversations of the workspace that a folder is in; outside any, those that were had in
    the folder or below. With `everywhere`, a call reaches all of this machine. Some clients start
    their servers in `/` or in the home folder, below which everything is: there, only what was had
    in that very folder is reached.
    """

    def __init__(self, folder: str) -> None:
        self.root: str = paths.workspace_root(folder)
        self.folder: str = folder if self.root == paths.personal_workspace() else self.root
        self._is_below = is_in_folder(self.folder)
        self._is_broad = self.folder in ("/", os.path.realpath(os.path.expanduser("~")))

    def rows(
        self,
        wanted: ListFilter,
        *,
        everywhere: bool = False,
        patience: float | None = _PATIENCE,
        copies: bool = False,
        capture: bool = False,
    ) -> list[ConversationRow]:
        """Return the rows that the agent may see, as `ConversationList.list` does."""
        conversations = ConversationList(self.root, everywhere=everywhere)
        conversations.folder = self.folder
        rows = conversations.list(wanted, capture=capture, patience=patience, copies=copies).rows
        return rows if everywhere else [row for row in rows if self._has(row)]

    def one(self, id: str, *, everywhere: bool = False) -> ConversationRow:
        """The conversation that is meant: its id, the beginning of it, or words of its title."""
        rows = self.rows(ListFilter(), everywhere=everywhere, patience=None, copies=True)

        def find(name: str) -> list[ConversationRow]:
            return without_copies(
                find_named_or_imported(name, rows) or resolve(name, rows), self.root
            )

        found = find(unescape(id)) or find(id)
        if len(found) == 1:
            return found[0]
        if found:
            error = AmbiguousIdError(id, [self.name(row) for row in found])
            error.hint = "give one of these ids"
            raise error
        missing = SessionNotFoundError(id[:200])
        near = ", ".join(self.name(row) for row in nearest(id[:200], rows))
        missing.hint = f"the nearest are {near}" if near else "list_conversations lists them"
        if not everywhere:
            missing.hint += "; `all: true` looks outside this workspace"
        raise missing

    def kind(self, type: str) -> str | None:
        """A type of conversation; None for all of them. UnknownTypeError if there is none such."""
        if type == EVERY:
            return None
        known = {*Types(self.root).names(), "chat"}
        # One of another workspace is known by its conversations.
        if type in known or any(row.kind == type for row in self._search.rows):
            return type
        raise UnknownTypeError(type, [EVERY, *sorted(known)])

    def search(
        self,
        text: str,
        *,
        kind: str | None,
        span: Span,
        most: int,
        everywhere: bool,
        after: SearchCursor | None = None,
    ) -> list[SearchHit]:
        """The newest texts that have the words, but for those of the client's own session."""
        narrow = TextFilter(since=span.since, until=span.until)

        def takes(row: ConversationRow) -> bool:
            return self._takes(row, everywhere=everywhere)

        find = self._search.find
        return find(text, ListFilter(kind=kind), narrow, most=most, after=after, takes=takes)

    def finder(self, *, everywhere: bool) -> Finder:
        """A search of what is reached, but for the client's own session."""
        return self._search.only(lambda row: self._takes(row, everywhere=everywhere))

    def search_once(
        self,
        text: str,
        *,
        kind: str | None,
        span: Span,
        most: int,
        everywhere: bool,
        after: SearchCursor | None = None,
    ) -> list[SearchHit]:
        """The same, without titles of conversations in which something else has the words, and
        without documents that have them only as their heading."""
        found: list[SearchHit] = []
        while len(found) < most:
            page = self.search(
                text, kind=kind, span=span, most=most, everywhere=everywhere, after=after
            )
            said = {hit.row.identity for hit in page if _says(hit)}
            found += [
                hit
                for hit in page
                if _says(hit)
                or (
                    (hit.number == TITLE and hit.row.identity not in said)
                    and not self._says_more(hit, text, span)
                )
            ]
            if len(page) < most:
                break
            after = page[-1].place
        return found[:most]

    def _says_more(self, title: SearchHit, text: str, span: Span) -> bool:
        """Whether something else in the conversation has the words."""
        narrow = TextFilter(since=span.since, until=span.until)
        same = title.row.identity
        found = self._search.find(text, narrow=narrow, most=3, takes=lambda r: r.identity == same)
        return any(map(_says, found))

    def name(self, row: ConversationRow) -> str:
        """Return the id by which tools find a conversation, as one inert line."""
        return escape_field(self._names.of(row))

    @cached_property
    def _all(self) -> Finder:
        return Finder()

    @cached_property
    def _search(self) -> Finder:
        self._all.refresh()
        return self._all

    @cached_property
    def _names(self) -> Names:
        return Names(self._all.rows)

    @cached_property
    def _own(self) -> Own | None:
        return own_session()

    def _takes(self, row: ConversationRow, *, everywhere: bool) -> bool:
        """Whether it is searched. The client's own session has every word that is asked for, and so
        has the conversation that it belongs to."""
        own = self._own
        if (
            own
            and own.tool in row.tools
            and any(id in own.ids for id in (row.key, *row.session_ids))
        ):
            return False
        return everywhere or self._has(row)

    def _has(self, row: ConversationRow) -> bool:
        return row.folder == self.folder if self._is_broad else self._is_below(row)


def _says(hit: SearchHit) -> bool:
    """Whether it is more than what its conversation is called."""
    return hit.number != TITLE and (hit.number != MARKDOWN or bool(hit.snippet.spans))


def read_row(row: ConversationRow) -> Session:
    """All that was said in a conversation, as far as it can be read."""
    if not row.status:
        return Session(row.id, title=row.title, kind=row.kind)

    return read(row)[0]
