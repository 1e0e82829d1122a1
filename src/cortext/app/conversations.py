"""The conversations of workspaces: listing them, and finding the one that is meant.

This module is imported by every list, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from cortext import paths
from cortext.config import Config
from cortext.index.catalog import Catalog
from cortext.index.listed import Listed
from cortext.lifecycle.known import known_workspaces, remember_workspace


class Wanted(NamedTuple):
    """Which conversations a list holds, and in which order; `None` and empty mean any."""

    kind: str | None = None
    status: str | None = None
    tags: Sequence[str] = ()
    since: int | None = None
    with_session: bool = False
    words: str = ""
    order: str = "updated_at"


EVERYTHING = Wanted()
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
    """Those of one workspace, or with `everywhere` of all that are known."""

    def __init__(self, root: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.everywhere = everywhere
        self.config = Config.load(root)
        self.pause_minutes = float(self.config["sessions.pause_minutes"])
        self.missing: list[str] = []
        self.idle: list[Listed] = []
        """What is active on disk and shown as paused, because it rested for long."""

    def list(self, wanted: Wanted = EVERYTHING, *, everywhere: bool | None = None) -> Listing:
        """The latest first; workspaces that are gone or moved are named."""
        roots, missing = self._roots(self.everywhere if everywhere is None else everywhere)
        rows = self._catalog.list(roots) if roots else []
        limit = int((time.time() - self.pause_minutes * 60) * 1_000_000)
        self.idle = [
            row
            for row in rows
            if row.status == "active" and row.last_active < limit and self.pause_minutes
        ]
        if self.idle:
            idle = {(row.root, row.path) for row in self.idle}
            rows = [r._replace(status="paused") if (r.root, r.path) in idle else r for r in rows]
        if wanted != EVERYTHING:
            rows = _filtered(rows, wanted)
        return Listing(rows, missing)

    def tell_once(self, idle: Sequence[Listed]) -> Sequence[Listed]:
        """Those that nobody was told of since they were last active."""
        return self._catalog.tell_once(idle) if idle else ()

    def find(self, query: str, wanted: Wanted = EVERYTHING) -> list[Listed]:
        """The one that is meant, several, or none. What is here comes before what is elsewhere."""
        from cortext.index.resolve import resolve

        for everywhere in dict.fromkeys((self.everywhere, True)):
            rows, self.missing = self.list(wanted, everywhere=everywhere)
            found = resolve(query, rows, self._numbered(query, rows))
            if found:
                return found
        return []

    def active(self) -> list[Listed]:
        """Those that are going on; if none is, those that were never stopped."""
        rows = self.list().rows
        return [row for row in rows if row.status == "active"] or self.idle

    def remember_shown(self, rows: Sequence[Listed]) -> None:
        """Let the numbers of this list be good for the next command in this terminal."""
        self._catalog.remember_shown(_terminal(), rows)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog.at_home()

    def _numbered(self, query: str, rows: Sequence[Listed]) -> Listed | None:
        text = query.strip()
        if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
            return None
        shown = self._catalog.shown(_terminal(), int(text))
        return next((row for row in rows if (row.root, row.path) == shown), None)

    def _roots(self, everywhere: bool) -> tuple[list[str], list[str]]:
        remember_workspace(self.root)
        if not everywhere:
            return [self.root] if os.path.isdir(self.root) else [], []
        roots = list(dict.fromkeys([self.root, *known_workspaces()]))
        there = [root for root in roots if os.path.isdir(root)]
        personal = paths.personal_workspace()
        return there, [root for root in roots if root not in there and root != personal]


def _filtered(rows: list[Listed], wanted: Wanted) -> list[Listed]:
    tests: list[Callable[[Listed], bool]] = []
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
