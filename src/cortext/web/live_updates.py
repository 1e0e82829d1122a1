"""Server-sent events that tell an open web page when its conversation changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.web.viewed_conversation import OpenConversation

LOOK = 0.5
"""Seconds between two checks of the conversation's files."""
ALIVE_INTERVAL = 15.0
"""Seconds of silence after which the event `alive` is sent, to detect closed connections."""


class ShutdownFlag:
    """A flag that the server sets when it stops. Event streams then end."""

    def __init__(self) -> None:
        self.is_near = False


async def follow(
    opened: OpenConversation, seen: str, ending: ShutdownFlag
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the event `grown` whenever a conversation changes, until the server stops.

    `seen` is the version of the conversation that the page shows. If `seen` is out of date, yield
    an event at once. The event contains the number of messages, the number of the first turn (shown
    message) that changed, and the new version. Yield `gone` and stop if the conversation can no
    longer be read.
    """
    last_event = time.monotonic()
    while not ending.is_near:
        try:
            await asyncio.to_thread(opened.look)
        except (CortextError, OSError):
            yield {"event": "gone", "data": "{}"}
            return
        version = opened.version
        first = None if version == seen else opened.changed_since(seen)
        if first is not None:
            facts = {"total": opened.turns.total, "from": first, "version": version}
            yield {"event": "grown", "id": version, "data": json_codec.encode(facts).decode()}
            seen, last_event = version, time.monotonic()
        elif time.monotonic() > last_event + ALIVE_INTERVAL:
            yield {"event": "alive", "data": "{}"}
            last_event = time.monotonic()
        await asyncio.sleep(LOOK)
