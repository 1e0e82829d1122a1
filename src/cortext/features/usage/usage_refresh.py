"""Bring the stored usage up to date with the transcripts of all tools. Only new lines are read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b

from cortext.catalog.catalog import Catalog
from cortext.catalog.row_table import FRESH_NS
from cortext.catalog.tool_sessions import scan_tool_folders
from cortext.catalog.usage_table import (
    CostOf,
    KnownSession,
    drop_sessions,
    store_fact,
    store_session,
    use_prices,
)
from cortext.features.usage.prices import Prices
from cortext.tools import transcript_folders
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.registry import find_tool, open_bridge, tools

_FOLDERS = "folders"
_NEW: KnownSession = KnownSession("", {})
Progress = Callable[[int, int], None]
"""A callback that gets the number of sessions read so far and the total number."""


def refresh_usage(catalog: Catalog, prices: Prices, progress: Progress | None = None) -> None:
    """Read the usage of new and changed sessions into the catalog."""
    began = time.time_ns()
    states = scan_tool_folders()
    scanned = blake2b(b"".join(state.print for state in states.values())).hexdigest()
    is_settled = all(state.latest < began - FRESH_NS for state in states.values())
    if catalog.usage_fact(_FOLDERS) != scanned:
        _read_changed(catalog, prices.cost, progress)
        # A file that was just written can change again within the same clock tick.
        catalog.change_usage(
            lambda db: store_fact(db, _FOLDERS, scanned if is_settled else "unsettled")
        )
    catalog.change_usage(lambda db: use_prices(db, prices.version, prices.cost))


def _read_changed(catalog: Catalog, cost_of: CostOf, progress: Progress | None) -> None:
    known = catalog.known_usage()
    sources = {(source.tool, source.id): source for source in _sources()}
    changed = [
        (key, source)
        for key, source in sources.items()
        if known.get(key, _NEW).fingerprint != source.print
    ]
    # A resumed or forked session repeats the answers of the session before. They count for the
    # session that is stored first.
    changed.sort(key=lambda item: _changed_at(item[1]))
    for number, ((tool, session), source) in enumerate(changed, 1):
        files = list(find_tool(tool).load("usage")(source, known.get((tool, session), _NEW).states))
        catalog.change_usage(
            partial(
                store_session,
                tool=tool,
                session=session,
                fingerprint=source.print,
                files=files,
                cost_of=cost_of,
            )
        )
        if progress is not None:
            progress(number, len(changed))
    gone = known.keys() - sources.keys()
    if gone:
        catalog.change_usage(lambda db: drop_sessions(db, gone))


def _sources() -> Iterator[TranscriptSource]:
    """Yield the transcripts of all tools. The archive has those that a tool has deleted."""
    for tool in tools():
        if tool.usage is None:
            continue
        for home in (transcript_folders.archive_home(tool.name), None):
            yield from open_bridge(tool.name, home).sources()


def _changed_at(source: TranscriptSource) -> float:
    try:
        return os.stat(source.path).st_mtime
    except OSError:
        return 0.0  # reading it reports the error
