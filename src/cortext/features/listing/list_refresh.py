"""What a list has to read: on its way, what was said in sessions that conversations hold; in a
process of its own, the transcripts that there was no time for.

Lists import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cortext.catalog.row import ConversationRow, recency
from cortext.features.archive.background import start_detached

if TYPE_CHECKING:
    from cortext.catalog.catalog import Catalog

_PROGRAM = "from cortext.features.listing.list_refresh import read_all; read_all()"


def read_the_rest() -> bool:
    """Begin to read what the catalog does not know, and do not wait for it; whether that was
    begun. In CI nothing goes on after a command."""
    if os.environ.get("CI"):
        return False
    return start_detached("-c", _PROGRAM)


def read_all() -> None:
    """Bring the catalog up to date with every transcript that there is."""
    from cortext.catalog.catalog import Catalog

    with Catalog.at_home() as catalog:
        catalog.tool_sessions()


def take_in_grown(
    catalog: Catalog,
    rows: list[ConversationRow],
    sessions: Sequence[ConversationRow],
    patience: float | None,
) -> list[ConversationRow]:
    """The rows of a list, after what was said since in these sessions of tools was taken into the
    conversations that hold them, for about `patience` seconds: also where nobody stopped them and
    no hook told us."""
    from cortext.features.capture.capture import capture_pending

    end = None if patience is None else time.monotonic() + patience
    holders: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for id in row.session_ids:
            holders.setdefault(id, []).append(place)
    now, seen = list(rows), list[ConversationRow]()
    for session in sessions:
        if end is not None and time.monotonic() > end:
            break
        for place in holders.get(session.key, ()):
            now[place] = capture_pending(now[place])
        seen.append(session)
    catalog.remember_taken(seen)
    return sorted(now, key=recency, reverse=True)
