"""List conversations and sessions, and find the one that a user means."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import by_other_id, by_part, with_words
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow, recency
from cortext.catalog.sanitize import shown
from cortext.config import Config
from cortext.errors import SessionStorageError
from cortext.features.listing.folder_filters import in_folder, without_copies
from cortext.features.listing.standalone_sessions import (
    find_named,
    imported_from,
    list_standalone,
    without_known,
)
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.inactivity import find_auto_paused, find_idle, show_effective_status
from cortext.workspace.known_folders import known_workspaces, remember_workspace


class ListFilter(NamedTuple):
    """The filters and the sort order of a list of conversations.

    None and empty values do not filter. The exception is `tool`: with "", the list has only
    conversations of workspaces. `since` is in microseconds since 1970. `with_session` leaves out
    folders without a session. `words` must be in title or summary.
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

    @property
    def may_be_had_in_tool(self) -> bool:
        """Whether conversations that took place in an AI tool can pass the filter."""
        return self.tool not in ("", AUR, DOCUMENT)

    @property
    def may_be_session(self) -> bool:
        """Whether tool sessions that are bound to no conversation can pass the filter."""
        return (
            self.may_be_had_in_tool
            and self.kind in (None, "", "chat")
            and self.status in (None, "", "active", "paused")
            and not (self.tags or self.owner)
        )

    @property
    def may_be_apart(self) -> bool:
        """Whether sessions of `aur spawn` or of programs can pass the filter."""
        return self.tool in (None, AUR, DOCUMENT)


EVERYTHING = ListFilter()
_PATIENCE = 1.0
"""The seconds for which a list reads new transcripts."""
_RECENT_MICROS = 86_400 * 1_000_000
_ORDERS: dict[str, Callable[[ConversationRow], Any]] = {
    "created_at": lambda row: -row.created_at,
    "title": lambda row: row.title.casefold(),
    "id": lambda row: row.id,
    "message_count": lambda row: -row.messages,
    "total_tokens": lambda row: -row.tokens,
}


class Listing(NamedTuple):
    """The rows of a list, and the known workspaces that were deleted or moved."""

    rows: list[ConversationRow]
    missing: list[str]


class ConversationList:
    """The list of conversations and sessions for one place.

    In a workspace, the list has its conversations, and personal conversations and sessions that
    took place in its folder. Outside any workspace, the list has everything that took place in the
    current folder, then personal conversations without a known folder. With `everywhere`, the list
    has all known conversations and sessions.
    """

    def __init__(self, root: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.everywhere = everywhere
        self.folder: str = paths.current_folder() if root == paths.personal_workspace() else root
        self.config: Config = Config.load(root)
        self.pause_minutes: float = float(self.config["sessions.pause_minutes"])
        self.missing: list[str] = []
        self.idle: list[ConversationRow] = []
        """The idle conversations, which count as paused even if their files say `active`."""
        self.damaged: list[str] = []
        """Notes about session files that cannot be listed, with the reasons."""
        self.has_transcripts: bool = False
        """Whether the last call of `list` found any transcript of a tool."""
        self.left: int = 0
        """The number of transcripts that the last call of `list` had no time to read."""
        self.candidates: list[list[ConversationRow]] = []
        """The rows that the last `find` compared: of this place, then of all places."""
        self.origin: str = ""
        """The id of a standalone session, if `find` returned its import instead; otherwise ""."""
        self._kept: list[ConversationRow] = []
        self._grown: Sequence[ConversationRow] = ()
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
        patience: float | None = _PATIENCE,
        capture: bool = False,
        copies: bool = False,
        empty: bool = False,
    ) -> Listing:
        """Return the rows, the latest first, and the workspaces that were deleted or moved.

        New transcripts are read for about `patience` seconds; None means no limit. With `capture`,
        new messages from tools are first captured into their conversations. Without `copies`, a
        conversation that is in several copies of a workspace is listed once. Sessions of `aur
        spawn` without a turn are listed only with `empty`.
        """
        everywhere = self.everywhere if everywhere is None else everywhere
        rows, missing = self._conversations(everywhere)
        apart: list[ConversationRow] = []
        if wanted.may_be_apart:
            apart = self._apart(rows, wanted.tool, everywhere, patience)
            if not empty:
                apart = [row for row in apart if row.tool != AUR or not row.is_empty]
        sessions: Sequence[ConversationRow] = ()
        if wanted.may_be_had_in_tool:
            sessions = self._sessions([*rows, *apart], everywhere, patience)
            if capture and self._grown:
                from cortext.features.capture.grown_sessions import capture_grown

                rows = capture_grown(self._catalog, rows, self._grown, patience)
        rows = self._with_status(rows)
        if not everywhere:
            apart = in_folder(apart, self.folder)
        elif not copies:
            rows = without_copies(rows, self.root)
        if not wanted.may_be_session:
            sessions = ()
        if apart or sessions:
            several = rows or apart  # a single list is sorted already, and may be long
            rows = [*rows, *apart, *sessions]
            rows = sorted(rows, key=recency, reverse=True) if several else rows
            if not everywhere and self.root == paths.personal_workspace():
                rows = [row for part in _by_place(rows) for row in part]
        if wanted != EVERYTHING:
            rows = filter_rows(rows, wanted)
        return Listing(rows, missing)

    def _conversations(self, everywhere: bool) -> tuple[list[ConversationRow], list[str]]:
        """Return the conversations of workspaces, and the workspaces that do not exist any more.

        A workspace also gets the personal conversations that took place in its folder, for example
        before the folder became a workspace.
        """
        roots, missing = self._roots(everywhere)
        rows = self._catalog.list(roots) if roots else []
        personal = paths.personal_workspace()
        if everywhere or not os.path.isdir(personal):
            return rows, missing
        if self.root == personal:
            placed, unknown = _by_place(rows)
            rows = [*in_folder(placed, self.folder), *unknown]
        elif had := in_folder(self._catalog.list([personal]), self.folder):
            rows = sorted([*rows, *had], key=recency, reverse=True)
        return rows, missing

    def _apart(
        self,
        known: Sequence[ConversationRow],
        tool: str | None,
        everywhere: bool,
        patience: float | None,
    ) -> list[ConversationRow]:
        """Return the sessions of `aur spawn` and of programs that `known` does not contain."""
        roots = dict.fromkeys((self.root, *known_workspaces()))
        found = list_standalone(self._catalog, self.config, roots, tool, patience)
        notes = found.notes
        if notes and not everywhere:
            others = tuple(paths.project_document_dir(root) for root in roots if root != self.root)
            notes = [note for note in notes if not note.startswith(others)]
        self.damaged = notes
        self._kept = [*found.spawned, *found.documents]
        return without_known(self._catalog, found, known)

    def _with_status(self, rows: list[ConversationRow]) -> list[ConversationRow]:
        """Return the rows with the status that lists show, and store the idle rows in `idle`."""
        shown = show_effective_status(rows, self.pause_minutes)
        self.idle = [*find_idle(rows, self.pause_minutes), *find_auto_paused(shown)]
        return shown

    def _sessions(
        self, known: Sequence[ConversationRow], everywhere: bool, patience: float | None
    ) -> Sequence[ConversationRow]:
        """Return the tool sessions that belong to no conversation.

        `known` has the conversations that are listed already.
        """
        found = self._catalog.tool_sessions(known, patience=patience)
        self.left, self.has_transcripts, self._grown = found.left, found.there, found.grown
        sessions = found.rows if everywhere else in_folder(found.rows, self.folder)
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
        """Save idle conversations as paused, and return those that the user should be told about.

        Conversations that were announced to the user since their last activity are skipped.
        """
        new = self._catalog.find_unannounced(idle) if idle else ()
        if not new:
            return ()
        from cortext.features.manage.auto_pause import pause_and_record

        return pause_and_record(self._catalog, new)

    def find(self, query: str, wanted: ListFilter = EVERYTHING) -> Sequence[ConversationRow]:
        """Return the conversations that a query names: one, several or none.

        A number means a row of the list that this terminal showed last. An id that a list shows
        takes precedence over other names. Among names of the same kind, conversations of this place
        take precedence. Afterwards, `candidates` has the rows that were compared. Raises
        SessionStorageError if nothing was found and some conversations could not be read.
        """
        self.origin = ""
        here = self._all(wanted, self.everywhere)
        self.candidates = [here]
        found = find_named(query, here) or self._numbered(query, here)
        if not found and len(query.split()) > 1:
            # Several words are not an id, so no exact match elsewhere takes precedence.
            found = self._by_any_name(query)
        if not found:
            # If some conversations could not be read, a match elsewhere may be the wrong one.
            if not (self.everywhere or self._catalog.unread):
                self.candidates.append(self._all(wanted, True))
            found = self._by_any_name(query)
        if not found and self._catalog.unread:
            raise _could_not_read(self._catalog.unread[0])
        return without_copies(found, self.root)

    def _all(self, wanted: ListFilter, everywhere: bool) -> list[ConversationRow]:
        """Return every row that a query can name."""
        rows, self.missing = self.list(
            wanted, everywhere=everywhere, patience=None, copies=True, empty=True
        )
        return rows

    def _by_any_name(self, query: str) -> list[ConversationRow]:
        """Return the rows in `candidates` that the query names.

        Exact ids are tried first, then ids of other programs, then imports, then parts of ids and
        titles.
        """
        for names in (find_named, by_other_id, self._imported_from, by_part):
            for rows in self.candidates:
                if found := names(query, rows):
                    return found
        return []

    def _imported_from(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that were imported from a session whose id is the query.

        Lists do not show such a session, because they show its import.
        """
        ids = {row.key for row in by_other_id(query, self._kept)}
        if len(query.split()) == 1:  # no id has a space in it
            ids.add(query.strip())
        found = imported_from(ids, rows) if ids else []
        self.origin = next((row.key for row in self._kept if found and row.key in ids), "")
        return found

    def active(self) -> list[ConversationRow]:
        """Return the active conversations of workspaces; the idle ones if none is active."""
        rows = self.list(ListFilter(tool="")).rows
        going_on = [row for row in rows if row.status == "active"]
        return going_on or self.idle

    def remember_shown(self, rows: Sequence[ConversationRow]) -> None:
        """Store the numbers of these rows for the next command in this terminal."""
        self._catalog.remember_shown(_terminal(), rows)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog.at_home()

    def shown_as(self, query: str) -> tuple[str, str] | None:
        """Return the identity of the row with this number in the last list of this terminal.

        Return None if the query is not a number, or if the list has no such row.
        """
        text = query.strip()
        if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
            return None
        return self._catalog.shown(_terminal(), int(text))

    def _numbered(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the row with this number in the terminal's last list, or an empty list.

        If `rows` does not have the row, all places are searched.
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
        roots = list(dict.fromkeys([self.root, *known_workspaces()]))
        there = [root for root in roots if os.path.isdir(root)]
        personal = paths.personal_workspace()
        return there, [root for root in roots if root not in there and root != personal]


def filter_rows(rows: list[ConversationRow], wanted: ListFilter) -> list[ConversationRow]:
    """Return the rows that pass the filter, in the order that the filter names."""
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
    for test in tests:
        rows = [*filter(test, rows)]
    if wanted.words:
        rows = with_words(wanted.words, rows)
    return sorted(rows, key=_ORDERS[wanted.order]) if wanted.order in _ORDERS else rows


def _could_not_read(what: str) -> Exception:
    return SessionStorageError(f"could not read {what}", hint="nothing was changed")


def _by_place(rows: list[ConversationRow]) -> tuple[list[ConversationRow], list[ConversationRow]]:
    """Separate the rows with a known folder from personal rows without a known folder."""
    personal = paths.personal_workspace()
    unknown = [row for row in rows if row.workspace == personal and row.folder == personal]
    paths_of = {row.path for row in unknown}
    placed = [row for row in rows if row.workspace != personal or row.path not in paths_of]
    return placed if unknown else rows, unknown


def _terminal() -> str:
    """Return a name for this terminal, or for the process session if there is no terminal."""
    session = os.getsid(0)
    for fd in (0, 1, 2):
        try:
            # A new terminal may get the device name of a closed one, so add the session id.
            return f"{os.ttyname(fd)} {session}"
        except OSError:
            continue
    return f"session {session}"
