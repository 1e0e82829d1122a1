"""The roots of an MCP client: the folders that the client reports as its working folders."""

from __future__ import annotations

import logging
import os
from collections import deque
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

_log = logging.getLogger("cortext.mcp")
_TIMEOUT = 2.0
"""Seconds that a client has to answer a request for its roots."""
_MAX_CLIENTS = 100


class Roots:
    """The roots of all clients of the server.

    A client is asked for its roots at each request, so a change takes effect at once. A client that
    does not answer in time is not asked again until it reports a change of its roots.
    """

    def __init__(self) -> None:
        self._silent: deque[object] = deque(maxlen=_MAX_CLIENTS)

    async def of(self, request: ServerRequestContext[Any]) -> list[str]:
        """Ask the client that sent `request` for its roots, and return their local folders.

        Return [] if the client reports no roots.
        """
        session, client = request.session, request.session.client_params
        capabilities = session.client_capabilities
        if capabilities is None or capabilities.roots is None or not session.can_send_request:
            return []
        if any(client is one for one in self._silent):
            return []
        with anyio.move_on_after(_TIMEOUT):
            try:
                # The SDK's method `list_roots` would cause a deprecation warning.
                answer = await session.send_request(types.ListRootsRequest(), types.ListRootsResult)
            except (MCPError, ValueError) as error:
                _log.warning("the client does not report its roots: %s", error)
                return []
            return [folder for root in answer.roots if (folder := folder_of(str(root.uri)))]
        self._silent.append(client)
        return []

    async def changed(
        self, request: ServerRequestContext[Any], given: types.NotificationParams | None
    ) -> None:
        client = request.session.client_params
        others = [one for one in self._silent if one is not client]
        self._silent = deque(others, maxlen=_MAX_CLIENTS)


def folder_of(uri: str) -> str:
    """Return the local folder of a `file:` URI; "" if the URI names no local folder."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    folder = os.fsdecode(unquote_to_bytes(parts.path))
    return folder if os.path.isabs(folder) and "\0" not in folder else ""
