"""The picker: what `cortext` alone opens in a terminal."""

from __future__ import annotations

import os
import sys


def can_pick() -> bool:
    """Whether there is a person at a terminal that can show it. It is drawn on stderr."""
    if os.environ.get("CI") or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
