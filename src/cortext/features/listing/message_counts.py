"""Count the messages and tokens of AI tools' sessions for lists.

A count needs the whole transcript, so it is stored in the catalog. A list counts new sessions for a
short time only. A background process counts the rest.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from cortext.catalog.catalog import Catalog
from cortext.catalog.message_and_token_counts import SessionCounts
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError

_LARGE_FILE = 8 << 20
"""A transcript with more bytes is counted in the background, not while a list waits."""
_LONGEST_RESULT = 200
"""The number of characters of a tool result that are read. The rest is not needed for counts."""
_BATCH_SECONDS = 1.0
"""The number of seconds after which the counts so far are stored."""

Progress = Callable[[int, int], None]
"""A callback that gets the number of sessions counted so far and the total number."""


class CountedRows(msgspec.Struct, frozen=True):
    """Rows with their numbers of messages and tokens.

    `left` is the number of rows that were not counted, or that have an outdated count.
    """

    rows: list[ConversationRow]
    left: int


def add_counts(
    catalog: Catalog,
    rows: Sequence[ConversationRow],
    *,
    patience: float | None = None,
    progress: Progress | None = None,
) -> CountedRows:
    """Return the rows, and fill in the numbers of messages and tokens of tool sessions.

    Sessions that changed since their last count are counted in the order of `rows`. If `patience`
    is given, the counting stops after about this number of seconds, and large transcripts are
    skipped. If a session was never counted, its row does not change. If the count of a session is
    outdated, its row gets the outdated numbers.
    """
    if not any(_needs_counts(row) for row in rows):
        return CountedRows(list(rows), 0)
    known = catalog.session_counts()
    changed = [row for row in rows if _needs_counts(row) and not _is_current(row, known)]
    left = 0
    if changed:
        new = _count_changed(catalog, changed, patience, progress)
        left = len(changed) - len(new)
        known |= new
    return CountedRows([_with_counts(row, known) for row in rows], left)


def _needs_counts(row: ConversationRow) -> bool:
    """Return whether a row is a session of an AI tool. Only these rows need counts."""
    return bool(row.tool) and not row.is_standalone


def _is_current(row: ConversationRow, known: dict[tuple[str, str], SessionCounts]) -> bool:
    found = known.get((row.tool, row.key))
    return found is not None and found.fingerprint == row.fingerprint


def _with_counts(
    row: ConversationRow, known: dict[tuple[str, str], SessionCounts]
) -> ConversationRow:
    found = known.get((row.tool, row.key)) if row.tool else None
    return replace(row, messages=found.messages, tokens=found.tokens) if found else row


def _count_changed(
    catalog: Catalog,
    changed: Sequence[ConversationRow],
    patience: float | None,
    progress: Progress | None,
) -> dict[tuple[str, str], SessionCounts]:
    """Count sessions, store the counts, and return them.

    If `patience` is given, the counting stops after about this number of seconds, and large
    transcripts are skipped. The keys of the result are pairs of a tool and a session key.
    """
    deadline = None if patience is None else time.monotonic() + patience
    # The size of a file with several sessions says nothing about the size of each session.
    databases = {
        path for path, number in Counter(row.path for row in changed).items() if number > 1
    }
    counted: dict[tuple[str, str], SessionCounts] = {}
    batch: list[tuple[ConversationRow, SessionCounts]] = []
    stored_at = time.monotonic()
    for number, row in enumerate(changed, 1):
        if deadline is not None and time.monotonic() >= deadline:
            break
        if deadline is not None and row.path not in databases and _is_large(row):
            continue
        counts = count_session(row)
        counted[row.tool, row.key] = counts
        batch.append((row, counts))
        if time.monotonic() - stored_at >= _BATCH_SECONDS:
            catalog.store_session_counts(batch)
            batch, stored_at = [], time.monotonic()
        if progress is not None:
            progress(number, len(changed))
    catalog.store_session_counts(batch)
    return counted


def count_session(row: ConversationRow) -> SessionCounts:
    """Read a tool session, and return its numbers of messages and tokens.

    Both numbers are 0 if the session cannot be read.
    """
    # Import late: the readers of transcripts are not needed if nothing changed.
    from cortext.features.listing.session_of_row import read

    try:
        session, _ = read(row, _LONGEST_RESULT)
    except (OSError, ValueError, CortextError):
        return SessionCounts(row.fingerprint, 0, 0)
    return SessionCounts(row.fingerprint, len(session.messages), session.total_tokens)


def _is_large(row: ConversationRow) -> bool:
    try:
        return os.path.getsize(row.path) > _LARGE_FILE
    except OSError:
        return False
