"""Read new transcripts and count their messages in a background process.

A command such as `cortext list` reads new transcripts only for about a second. The background
process reads and counts the rest.
"""

from __future__ import annotations

import os

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.features.archive.background_sync import claim_start, start_detached
from cortext.features.listing.message_counts import add_counts

_PROGRAM = "from cortext.features.listing.background_catalog_refresh import read_all; read_all()"
_COUNT_EVERY = 10.0
"""The minimum number of seconds between two starts of a process that counts messages."""


def start_background_reading() -> bool:
    """Start a background process that reads all transcripts which the catalog does not have yet.

    Return True if the process was started. In CI no process is started.
    """
    if os.environ.get("CI"):
        return False
    return start_detached("-c", _PROGRAM)


def start_background_counting() -> bool:
    """Start a background process that counts the messages of new transcripts.

    Return True if the process was started. It is started at most once in `_COUNT_EVERY` seconds,
    and never in CI.
    """
    try:
        due = claim_start(f"{paths.catalog()}.counting", _COUNT_EVERY)
    except OSError:
        return False  # the counts could not be stored either
    return due and start_background_reading()


def read_all() -> None:
    """Bring the catalog up to date with every transcript of every tool, and count the messages."""
    with Catalog.at_home() as catalog:
        add_counts(catalog, catalog.tool_sessions().rows)
