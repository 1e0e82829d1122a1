"""How much of everything the comparison does: the whole, and a trial in minutes."""

from __future__ import annotations

from typing import NamedTuple


class Bounds(NamedTuple):
    """Counts, and the seconds after which a slow one is stopped."""

    appends: int
    """Single appends to a new conversation."""
    later: int
    """Single appends to a long one."""
    long: int
    longer: int
    """Messages of the two long conversations."""
    sessions: int
    """Conversations that are listed."""
    texts: int
    """Messages that are searched."""
    writers: int
    each: int
    """Processes that append to one conversation at once, and what each appends."""
    loads: int
    starts: int
    """How often the long conversation is loaded, and the program started."""
    seeding: float
    """Seconds that filling a store may take; what is not there by then is not reached."""
    measuring: float
    """Seconds that one row may take; its median is over what was done by then."""
    patience: float
    """Seconds after which a process is ended that still has not done its part."""


FULL = Bounds(2000, 50, 10_000, 100_000, 10_000, 10_000, 8, 200, 5, 5, 40, 10, 240)
QUICK = Bounds(100, 10, 1_000, 5_000, 500, 300, 4, 10, 2, 1, 5, 2, 60)
TORN = 100
"""Messages of the conversation whose end is cut off."""
CUT = 100
"""Bytes that are cut off."""
EACH = 10
"""Messages of each conversation that is searched."""
