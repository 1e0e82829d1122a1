"""Connections that do not keep a server from stopping.

While the server stops, a client that reads its response gets the whole response. A client that
reads nothing for `STALLED` seconds is disconnected.
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
    """A connection of uvicorn that does not keep the server from stopping.

    While the server stops, the connection is closed if its client reads nothing for `STALLED`
    seconds. If the client reads, the connection stays open until the client has the whole response.
    """

    def shutdown(self) -> None:
        super().shutdown()
        self._check_later(self._unsent_bytes())

    def _check_later(self, unsent: int) -> None:
        loop: asyncio.AbstractEventLoop = self.loop
        loop.call_later(STALLED, self._cut_if_stalled, unsent)

    def _cut_if_stalled(self, earlier: int) -> None:
        transport: Any = self.transport
        now = self._unsent_bytes()
        if now and now >= earlier > 0:
            transport.abort()
        elif now or not transport.is_closing():
            self._check_later(now)

    def _unsent_bytes(self) -> int:
        """Return how many bytes of the response the client has not received yet.

        If uvicorn has passed all bytes to the operating system, return 0. Otherwise the number
        includes the bytes that wait in the operating system. Without these bytes, a slow client
        would look like a client that reads nothing.
        """
        transport: Any = self.transport
        buffered = transport.get_write_buffer_size()
        if not buffered:
            return 0
        in_kernel = ioctl(transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        return buffered + int.from_bytes(in_kernel, sys.byteorder)
