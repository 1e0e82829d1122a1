"""Telling a page that its conversation grew, as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from cortext.errors import CortextError
from cortext.index.listed import Listed
from cortext.model import json
from cortext.web.pages.desk import Desk, print_of

LOOK = 0.5
"""Seconds between two looks at the files."""
_ALIVE = 15.0
"""Seconds after which something is sent all the same: so the end of a connection is noticed."""


class Ending:
    """Says to all who follow a conversation that the server ends."""

    def __init__(self) -> None:
        self.is_near = False


async def follow(
    row: Listed, desk: Desk, seen: int, ending: Ending
) -> AsyncGenerator[dict[str, Any]]:
    """`grown`, with how many messages there are and the first that looks different, each time that
    more was said; `gone` if it cannot be read any more."""
    before: object = None
    said = time.monotonic()
    while not ending.is_near:
        now = await asyncio.to_thread(print_of, row)
        if now != before:
            before = now
            try:
                turns = (await asyncio.to_thread(desk.open, row)).turns
            except (CortextError, OSError):
                yield {"event": "gone", "data": "{}"}
                return
            if turns.total != seen:
                facts = {"total": turns.total, "from": turns.changed_since(seen)}
                yield {"event": "grown", "data": json.encode(facts).decode()}
                seen, said = turns.total, time.monotonic()
        elif time.monotonic() > said + _ALIVE:
            yield {"event": "alive", "data": "{}"}
            said = time.monotonic()
        await asyncio.sleep(LOOK)
