"""What a client may see: the conversations of its own folder, and more only when it asks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from cortext import paths
from cortext.app.apart import called
from cortext.app.conversations import Conversations, Wanted
from cortext.app.dates import Span
from cortext.app.search import Hit, Narrow, Search
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.index.listed import Listed
from cortext.index.resolve import nearest, resolve
from cortext.lifecycle.types import Types, UnknownTypeError
from cortext.mcp.own import own_session
from cortext.model.session import Session

EVERY = "all"
_PATIENCE = 1.0
_OWN = 100
"""Texts of the client's own session that may stand before others."""
_BELOW = 1000
"""Texts of folders below that may stand before those of a folder."""
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
        self.root = paths.workspace_root(folder)
        self.folder = folder if self.root == paths.personal_workspace() else self.root
        self._is_broad = self.folder in ("/", os.path.realpath(os.path.expanduser("~")))

    def rows(
        self, wanted: Wanted, *, everywhere: bool = False, patience: float | None = _PATIENCE
    ) -> list[Listed]:
        """What is reached, the latest first. Transcripts that are not known yet are looked at for
        about `patience` seconds; None is until all are."""
        conversations = Conversations(self.root, everywhere=everywhere)
        conversations.folder = self.folder
        rows = conversations.list(wanted, patience=patience).rows
        return rows if everywhere else [row for row in rows if self._has(row)]

    def one(self, id: str, *, everywhere: bool = False) -> Listed:
        """The conversation that is meant: its id, the beginning of it, or words of its title."""
        rows = self.rows(Wanted(), everywhere=everywhere, patience=None)
        found = called(id, rows) or resolve(id, rows)
        if len(found) == 1:
            return found[0]
        if found:
            error = AmbiguousIdError(id, [name_of(row, rows) for row in found])
            error.hint = "give one of these ids"
            raise error
        missing = SessionNotFoundError(id[:200])
        near = ", ".join(name_of(row, rows) for row in nearest(id[:200], rows))
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
        self, text: str, *, kind: str | None, span: Span, most: int, everywhere: bool
    ) -> list[Hit]:
        """The newest texts that have the words, but for those of the client's own session."""
        folder = "" if everywhere else self.folder
        narrow = Narrow(since=span.since, until=span.until, folder=folder)
        # The client's own session has every word that is asked for.
        more = most + (_OWN if self._own else 0) + (_BELOW if self._is_broad else 0)
        found = self._search.find(text, Wanted(kind=kind), narrow, most=more)
        found = [hit for hit in found if (hit.row.tool, hit.row.key) not in self._own]
        return [hit for hit in found if everywhere or self._has(hit.row)][:most]

    @cached_property
    def _search(self) -> Search:
        search = Search()
        search.refresh()
        return search

    @cached_property
    def _own(self) -> set[tuple[str, str]]:
        own = own_session()
        return {(own.tool, id) for id in own.ids} if own else set()

    def _has(self, row: Listed) -> bool:
        folder = row.had_in or row.cwd
        if self._is_broad:
            return folder == self.folder
        return f"{folder}/".startswith(f"{self.folder}/")


def name_of(row: Listed, rows: Sequence[Listed] = ()) -> str:
    """The id by which every command finds a conversation: with its day where two have one."""
    same = sum(other.key == row.key for other in rows)
    return row.key if same < 2 else row.address


def as_conversation(row: Listed) -> Listed:
    """A session that belongs to no workspace becomes a conversation, where it was had."""
    if not row.tool:
        return row
    if row.is_apart:
        from cortext.app import keeping

        return keeping.as_conversation(row)
    from cortext.app.tool_session import chat_of, row_in_list

    return row_in_list(chat_of(paths.workspace_root(row.cwd or None), row.tool, row.key, row.path))


def read_row(row: Listed) -> Session:
    """All that was said in a conversation, as far as it can be read."""
    if not row.status:
        return Session(row.id, title=row.title, kind=row.kind)
    from cortext.app.reading import read

    return read(row)[0]
