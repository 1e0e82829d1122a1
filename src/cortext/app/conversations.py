"""The conversations of workspaces: listing them, and finding the one that is meant.

This module is imported by every list, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from cortext import paths
from cortext.config import Config
from cortext.index.catalog import EVERYTHING, Catalog, Listed, Wanted
from cortext.lifecycle.known import known_workspaces, remember_workspace


class Listing(NamedTuple):
    """What was found, the workspaces that are gone or moved, and what of the rows is active on
    disk and shown as paused, because it rested for long."""

    rows: list[Listed]
    missing: list[str]
    idle: list[Listed]


class Conversations:
    """Those of one workspace, or with `everywhere` of all that are known."""

    def __init__(self, root: str, *, everywhere: bool = False) -> None:
        self.root = root
        self.everywhere = everywhere
        self.config = Config.load(root)
        self.pause_minutes = float(self.config["sessions.pause_minutes"])
        self.idle: list[Listed] = []

    def list(
        self, wanted: Wanted = EVERYTHING, *, words: str = "", everywhere: bool | None = None
    ) -> Listing:
        """The latest first; workspaces that are gone or moved are named. All `words` stand in
        the title or the summary."""
        roots, missing = self._roots(self.everywhere if everywhere is None else everywhere)
        if not roots:
            return Listing([], missing, [])
        idle_before = int((time.time() - self.pause_minutes * 60) * 1_000_000)
        if not self.pause_minutes:
            idle_before = 0
        rows = self._catalog.list(roots, wanted._replace(idle_before=idle_before))
        if words:
            from cortext.index.resolve import with_words

            rows = with_words(words, rows)
        idle = [row for row in rows if row.status == "idle"]
        rows = [row._replace(status="paused") if row.status == "idle" else row for row in rows]
        self.idle = idle
        return Listing(rows, missing, idle)

    def tell_once(self, idle: Sequence[Listed]) -> Sequence[Listed]:
        """Those that nobody was told of since they were last active."""
        return self._catalog.tell_once(idle) if idle else ()

    def find(self, query: str) -> list[Listed]:
        """The one that is meant, several, or none. What is here comes before what is elsewhere."""
        from cortext.index.resolve import resolve

        for everywhere in dict.fromkeys((self.everywhere, True)):
            rows = self.list(everywhere=everywhere).rows
            found = resolve(query, rows, self._numbered(query, rows))
            if found:
                return found
        return []

    def active(self) -> list[Listed]:
        """Those that are going on; if none is, those that were never stopped."""
        rows, _, idle = self.list()
        return [row for row in rows if row.status == "active"] or idle

    def remember_shown(self, rows: Sequence[Listed]) -> None:
        """Let the numbers of this list be good for the next command in this terminal."""
        self._catalog.remember_shown(_terminal(), rows)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog(_writable(paths.catalog()))

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


def _terminal() -> str:
    """What the numbers of a list are good for: this terminal, else whatever started us."""
    for fd in (0, 1, 2):
        try:
            return os.ttyname(fd)
        except OSError:
            continue
    return f"session {os.getsid(0)}"


def _writable(path: str) -> str:
    """The catalog's path; where it cannot be written, one that lasts as long as we do."""
    from cortext.durability.replace import make_private_dir

    folder = os.path.dirname(path)
    try:
        make_private_dir(folder)
    except OSError:
        return ":memory:"
    return path if os.access(folder, os.W_OK) else ":memory:"
