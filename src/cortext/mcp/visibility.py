"""The conversations that an MCP client may see.

By default these are the conversations of the client's folder. A call with the argument `everywhere`
sees all conversations of this machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from cortext import paths
from cortext.catalog.lookup import nearest, resolve
from cortext.catalog.row import ConversationRow
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.listing.row_filters import is_in_folder, without_copies
from cortext.features.listing.session_of_row import read
from cortext.features.listing.standalone_sessions import find_named_or_imported
from cortext.features.listing.unique_conversation_names import Names
from cortext.features.search.search_results import Finder
from cortext.formats.history_text import escape_field, unescape
from cortext.mcp.client_session import Own, own_session
from cortext.model.session import Session
from cortext.workspace.conversation_types import Types, UnknownTypeError

EVERY = "all"
_PATIENCE = 1.0
_FOLDER_VARIABLES = ("CLAUDE_PROJECT_DIR",)
"""Environment variables in which AI tools pass their working folder to their MCP servers."""


def client_folder(roots: Sequence[str] = ()) -> str:
    """Return the folder in which an MCP client works.

    `roots` are the folders that the client reports. Return the first root that belongs to a
    workspace (not the personal workspace). If no root does, return the first folder that exists: a
    root, the folder in an environment variable of the AI tool, or the current folder.
    """
    folders = [os.path.realpath(root) for root in roots if os.path.isdir(root)]
    personal = paths.personal_workspace()
    for root in folders:
        if paths.workspace_root(root) != personal:
            return root
    given = [os.environ.get(name, "") for name in _FOLDER_VARIABLES]
    folders += [os.path.realpath(one) for one in given if os.path.isabs(one) and os.path.isdir(one)]
    return folders[0] if folders else os.path.realpath(os.getcwd())


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
        """Return the rows (list entries) of the conversations that the client may see.

        `wanted` filters the rows. `everywhere` includes all conversations of this machine. New
        transcripts of AI tools are read for about `patience` seconds; None means no limit. With
        `capture`, first copy new messages of AI tools into their conversations.

        If there are several copies of a workspace, each of their conversations is listed once. With
        `copies`, a conversation is listed once for each copy.
        """
        conversations = ConversationList(self.root, everywhere=everywhere)
        conversations.folder = self.folder
        rows = conversations.list(wanted, capture=capture, patience=patience, copies=copies).rows
        return rows if everywhere else [row for row in rows if self._is_visible(row)]

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
            error.hint = "use one of these ids"
            raise error
        missing = SessionNotFoundError(id[:200])
        near = ", ".join(self.name(row) for row in nearest(id[:200], rows))
        missing.hint = f"the closest are {near}" if near else "list_conversations lists all ids"
        if not everywhere:
            missing.hint += "; `all: true` also searches outside this workspace"
        raise missing

    def kind(self, type: str) -> str | None:
        """Check a conversation type that an agent has named, and return the type.

        Return None for "all". Raise UnknownTypeError if no workspace has such a type.
        """
        if type == EVERY:
            return None
        known = {*Types(self.root).names(), "chat"}
        # The types of other workspaces are known only from their conversations.
        if type in known or any(row.kind == type for row in self._fresh_finder.rows):
            return type
        raise UnknownTypeError(type, [EVERY, *sorted(known)])

    def finder(self, *, everywhere: bool) -> Finder:
        """Return a finder (search object) for the conversations that the client may see.

        The client's own session is not included.
        """
        return self._fresh_finder.only(lambda row: self._is_searched(row, everywhere=everywhere))

    def name(self, row: ConversationRow) -> str:
        """Return the id of a conversation for agents. The MCP tools show and accept this id.

        The id is one line. It cannot be mistaken for one of the marker lines that surround quotes.
        """
        return escape_field(self._names.of(row))

    @cached_property
    def _finder(self) -> Finder:
        return Finder()

    @cached_property
    def _fresh_finder(self) -> Finder:
        self._finder.refresh()
        return self._finder

    @cached_property
    def _names(self) -> Names:
        return Names(self._finder.rows)

    @cached_property
    def _own_session(self) -> Own | None:
        return own_session()

    def _is_searched(self, row: ConversationRow, *, everywhere: bool) -> bool:
        """Return whether a search includes the conversation of a row.

        A search leaves out the client's own session, because it contains the words of the query. A
        search also leaves out the conversation to which cortext adds the messages of this session.
        """
        own = self._own_session
        if (
            own
            and own.tool in row.tools
            and any(id in own.ids for id in (row.key, *row.session_ids))
        ):
            return False
        return everywhere or self._is_visible(row)

    def _is_visible(self, row: ConversationRow) -> bool:
        return row.folder == self.folder if self._is_broad else self._is_below(row)


def read_row(row: ConversationRow) -> Session:
    """Read the session of a conversation. Damaged parts are left out.

    Return a session without messages if the conversation has only a document.
    """
    if not row.status:
        return Session(row.id, title=row.title, kind=row.kind)

    return read(row)[0]
