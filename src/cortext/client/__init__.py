"""Clients for the conversations on a server that runs `cortext serve`.

`AsyncClient` has the methods of a conversation store, so a program can use it in place of a store.
`Client` has the same methods for programs without an event loop. Both classes need the optional
dependencies `cortext[client]`.
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

_MODULES = {
    "AsyncClient": "cortext.client.async_client",
    "Client": "cortext.client.sync_client",
    "ServiceError": "cortext.client.client_errors",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'cortext.client' has no attribute {name!r}")
    from importlib import import_module

    try:
        value: object = getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx", "httpcore"):
            raise

        raise CortextError(
            "the client of a server needs the package httpx",
            hint=f"install it with `{install_command('client')}`",
        ) from None
    globals()[name] = value
    return value
