"""The conversations that an MCP client may see.

By default these are the conversations of the client's folder. A call that asks for more, with the
argument `everywhere`, sees all conversations of this machine.
"""

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
from cortext.workspace.type_templates import Types, UnknownTypeError

EVERY = "all"
_PATIENCE = 1.0
_SAID = ("CLAUDE_PROJECT_DIR",)
"""Environment variables in which AI tools pass their working folder to their MCP servers."""


def folder_here(roots: Sequence[str] = ()) -> str:
    """Return the folder in which an MCP client works.

    `roots` are the folders that the client names. Return the first root that belongs to a
    workspace. Otherwise return the first existing folder of these: a root, the folder in an
    environment variable of the AI tool, the current folder.
    """
    there = [os.path.realpath(root) for root in roots if os.path.isdir(root)]
    personal = paths.personal_workspace()
    for root in there:
        if paths.workspace_root(root) != personal:
            return root
    said = [os.environ.get(name, "") for name in _SAID]
    there += [os.path.realpath(one) for one in said if os.path.isabs(one) and os.path.isdir(one)]
    return there[0] if there else os.path.realpath(os.getcwd())


class Reach:
    """The conversations that a client in a folder may see.

    These are the conversations of the workspace that contains the folder. Outside of a workspace,
    they are the conversations that took place in the folder or below. With `everywhere`, a method
    uses all conversations of this machine.

    Some clients start their servers in `/` or in the home folder, which contain everything. In
    these two folders, conversations in subfolders are not included.
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
        """Return the rows of the conversations that the agent may see, filtered by `wanted`.

        New transcripts are read for about `patience` seconds; None means no limit. With `capture`,
        first capture new messages of AI tools into their conversations. With `copies`, also list
        the copies of a conversation in other copies of its workspace.
        """
        conversations = ConversationList(self.root, everywhere=everywhere)
        conversations.folder = self.folder
        rows = conversations.list(wanted, capture=capture, patience=patience, copies=copies).rows
        return rows if everywhere else [row for row in rows if self._has(row)]

    def one(self, id: str, *, everywhere: bool = False) -> ConversationRow:
        """Return the row of the conversation that `id` names.

        `id` is an id, the beginning of an id, or words of a title. Raise AmbiguousIdError if
        several conversations match, and SessionNotFoundError if none does.
        """
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
        """Return the conversation type for a tool's argument; None for "all", which means any type.

        Raise UnknownTypeError if no workspace has such a type.
        """
        if type == EVERY:
            return None
        known = {*Types(self.root).names(), "chat"}
        # A type of another workspace is known only from the conversations there.
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
        """Return the newest search hits for a query, at most `most`.

        `kind` limits the search to one type, and `span` to a time span. `after` is the cursor of
        the last hit on the previous page. The client's own session is not searched.
        """
        narrow = TextFilter(since=span.since, until=span.until)

        def takes(row: ConversationRow) -> bool:
            return self._takes(row, everywhere=everywhere)

        find = self._search.find
        return find(text, ListFilter(kind=kind), narrow, most=most, after=after, takes=takes)

    def finder(self, *, everywhere: bool) -> Finder:
        """Return a finder over the conversations that the client may see.

        The client's own session is not included.
        """
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
        """Return search hits as `search` does, without hits that only repeat a title.

        A hit in a title is left out if another text of the conversation also matches. A hit in a
        document is left out if only its heading matches.
        """
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
        """Return whether another text than the title of the conversation matches the query."""
        narrow = TextFilter(since=span.since, until=span.until)
        same = title.row.identity
        found = self._search.find(text, narrow=narrow, most=3, takes=lambda r: r.identity == same)
        return any(map(_says, found))

    def name(self, row: ConversationRow) -> str:
        """Return the id by which the tools find a conversation.

        The id is one line that cannot be mistaken for a marker of an answer.
        """
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
        """Return whether a conversation is searched.

        The client's own session is not searched, because it contains the words of the query. The
        same applies to the conversation to which this session is bound.
        """
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
    """Return whether a hit is in a text, and not only in the title of its conversation.

    A document that matches without a found word in its snippet matches only by its heading.
    """
    return hit.number != TITLE and (hit.number != MARKDOWN or bool(hit.snippet.spans))


def read_row(row: ConversationRow) -> Session:
    """Read the session of a conversation, without the parts that cannot be read.

    A conversation that has only a document gives a session without messages.
    """
    if not row.status:
        return Session(row.id, title=row.title, kind=row.kind)

    return read(row)[0]
