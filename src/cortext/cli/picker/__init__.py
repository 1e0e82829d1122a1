"""The picker: the screen for choosing a conversation that `cortext` without a command opens."""

from __future__ import annotations

import os
import sys


def can_pick() -> bool:
    """Return whether a user sits at a terminal that can show the picker.

    The picker is drawn on stderr.
    """
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
