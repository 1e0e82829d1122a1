"""Server-sent events that tell an open web page when its conversation changes."""

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
ALIVE_INTERVAL = 15.0
"""Seconds of silence after which the event `alive` is sent, to detect closed connections."""


class ShutdownFlag:
    """A flag that the server sets when it stops. Event streams then end."""

    def __init__(self) -> None:
        self.is_near = False


async def follow(
    opened: OpenConversation, seen: str, ending: ShutdownFlag
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the event `grown` each time a conversation changes, until the server stops.

    `seen` is the version of the conversation that the page shows. If it is out of date, an event is
    yielded at once. The event has the number of messages, the number of the first changed turn (a
    message as the page shows it), and the new version.

    If the conversation can no longer be read, yield `gone` and stop. If nothing changes for a
    while, yield `alive`.
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
