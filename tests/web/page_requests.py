"""Asking a service in this process, as a browser would."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from httpx import ASGITransport, AsyncClient

HOME = "http://127.0.0.1:8000"


@contextlib.asynccontextmanager
async def browsing(service: Any, *, address: str = "127.0.0.1") -> AsyncIterator[AsyncClient]:
    """A browser of one's own, with cookies; it follows no redirect."""
    transport = ASGITransport(service, client=(address, 1))
    async with AsyncClient(transport=transport, base_url=HOME) as client:
        yield client
