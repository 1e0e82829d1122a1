"""The picker: what `cortext` alone opens in a terminal."""

from __future__ import annotations

import os
import sys


def can_pick() -> bool:
    """Whether there is a person at a terminal that can show it. It is drawn on stderr."""
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def pick() -> None:
    """Let a person choose, and do what was chosen; it ends as that does."""
    from cortext.cli.picker.items import Shelf

    shelf = Shelf.here()
    if not shelf.rows:
        shelf = Shelf.everywhere()
    from cortext.cli.picker.picker_app import run
    from cortext.cli.views.list_view import keep_up

    chosen = run(shelf)
    keep_up(shelf.conversations)
    if chosen is not None:
        from cortext.cli.picker.open_tool import go_on

        go_on(chosen)
