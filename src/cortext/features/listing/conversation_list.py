"""List conversations and sessions, and find the conversation that a user means."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import by_other_id, by_part, with_words
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow, recency
from cortext.catalog.row_text_redaction import shown, told
from cortext.config import Config
from cortext.errors import SessionStorageError
from cortext.features.listing.message_counts import Progress, add_counts
from cortext.features.listing.row_filters import below_folder, is_in_project, without_copies
from cortext.features.listing.standalone_sessions import (
    find_named,
    imported_from,
    list_standalone,
    without_known,
)
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.idle_conversations import find_auto_paused, find_idle, show_effective_status
from cortext.workspace.known_folders import known_workspaces, remember_workspace
from cortext.workspace.moved_folders import MovedFolders, moved_folders


class ListFilter(msgspec.Struct, frozen=True):
    """The filters and the sort order of a list of conversations.

    A filter that is None or empty allows everything. `tool` is an exception: "" allows only
    conversations of workspaces. `kind` is the type of a conversation. `since` is the earliest time
    of the last activity, in microseconds since 1970. `with_session` leaves out conversations that
    have a markdown file but no session. `words` must occur in the title or the summary. `folder` is
    a path, or the name of a project as lists show it. `branch` is the name of a git branch. `order`
    is the field to sort by.
    """

    kind: str | None = None
    status: str | None = None
    tags: Sequence[str] = ()
    since: int | None = None
    with_session: bool = False
    words: str = ""
    order: str = "updated_at"
    tool: str | None = None
    owner: str | None = None
    folder: str = ""
    branch: str = ""

    @property
    def allows_tool_conversations(self) -> bool:
        """True if conversations that took place in an AI tool can pass the filter."""
        return self.tool not in ("", AUR, DOCUMENT)

    @property
    def allows_unbound_sessions(self) -> bool:
        """True if tool sessions that are bound to no conversation can pass the filter."""
        return (
            self.allows_tool_conversations
            and self.kind in (None, "", "chat")
            and self.status in (None, "", "active", "paused")
            and not (self.tags or self.owner)
        )

    @property
    def allows_standalone(self) -> bool:
        """True if standalone sessions can pass the filter.

        These are the sessions that `cortext spawn` wrote, and the sessions that the user's own
        programs wrote with the cortext library.
        """
        return self.tool in (None, AUR, DOCUMENT)


EVERYTHING = ListFilter()
_READ_SECONDS = 1.0
"""The maximum number of seconds in which a list reads new transcripts."""
_COUNT_SECONDS = 0.5
"""The maximum number of seconds in which a list counts the messages of new transcripts."""
_RECENT_MICROS = 86_400 * 1_000_000
_ORDERS: dict[str, Callable[[ConversationRow], Any]] = {
    "created_at": lambda row: -row.created_at,
    "title": lambda row: row.title.casefold(),
    "id": lambda row: row.id,
    "message_count": lambda row: -row.messages,
    "total_tokens": lambda row: -row.tokens,
}
COUNT_ORDERS = ("message_count", "total_tokens")
"""The sort orders that need the numbers of messages and tokens of all rows."""


class Listing(NamedTuple):
    """The rows of a list, and the known workspaces that were deleted or moved."""

    rows: list[ConversationRow]
    missing: list[str]


class ConversationList:
    """The list of conversations and sessions for one place: a workspace or the current folder.

    A personal conversation is a conversation that took place outside any workspace.

    In a workspace, the list has the conversations of the workspace. The list also has the personal
    conversations and the sessions that took place in the folder of the workspace. Outside any
    workspace, the list has everything that took place in the current folder, then the personal
    conversations without a known folder. If `everywhere` is true, the list has all known
    conversations and sessions.
    """

    def __init__(self, root: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.everywhere = everywhere
        self.folder: str = paths.current_folder() if root == paths.personal_workspace() else root
        self.config: Config = Config.load(root)
        self.pause_minutes: float = float(self.config["sessions.pause_minutes"])
        self.missing: list[str] = []
        self.idle: list[ConversationRow] = []
        """The idle conversations. They count as paused even if their files say "active"."""
        self.damaged: list[str] = []
        """Notes about session files that cannot be listed, with the reasons."""
        self.has_transcripts: bool = False
        """True if the last call of `list` found any transcript of a tool."""
        self.left: int = 0
        """The number of transcripts that the last call of `list` had no time to read."""
        self.uncounted: int = 0
        """The number of sessions that the last call of `add_counts` had no time to count."""
        self.count_progress: Progress | None = None
        """A callback for the progress of counting, if a sort order needs the counts of all rows."""
        self.candidates: list[list[ConversationRow]] = []
        """The rows that the last `find` searched.

        The first list has the rows of this place. If all places were searched too, a second list
        has their rows.
        """
        self.origin: str = ""
        """The id of an imported session, if the query of the last `find` was its id; otherwise "".

        In this case, `find` returned the conversation into which the session was imported.
        """
        self._all_standalone: list[ConversationRow] = []
        """All sessions of `aur spawn` and of programs.

        Imported sessions, which lists hide, are included.
        """
        self._bound_sessions: Sequence[ConversationRow] = ()
        """The tool sessions of listed conversations."""
        self._grown_sessions: Sequence[ConversationRow] = ()
        """The tool sessions of listed conversations that may have messages to capture."""

    def __enter__(self) -> ConversationList:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the catalog. The next call opens it again."""
        if "_catalog" in self.__dict__:
            self._catalog.close()

    def list(
        self,
        wanted: ListFilter = EVERYTHING,
        *,
        everywhere: bool | None = None,
        patience: float | None = _READ_SECONDS,
        capture: bool = False,
        copies: bool = False,
        empty: bool = False,
    ) -> Listing:
        """Return the rows, the latest first, and the workspaces that were deleted or moved.

        New transcripts are read for about `patience` seconds; None means no limit. If `capture` is
        true, new messages from tools are first captured into their conversations. If `copies` is
        false, a conversation that is in several copies of a workspace is listed once. If `empty` is
        true, sessions of `aur spawn` without any message are listed too.
        """
        everywhere = self.everywhere if everywhere is None else everywhere
        rows, missing = self._workspace_conversations(everywhere)
        standalone: list[ConversationRow] = []
        if wanted.allows_standalone:
            standalone = self._list_standalone(rows, wanted.tool, everywhere, patience)
            if not empty:
                standalone = [row for row in standalone if row.tool != AUR or not row.is_empty]
        sessions: Sequence[ConversationRow] = ()
        if wanted.allows_tool_conversations:
            sessions = self._unbound_sessions([*rows, *standalone], everywhere, patience)
            if capture and self._grown_sessions:
                from cortext.features.capture.capture_before_reading import capture_grown

                rows = capture_grown(self._catalog, rows, self._grown_sessions, patience)
        rows = self._with_status(rows)
        rows = _with_branches(rows, self._bound_sessions)
        if not everywhere:
            standalone = below_folder(standalone, self.folder)
        if not copies:
            rows = without_copies(rows, self.root)
        if not wanted.allows_unbound_sessions:
            sessions = ()
        if standalone or sessions:
            is_mixed = rows or standalone  # a single list is sorted already, and may be long
            rows = [*rows, *standalone, *sessions]
            rows = sorted(rows, key=recency, reverse=True) if is_mixed else rows
            if not everywhere and self.root == paths.personal_workspace():
                rows = [row for part in _split_by_folder(rows) for row in part]
        if wanted != EVERYTHING:
            rows = select_rows(rows, wanted)
            if wanted.order in COUNT_ORDERS:
                rows = self.add_counts(rows, patience=None)
            rows = sort_rows(rows, wanted.order)
        return Listing(rows, missing)

    def add_counts(
        self, rows: Sequence[ConversationRow], *, patience: float | None = _COUNT_SECONDS
    ) -> list[ConversationRow]:
        """Return the rows, and fill in the numbers of messages and tokens of tool sessions.

        Other rows already have these numbers. New sessions are counted for about `patience`
        seconds; None means no limit. A session that was not counted keeps the number 0.
        """
        if not any(row.tool and not row.is_standalone for row in rows):
            return list(rows)
        found = add_counts(self._catalog, rows, patience=patience, progress=self.count_progress)
        self.uncounted = found.left
        return found.rows

    def _workspace_conversations(self, everywhere: bool) -> tuple[list[ConversationRow], list[str]]:
        """Return the conversations of workspaces, and the workspaces that do not exist any more.

        The conversations of a workspace include personal conversations that took place in its
        folder, for example before the folder became a workspace.
        """
        roots, missing = self._roots(everywhere)
        rows = self._follow_moves(self._catalog.list(roots)) if roots else []
        personal = paths.personal_workspace()
        if everywhere or not os.path.isdir(personal):
            return rows, missing
        if self.root == personal:
            with_folder, without_folder = _split_by_folder(rows)
            rows = [*below_folder(with_folder, self.folder), *without_folder]
        elif personal_rows := below_folder(
            self._follow_moves(self._catalog.list([personal])), self.folder
        ):
            rows = sorted([*rows, *personal_rows], key=recency, reverse=True)
        return rows, missing

    def _list_standalone(
        self,
        known: Sequence[ConversationRow],
        tool: str | None,
        everywhere: bool,
        patience: float | None,
    ) -> list[ConversationRow]:
        """Return the standalone sessions that are not in `known`.

        Standalone sessions are the sessions of `aur spawn` and of programs.
        """
        roots = dict.fromkeys((self.root, *known_workspaces()))
        found = list_standalone(self._catalog, self.config, roots, tool, patience)
        notes = found.notes
        if notes and not everywhere:
            others = tuple(paths.project_document_dir(root) for root in roots if root != self.root)
            notes = [note for note in notes if not note.startswith(others)]
        self.damaged = notes
        self._all_standalone = [*found.spawned, *found.documents]
        return self._follow_moves(without_known(self._catalog, found, known))

    def _follow_moves(self, rows: list[ConversationRow]) -> list[ConversationRow]:
        """Return the rows, each with the folder where its project is now.

        The user has declared which folders were moved (see `cortext moved`).
        """
        if not self._moves:
            return rows
        return [
            replace(row, working_dir=folder)
            if (folder := self._moves.follow(row.working_dir, row.created_at)) != row.working_dir
            else row
            for row in rows
        ]

    @cached_property
    def _moves(self) -> MovedFolders:
        return moved_folders()

    def _with_status(self, rows: list[ConversationRow]) -> list[ConversationRow]:
        """Return the rows with the status that lists show.

        For example, an active conversation without recent activity is idle, and lists show it as
        paused. Set `self.idle` to the idle rows, and to the rows that cortext paused recently
        because they were idle.
        """
        shown = show_effective_status(rows, self.pause_minutes)
        self.idle = [*find_idle(rows, self.pause_minutes), *find_auto_paused(shown)]
        return shown

    def _unbound_sessions(
        self, known: Sequence[ConversationRow], everywhere: bool, patience: float | None
    ) -> Sequence[ConversationRow]:
        """Return the tool sessions that belong to no conversation in `known`.

        If a tool has a session open at the moment, the status of the session becomes "active".
        """
        found = self._catalog.tool_sessions(known, patience=patience)
        self.left, self.has_transcripts, self._grown_sessions = found.left, found.there, found.grown
        self._bound_sessions = found.bound
        sessions = self._follow_moves(found.rows)
        sessions = sessions if everywhere else below_folder(sessions, self.folder)
        limit = int(time.time() * 1_000_000) - _RECENT_MICROS
        if not any(row.last_active >= limit for row in sessions):
            return sessions
        live = live_sessions()
        if not live:
            return sessions
        ids = {id for _, id in live}
        return [
            replace(row, status="active") if row.key in ids and (row.tool, row.key) in live else row
            for row in sessions
        ]

    def pause_idle(self, idle: Sequence[ConversationRow]) -> Sequence[ConversationRow]:
        """Pause idle conversations, and return the paused conversations to report to the user.

        A conversation that was already reported is skipped, so each pause is reported only once.
        """
        new = self._catalog.find_unannounced(idle) if idle else ()
        if not new:
            return ()
        from cortext.features.manage.auto_pause import pause_and_record

        return pause_and_record(self._catalog, new)

    def find(self, query: str, wanted: ListFilter = EVERYTHING) -> Sequence[ConversationRow]:
        """Return the conversations that a query names: one, several or none.

        The query is an id, a path, a number, a part of an id, or words of a title. A number means a
        row in the last list that this terminal showed. An exact id takes precedence over a part of
        an id. Conversations of this place take precedence over other conversations that match
        equally well. The attribute `candidates` is set to all rows that were compared. Raises
        SessionStorageError if nothing was found and some conversations could not be read.
        """
        self.origin = ""
        local_rows = self._list_nameable(wanted, self.everywhere)
        self.candidates = [local_rows]
        found = find_named(query, local_rows) or self._find_by_number(query, local_rows)
        if not found and len(query.split()) > 1:
            # Several words cannot be an id, so the other places need no search for an exact id.
            found = self._find_by_any_name(query)
        if not found:
            # If some conversations of this place could not be read, a match elsewhere may be wrong.
            if not (self.everywhere or self._catalog.unread):
                self.candidates.append(self._list_nameable(wanted, True))
            found = self._find_by_any_name(query)
        if not found and self._catalog.unread:
            raise _read_error(self._catalog.unread[0])
        return without_copies(found, self.root)

    def _list_nameable(self, wanted: ListFilter, everywhere: bool) -> list[ConversationRow]:
        """Return every row that a user can name, also copies and empty sessions."""
        rows, self.missing = self.list(
            wanted, everywhere=everywhere, patience=None, copies=True, empty=True
        )
        return rows

    def _find_by_any_name(self, query: str) -> list[ConversationRow]:
        """Return the rows in `candidates` that the query names.

        Exact ids are tried first, then ids that other programs gave, then ids of imported sessions,
        then parts of ids and titles.
        """
        for match in (find_named, by_other_id, self._find_imported, by_part):
            for rows in self.candidates:
                if found := match(query, rows):
                    return found
        return []

    def _find_imported(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the conversations that were imported from a session whose id is the query.

        Lists show the imported conversation and hide the session itself.
        """
        ids = {row.key for row in by_other_id(query, self._all_standalone)}
        if len(query.split()) == 1:  # no id has a space in it
            ids.add(query.strip())
        found = imported_from(ids, rows) if ids else []
        self.origin = next(
            (row.key for row in self._all_standalone if found and row.key in ids), ""
        )
        return found

    def active(self) -> list[ConversationRow]:
        """Return the active conversations of workspaces.

        If no conversation is active, return `self.idle`: the conversations without recent activity.
        """
        rows = self.list(ListFilter(tool="")).rows
        active_rows = [row for row in rows if row.status == "active"]
        return active_rows or self.idle

    def remember_shown(self, rows: Sequence[ConversationRow]) -> None:
        """Remember the rows of a list. Later commands in this terminal accept their numbers."""
        self._catalog.remember_shown(_terminal(), rows)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog.at_home()

    def shown_as(self, query: str) -> tuple[str, str] | None:
        """Return the identity of a row in the last list that this terminal showed.

        `query` is the number of the row as text, such as "3". The result is the value of
        `ConversationRow.identity`. It is None if `query` is not a number, or if the list has no
        such row.
        """
        text = query.strip()
        if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
            return None
        return self._catalog.shown(_terminal(), int(text))

    def _find_by_number(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Find the conversation that has this number in the last list that the terminal showed.

        `query` is the number as text, such as "3". Search in `rows` first, and then in the rows of
        all workspaces and folders. Return a list with the found row. Return [] if `query` is not a
        number, or if there is no such row.
        """
        shown = self.shown_as(query)
        if shown is None:
            return []
        found = [row for row in rows if row.identity == shown]
        if not found:
            everything = self.list(everywhere=True, patience=None, copies=True).rows
            found = [row for row in everything if row.identity == shown]
        return found

    def _roots(self, everywhere: bool) -> tuple[list[str], list[str]]:
        remember_workspace(self.root)
        if not everywhere:
            return [self.root] if os.path.isdir(self.root) else [], []
        known = [
            root if os.path.isdir(root) else self._moves.follow(root) for root in known_workspaces()
        ]
        roots = list(dict.fromkeys([self.root, *known]))
        existing = [root for root in roots if os.path.isdir(root)]
        personal = paths.personal_workspace()
        return existing, [root for root in roots if root not in existing and root != personal]


def filter_rows(rows: list[ConversationRow], wanted: ListFilter) -> list[ConversationRow]:
    """Return the rows that pass the filter, sorted as `wanted.order` says."""
    return sort_rows(select_rows(rows, wanted), wanted.order)


def sort_rows(rows: list[ConversationRow], order: str) -> list[ConversationRow]:
    """Return the rows sorted by the field `order`.

    Rows are already sorted by `updated_at`. For this order, return them unchanged.
    """
    return sorted(rows, key=_ORDERS[order]) if order in _ORDERS else rows


def select_rows(rows: list[ConversationRow], wanted: ListFilter) -> list[ConversationRow]:
    """Return the rows that pass the filter, in the same order."""
    tests: list[Callable[[ConversationRow], bool]] = []
    if wanted.tool:
        tests.append(lambda row: wanted.tool in row.tools)
    if wanted.kind:
        tests.append(lambda row: row.kind == wanted.kind)
    if wanted.status:
        tests.append(lambda row: row.status == wanted.status)
    if wanted.tags:
        tests.append(lambda row: set(wanted.tags) <= set(row.tags))
    if wanted.owner:
        owner = shown(wanted.owner)  # rows have sanitized text
        tests.append(lambda row: row.owner == owner)
    if wanted.since is not None:
        tests.append(lambda row: row.last_active >= (wanted.since or 0))
    if wanted.with_session:
        tests.append(lambda row: bool(row.status))
    if wanted.branch:
        branch = told(wanted.branch)  # rows have redacted text
        tests.append(lambda row: row.branch == branch)
    if wanted.folder:
        tests.append(is_in_project(wanted.folder))
    for test in tests:
        rows = [*filter(test, rows)]
    return with_words(wanted.words, rows) if wanted.words else rows


def _with_branches(
    rows: list[ConversationRow], sessions: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Return the conversations, each with the git branch of its last tool session.

    `sessions` are the tool sessions of the conversations.
    """
    branches = {row.key: row.branch for row in sessions if row.branch}
    if not branches:
        return rows
    return [
        replace(row, branch=found[-1])
        if (found := [branches[id] for id in row.session_ids if id in branches])
        else row
        for row in rows
    ]


def _read_error(what: str) -> Exception:
    return SessionStorageError(f"could not read {what}", hint="nothing was changed")


def _split_by_folder(
    rows: list[ConversationRow],
) -> tuple[list[ConversationRow], list[ConversationRow]]:
    """Separate the personal rows without a known folder from all other rows.

    Personal rows are the conversations of the personal workspace. Return two lists: first all other
    rows, then the personal rows without a known folder. Both lists keep the order of `rows`.
    """
    personal = paths.personal_workspace()
    without_folder = [row for row in rows if row.workspace == personal and row.folder == personal]
    unknown_paths = {row.path for row in without_folder}
    with_folder = [
        row for row in rows if row.workspace != personal or row.path not in unknown_paths
    ]
    return with_folder if without_folder else rows, without_folder


def _terminal() -> str:
    """Return a name for this terminal.

    If there is no terminal, return a name for the process session (`os.getsid`).
    """
    session = os.getsid(0)
    for fd in (0, 1, 2):
        try:
            # A new terminal may get the device name of a closed one, so add the session id.
            return f"{os.ttyname(fd)} {session}"
        except OSError:
            continue
    return f"session {session}"
