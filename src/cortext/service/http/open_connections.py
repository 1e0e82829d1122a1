"""The connections of a server that stops: whoever reads is served to the end, and whoever does not
is not waited for."""

from __future__ import annotations

import asyncio
import sys
from fcntl import ioctl
from termios import TIOCOUTQ
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
else:
    _Protocol = AutoHTTPProtocol

STALLED = 2.0
"""Seconds in which a client has to read something when the server stops."""


class Connection(_Protocol):
    """uvicorn's own. When the server stops it waits until all that is sent was taken; a client that
    takes nothing is cut off, and an event stream that it had can be gone on with elsewhere."""

    def shutdown(self) -> None:
        super().shutdown()
        self._look(self._left())

    def _look(self, before: int) -> None:
        loop: asyncio.AbstractEventLoop = self.loop
        loop.call_later(STALLED, self._cut_if_stalled, before)

    def _cut_if_stalled(self, before: int) -> None:
        transport: Any = self.transport
        now = self._left()
        if now and now >= before > 0:
            transport.abort()
        elif now or not transport.is_closing():
            self._look(now)

    def _left(self) -> int:
        """Bytes that were sent and that the client's side has not taken; 0 if nobody has to wait
        for it. What the system holds of them counts, too: else a slow reader looks like none."""
        transport: Any = self.transport
        waiting = transport.get_write_buffer_size()
        if not waiting:
            return 0
        held = ioctl(transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        return waiting + int.from_bytes(held, sys.byteorder)
