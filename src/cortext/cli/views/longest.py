"""What `cortext stats` calls the longest conversations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cortext.cli.terminal_text import clean

if TYPE_CHECKING:
    from cortext.features.stats.stats import Long


def names_of(longest: list[Long]) -> list[str]:
    """The ids; where two are the same, with the day, or even the workspace."""
    ids = [long.id for long in longest]
    days = [long.address for long in longest]
    return [
        clean(
            long.id
            if ids.count(long.id) == 1
            else long.address
            if days.count(long.address) == 1
            else f"{os.path.basename(long.workspace)}/{long.address}",
            lines=False,
        )
        for long in longest
    ]
