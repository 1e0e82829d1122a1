"""Find the running event loop without importing asyncio."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


def running_loop() -> AbstractEventLoop | None:
    """Return the event loop that runs in this thread; None if there is no such loop."""
    # A program without an event loop should not pay for importing asyncio.
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
