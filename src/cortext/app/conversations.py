"""Conversations of workspaces, sessions of tools, of `aur spawn` and of programs: listing them, and
finding the one that is meant.

This module is imported by every list, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from cortext import paths
from cortext.app.apart import called, list_apart, not_elsewhere
from cortext.app.resting import rested, resting
from cortext.config import Config
from cortext.index.catalog import Catalog
from cortext.index.listed import AUR, DOCUMENT, Listed
from cortext.lifecycle.known import known_workspaces, remember_workspace


class Wanted(NamedTuple):
    """Which conversations a list holds, and in which order; `None` and empty mean any. With a
    `tool` of "" there are only conversations of workspaces among them."""

    kind: str | None = None
    status: str | None = None
    tags: Sequence[str] = ()
    since: int | None = None
    with_session: bool = False
    words: str = ""
    order: str = "updated_at"
    tool: str | None = None

    @property
    def may_be_session(self) -> bool:
        """Whether a session of an AI tool can be among them."""
        return (
            self.tool not in ("", AUR, DOCUMENT)
            and self.kind in (None, "", "chat")
            and self.status in (None, "", "active", "paused")
            and not self.tags
        )

    @property
    def may_be_apart(self) -> bool:
        """Whether a session of `aur spawn`, or of a program, can be among them."""
        return self.tool in (None, AUR, DOCUMENT)


EVERYTHING = Wanted()
_PATIENCE = 1.0
"""Seconds that a list looks at transcripts which it does not know."""
_RECENT_MICROS = 86_400 * 1_000_000
_ORDERS: dict[str, Callable[[Listed], Any]] = {
    "created_at": lambda row: -row.created_at,
    "title": lambda row: row.title.casefold(),
    "id": lambda row: row.id,
    "message_count": lambda row: -row.messages,
    "total_tokens": lambda row: -row.tokens,
}


class Listing(NamedTuple):
    """What was found, and the workspaces that are gone or moved."""

    rows: list[Listed]
    missing: list[str]


class Conversations:
    """Those of one workspace, with personal ones and sessions of tools, of `aur spawn` and of
    programs that were had in its folder; in the personal workspace, the sessions had in the
    current folder. With `everywhere`, all that are known."""

    def __init__(self, root: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.everywhere = everywhere
        self.folder = os.getcwd() if root == paths.personal_workspace() else root
        self.config = Config.load(root)
        self.pause_minutes = float(self.config["sessions.pause_minutes"])
        self.missing: list[str] = []
        self.idle: list[Listed] = []
        """What was paused because it rested for long: shown so, or by a hook on disk too."""
        self.damaged: list[str] = []
        """What is wrong with files of sessions that cannot be listed."""
        self.has_transcripts = False
        """Whether tools have written anything, as far as a list had a look."""
        self.left = 0
        """How many transcripts nobody looked at yet."""
        self.searched: tuple[int, int] | None = None
        """How many conversations `find` looked through for the words, and of how many."""

    def list(
        self,
        wanted: Wanted = EVERYTHING,
        *,
        everywhere: bool | None = None,
        patience: float | None = _PATIENCE,
    ) -> Listing:
        """The latest first; workspaces that are gone or moved are named. Transcripts that are not
        known are looked at for about `patience` seconds; None is until all are."""
        everywhere = self.everywhere if everywhere is None else everywhere
        roots, missing = self._roots(everywhere)
        rows = self._catalog.list(roots) if roots else []
        if not everywhere:
            rows = self._with_personal(rows)
        rows = self._paused(rows)
        apart: list[Listed] = []
        if wanted.may_be_apart:
            apart = self._apart(rows, wanted.tool, everywhere, patience)
        sessions: Sequence[Listed] = ()
        if wanted.may_be_session:
            sessions = self._sessions([*rows, *apart], everywhere, patience)
        if not everywhere:
            apart = self._had_here(apart)
        if apart or sessions:
            rows = sorted([*rows, *apart, *sessions], key=_latest, reverse=True)
        if wanted != EVERYTHING:
            rows = filtered(rows, wanted)
        return Listing(rows, missing)

    def _with_personal(self, rows: list[Listed]) -> list[Listed]:
        """With the personal conversations that were had in this folder, perhaps before it was
        made a workspace."""
        personal = paths.personal_workspace()
        if self.root == personal or not os.path.isdir(personal):
            return rows
        below = f"{self.folder.rstrip('/')}/"
        had = [r for r in self._catalog.list([personal]) if f"{r.had_in}/".startswith(below)]
        return sorted([*rows, *had], key=_latest, reverse=True) if had else rows

    def _apart(
        self, known: Sequence[Listed], tool: str | None, everywhere: bool, patience: float | None
    ) -> list[Listed]:
        """The sessions of `aur spawn` and of programs of which no conversation is known."""
        roots = dict.fromkeys((self.root, *known_workspaces()))
        found = list_apart(self._catalog, self.config, roots, tool, patience)
        notes = found.notes
        if notes and not everywhere:
            others = tuple(paths.project_document_dir(root) for root in roots if root != self.root)
            notes = [note for note in notes if not note.startswith(others)]
        self.damaged = notes
        return not_elsewhere(self._catalog, found, known)

    def _had_here(self, rows: Sequence[Listed]) -> list[Listed]:
        """Those that were had in this folder or below it."""
        below = f"{self.folder.rstrip('/')}/"
        return [row for row in rows if f"{row[0].partition(':')[2]}/".startswith(below)]

    def _paused(self, rows: list[Listed]) -> list[Listed]:
        """The rows as they are shown: what rested for long is paused."""
        active = resting(rows, self.pause_minutes)
        self.idle = [*active, *rested(rows)]
        if active:
            idle = {(row.root, row.path) for row in active}
            rows = [r._replace(status="paused") if (r.root, r.path) in idle else r for r in rows]
        return rows

    def _sessions(
        self, known: Sequence[Listed], everywhere: bool, patience: float | None
    ) -> Sequence[Listed]:
        """The sessions of tools that belong to no conversation."""
        rows, _, self.left, self.has_transcripts = self._catalog.tool_sessions(
            known, patience=patience
        )
        if not everywhere:
            rows = self._had_here(rows)
        limit = int(time.time() * 1_000_000) - _RECENT_MICROS
        if not any(row.last_active >= limit for row in rows):
            return rows
        from cortext.bridges.live import live_sessions

        live = live_sessions()
        return [
            row._replace(status="active") if (row.tool, row.key) in live else row for row in rows
        ]

    def tell_once(self, idle: Sequence[Listed]) -> Sequence[Listed]:
        """Those that nobody was told of since they were last active."""
        return self._catalog.tell_once(idle) if idle else ()

    def find(
        self,
        query: str,
        wanted: Wanted = EVERYTHING,
        *,
        contents: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Sequence[Listed]:
        """The one that is meant, several, or none. What is here comes before what is elsewhere.
        With `contents`, if nothing is called so: those in which the words were said; `searched`
        then says how many were looked through, and `progress` is told while new ones are."""
        from cortext.index.resolve import resolve

        self.searched = None
        scopes = dict.fromkeys((self.everywhere, True))
        listings: list[list[Listed]] = []
        for everywhere in scopes:
            rows, self.missing = self.list(wanted, everywhere=everywhere, patience=None)
            listings.append(rows)
            found = called(query, rows) or resolve(query, rows, self._numbered(query, rows))
            if found:
                return found
            if self._catalog.unread:
                # What is meant may be there: another of that name would be the wrong one.
                raise _could_not_read(self._catalog.unread[0])
        return self._with_contents(query, listings, progress) if contents else []

    def _with_contents(
        self,
        query: str,
        listings: Sequence[Sequence[Listed]],
        progress: Callable[[int, int], None] | None,
    ) -> Sequence[Listed]:
        from cortext.app.contents import Contents

        said = Contents(progress)
        seen: set[tuple[str, str]] = set()
        looked = of = 0
        for rows in listings:
            new = [row for row in rows if row.identity not in seen]
            seen.update(row.identity for row in new)
            found = said.having(query, new)
            looked, of = looked + found.looked, of + found.all
            self.searched = looked, of
            if found.rows:
                return found.rows
        return []

    def active(self) -> list[Listed]:
        """Those that are going on; if none is, those that were never stopped."""
        rows = self.list(Wanted(tool="")).rows
        going_on = [row for row in rows if row.status == "active"]
        return going_on or self.idle

    def remember_shown(self, rows: Sequence[Listed]) -> None:
        """Let the numbers of this list be good for the next command in this terminal."""
        self._catalog.remember_shown(_terminal(), rows)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog.at_home()

    def shown_as(self, query: str) -> tuple[str, str] | None:
        """The identity of what has this number in the last list of this terminal."""
        text = query.strip()
        if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
            return None
        return self._catalog.shown(_terminal(), int(text))

    def _numbered(self, query: str, rows: Sequence[Listed]) -> Listed | None:
        shown = self.shown_as(query)
        return next((row for row in rows if row.identity == shown), None)

    def _roots(self, everywhere: bool) -> tuple[list[str], list[str]]:
        remember_workspace(self.root)
        if not everywhere:
            return [self.root] if os.path.isdir(self.root) else [], []
        roots = list(dict.fromkeys([self.root, *known_workspaces()]))
        there = [root for root in roots if os.path.isdir(root)]
        personal = paths.personal_workspace()
        return there, [root for root in roots if root not in there and root != personal]


def filtered(rows: list[Listed], wanted: Wanted) -> list[Listed]:
    tests: list[Callable[[Listed], bool]] = []
    if wanted.tool:
        tests.append(lambda row: wanted.tool in row.tools)
    if wanted.kind:
        tests.append(lambda row: row.kind == wanted.kind)
    if wanted.status:
        tests.append(lambda row: row.status == wanted.status)
    if wanted.tags:
        tests.append(lambda row: set(wanted.tags) <= set(row.tags))
    if wanted.since is not None:
        tests.append(lambda row: row.last_active >= (wanted.since or 0))
    if wanted.with_session:
        tests.append(lambda row: bool(row.status))
    for test in tests:
        rows = [*filter(test, rows)]
    if wanted.words:
        from cortext.index.resolve import with_words

        rows = with_words(wanted.words, rows)
    return sorted(rows, key=_ORDERS[wanted.order]) if wanted.order in _ORDERS else rows


def _could_not_read(what: str) -> Exception:
    from cortext.errors import SessionStorageError

    return SessionStorageError(f"could not read {what}", hint="nothing was changed")


def _latest(row: Listed) -> tuple[int, str]:
    return row.last_active, row.path


def _terminal() -> str:
    """What the numbers of a list are good for: this terminal, else whatever started us."""
    session = os.getsid(0)
    for fd in (0, 1, 2):
        try:
            # Another terminal may get the name of one that was closed.
            return f"{os.ttyname(fd)} {session}"
        except OSError:
            continue
    return f"session {session}"
