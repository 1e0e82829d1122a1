"""Typed clients for conversations on a server that runs `cortext serve`.

`AsyncClient` has the interface of a conversation store, so it can be used in place of one. `Client`
has the same methods for programs without an event loop. Both need the extra `client` of cortext.
"""

from __future__ import annotations

from cortext.errors import CortextError
from cortext.installation import install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortext.client.async_client import AsyncClient
    from cortext.client.client_errors import ServiceError
    from cortext.client.sync_client import Client

__all__ = ["AsyncClient", "Client", "ServiceError"]

_HOMES = {
    "AsyncClient": "cortext.client.async_client",
    "Client": "cortext.client.sync_client",
    "ServiceError": "cortext.client.client_errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'cortext.client' has no attribute {name!r}")
    from importlib import import_module

    try:
        value: object = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx", "httpcore"):
            raise

        raise CortextError(
            "the client of a server needs the package httpx",
            hint=f"install it with `{install_command('client')}`",
        ) from None
    globals()[name] = value
    return value
