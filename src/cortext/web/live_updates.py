"""Server-sent events that report to an open web page that its conversation has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.web.open_conversation import OpenConversation

LOOK = 0.5
"""Seconds between two checks of the conversation's files."""
ALIVE = 15.0
"""Seconds without an event after which the event `alive` is sent, to notice closed connections."""


class Ending:
    """A flag that the server sets when it stops. Event streams then end."""

    def __init__(self) -> None:
        self.is_near = False


async def follow(
    opened: OpenConversation, seen: str, ending: Ending
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the event `grown` whenever a conversation changes, until the server stops.

    `seen` is the version of the conversation that the page shows; a different version is also a
    change. The event contains the number of messages, the first message that looks different and
    the new version. Yield `gone` and stop if the conversation can no longer be read.
    """
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
