"""What the sessions that belong to no workspace add to the statistics.

A transcript may be long, and there are many of them: each is read once, in a thread of its own, the
latest first, and again only after it has changed. Nobody waits for all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.tables import Identity
from cortext.catalog.row import ConversationRow
from cortext.features.search.text_refresh import fingerprint_of
from cortext.features.stats.conversation_stats import Part, count, uncounted


class Known(NamedTuple):
    """The `parts` of sessions; of those that nobody has read yet, `unread` of them, it is only that
    they are there."""

    parts: list[tuple[ConversationRow, Part]]
    unread: int


class LooseParts:
    """What is known of sessions, from any thread; at most one reading at a time."""

    def __init__(self) -> None:
        self._known: dict[Identity, tuple[str, Part]] = {}
        """How each looked when it was read, and what it adds."""
        self._thread: threading.Thread | None = None

    @property
    def goes_on(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def catch_up(self, rows: Sequence[ConversationRow], patience: float) -> None:
        """Begin to read what is new in these, which are all that there are, unless that goes on
        already, and wait for it for so many seconds."""
        if not self.goes_on:
            there = {row.identity for row in rows}
            self._known = {key: found for key, found in self._known.items() if key in there}
            new = [
                row
                for row in rows
                if self._known.get(row.identity, ("",))[0] != fingerprint_of(row)
            ]
            if not new:
                return
            new.sort(key=lambda row: row.last_active, reverse=True)
            self._thread = threading.Thread(
                target=self._read, args=(new,), name="cortext-counts", daemon=True
            )
            self._thread.start()
        if self._thread is not None:
            self._thread.join(patience)

    def of(self, rows: Sequence[ConversationRow]) -> Known:
        known = dict(self._known)  # as it is at this moment
        parts = [(row, known.get(row.identity, ("", uncounted(row)))[1]) for row in rows]
        return Known(parts, sum(row.identity not in known for row in rows))

    def _read(self, rows: Iterable[ConversationRow]) -> None:
        for row in rows:
            # What is written while we read is new the next time.
            self._known[row.identity] = fingerprint_of(row), count(row)
