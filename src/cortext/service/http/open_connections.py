"""Connections that do not delay the stop of a server.

A client that reads gets its whole response. The server does not wait for a client that does not
read.
"""

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
"""Seconds after which a client that reads nothing is disconnected while the server stops."""


class Connection(_Protocol):
    """A connection of uvicorn that is cut if its client does not read while the server stops.

    If the client reads, the connection stays open until the client has the whole response.
    """

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
        """Return how many bytes the client has not received; 0 if uvicorn has nothing left to send.

        The number includes bytes in the buffer of the operating system. Otherwise a slow reader
        would look like a client that does not read.
        """
        transport: Any = self.transport
        waiting = transport.get_write_buffer_size()
        if not waiting:
            return 0
        held = ioctl(transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        return waiting + int.from_bytes(held, sys.byteorder)
