"""Reading on, in a process of its own, where a list had no time for all transcripts.

Lists import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os

from cortext.app.background import start_detached

_PROGRAM = "from cortext.app.catching_up import read_all; read_all()"


def read_the_rest() -> bool:
    """Begin to read what the catalog does not know, and do not wait for it; whether that was
    begun. In CI nothing goes on after a command."""
    if os.environ.get("CI"):
        return False
    return start_detached("-c", _PROGRAM)


def read_all() -> None:
    """Bring the catalog up to date with every transcript that there is."""
    from cortext.index.catalog import Catalog

    with Catalog.at_home() as catalog:
        catalog.tool_sessions()
