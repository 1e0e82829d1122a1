"""Bring the stored usage up to date with the transcripts of all tools. Only new lines are read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b

from msgspec.structs import replace

from cortext.catalog.catalog import Catalog
from cortext.catalog.usage_table import (
    EPOCH,
    CatalogReplacedError,
    CostOf,
    KnownSession,
    drop_sessions,
    start_epoch,
    store_session,
    use_prices,
)
from cortext.errors import SessionStorageError
from cortext.features.capture.transcripts import beside, transcript_in_file
from cortext.features.usage.prices import Prices
from cortext.tools import transcript_folders
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge, tools

_ATTEMPTS = 3
_BATCH = 32
"""The number of sessions that are stored in one transaction, because a transaction is slow."""
_NEW: KnownSession = KnownSession("", {})
Progress = Callable[[int, int], None]
"""A callback that gets the number of sessions read so far and the total number."""


def refresh_usage(catalog: Catalog, prices: Prices, progress: Progress | None = None) -> None:
    """Read the usage of new and changed sessions, and store it in the catalog.

    Raises SessionStorageError if other processes replace the catalog again and again.
    """
    _with_prices(catalog, prices, lambda: _read_changed(catalog, prices.cost, progress))


def refresh_session(catalog: Catalog, prices: Prices, tool: str, session: str, path: str) -> None:
    """Read the new usage of one session, and store it in the catalog.

    `path` is the path of the transcript. If it is not a transcript of this session, do nothing.
    """
    found = transcript_in_file(tool, session, path)
    if found is None:
        return
    source = _fingerprinted(*found)

    def read() -> None:
        known = catalog.known_usage().get((tool, session), _NEW)
        if known.fingerprint != source.print:
            change = _read_session(source, known, prices.cost, catalog.usage_fact(EPOCH))
            catalog.change_usage(change)

    _with_prices(catalog, prices, read)


def _with_prices(catalog: Catalog, prices: Prices, read: Callable[[], None]) -> None:
    """Prepare the catalog for these prices and call `read`, which stores usage.

    Start again if another process has replaced the catalog meanwhile.
    """
    for _ in range(_ATTEMPTS):
        try:
            catalog.change_usage(lambda db: start_epoch(db, os.urandom(8).hex()))
            catalog.change_usage(lambda db: use_prices(db, prices.version, prices.cost))
            read()
            break
        except CatalogReplacedError:
            continue  # another process has made the catalog again
    else:
        raise SessionStorageError(
            f"the usage was not read, because the catalog was replaced {_ATTEMPTS} times meanwhile",
            hint="try again when no other cortext command is running",
        )


def _read_changed(catalog: Catalog, cost_of: CostOf, progress: Progress | None) -> None:
    epoch, known = catalog.usage_fact(EPOCH), catalog.known_usage()
    sources = {(source.tool, source.id): source for source in _sources()}
    changed = [
        (key, source)
        for key, source in sources.items()
        if known.get(key, _NEW).fingerprint != source.print
    ]
    # A resumed or forked session repeats the answers of the earlier session. If nothing else tells
    # which session wrote an answer, it counts for the session that is stored first.
    changed.sort(key=lambda item: _changed_at(item[1]))
    waiting: list[Callable[[sqlite3.Connection], None]] = []
    for number, (key, source) in enumerate(changed, 1):
        waiting.append(_read_session(source, known.get(key, _NEW), cost_of, epoch))
        if len(waiting) == _BATCH or number == len(changed):
            catalog.change_usage(partial(_make_all, waiting))
            waiting = []
        if progress is not None:
            progress(number, len(changed))
    gone = known.keys() - sources.keys()
    if gone:
        catalog.change_usage(lambda db: drop_sessions(db, gone))


def _make_all(
    changes: Iterable[Callable[[sqlite3.Connection], None]], db: sqlite3.Connection
) -> None:
    for change in changes:
        change(db)


def _read_session(
    source: TranscriptSource, known: KnownSession, cost_of: CostOf, epoch: str
) -> Callable[[sqlite3.Connection], None]:
    """Read the new usage of a session, and return a function that stores it."""
    files = list(find_tool(source.tool).load("usage")(source, known.states))
    is_complete = not any(file.is_failed for file in files)
    return partial(
        store_session,
        tool=source.tool,
        session=source.id,
        fingerprint=source.print if is_complete else "",
        files=files,
        cost_of=cost_of,
        epoch=epoch,
    )


def _fingerprinted(bridge: Bridge, source: TranscriptSource) -> TranscriptSource:
    """Return a copy of a transcript source with another fingerprint.

    The new fingerprint changes if the transcript or a transcript of its sub-agents changes.
    """
    side = beside(bridge, source)
    text = f"{source.print} {side or ''}".encode("utf-8", "surrogateescape")
    return replace(source, print=blake2b(text, digest_size=16).hexdigest())


def _sources() -> Iterator[TranscriptSource]:
    """Yield the transcripts of all tools and of the archive, with fingerprints for usage.

    The archive also has transcripts that a tool has deleted.
    """
    for tool in tools():
        if tool.usage is None:
            continue
        for home in (transcript_folders.archive_home(tool.name), None):
            bridge = open_bridge(tool.name, home)
            # Leave out ids that are not valid Unicode, as lists do.
            yield from (_fingerprinted(bridge, s) for s in bridge.sources() if _is_text(s.id))


def _changed_at(source: TranscriptSource) -> float:
    try:
        return os.stat(source.path).st_mtime
    except OSError:
        return 0.0  # reading it reports the error


def _is_text(id: str) -> bool:
    try:
        return bool(id.encode())
    except UnicodeEncodeError:
        return False
