"""Read the transcripts that a list had no time for, in a background process."""

from __future__ import annotations

import os

from cortext.catalog.catalog import Catalog
from cortext.features.archive.background_sync import start_detached

_PROGRAM = "from cortext.features.listing.background_reading import read_all; read_all()"


def read_the_rest() -> bool:
    """Start a background process that reads all transcripts which the catalog does not have yet.

    Return whether the process was started. In CI no process is started.
    """
    if os.environ.get("CI"):
        return False
    return start_detached("-c", _PROGRAM)


def read_all() -> None:
    """Bring the catalog up to date with every transcript of every tool."""
    with Catalog.at_home() as catalog:
        catalog.tool_sessions()
