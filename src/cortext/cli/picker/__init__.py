"""The picker: the screen in which the user chooses a conversation. Plain `cortext` opens it."""

from __future__ import annotations

import os
import sys


def can_pick() -> bool:
    """Return whether stdin, stdout and stderr are a terminal that can show the picker."""
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
