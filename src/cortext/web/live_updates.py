"""Telling a page that its conversation grew, as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.web.open_conversation import OpenConversation

LOOK = 0.5
"""Seconds between two looks at the files."""
ALIVE = 15.0
"""Seconds after which something is sent all the same: so the end of a connection is noticed."""


class Ending:
    """Says to all who follow a conversation that the server ends."""

    def __init__(self) -> None:
        self.is_near = False


async def follow(
    opened: OpenConversation, seen: str, ending: Ending
) -> AsyncGenerator[dict[str, Any]]:
    """`grown`, with how many messages there are and the first that looks different from the version
    that was `seen`, whenever something does: more was said, or a message says more than before.
    `gone` if it cannot be read any more."""
    said = time.monotonic()
    while not ending.is_near:
        try:
            await asyncio.to_thread(opened.look)
        except (CortextError, OSError):
            yield {"event": "gone", "data": "{}"}
            return
        now = opened.version
        first = None if now == seen else opened.changed_since(seen)
        if first is not None:
            facts = {"total": opened.turns.total, "from": first, "version": now}
            yield {"event": "grown", "id": now, "data": json_codec.encode(facts).decode()}
            seen, said = now, time.monotonic()
        elif time.monotonic() > said + ALIVE:
            yield {"event": "alive", "data": "{}"}
            said = time.monotonic()
        await asyncio.sleep(LOOK)
