"""The server over HTTP, for clients that start no programs: on this machine only.

Every request needs the token. Beside it, a page in a browser can neither pretend to be this host
nor send a request here: the `Host` has to be ours, and an `Origin`, where there is one, too.
"""

from __future__ import annotations

import hmac
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from cortext.errors import CortextError
from cortext.mcp.mcp_server import Face

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
VARIABLE = "CORTEXT_MCP_TOKEN"
_SHORTEST = 16


def serve_http(port: int, tell: Callable[[str, str], None]) -> None:
    """Serve until a signal ends it. `tell` is given the address and the token; a port of 0 is any
    that is free."""
    token = given_token() or os.urandom(24).hex()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise CortextError(
                f"cannot listen on {LOOPBACK}:{port}: {os.strerror(error.errno or 0).lower()}",
                hint="`--http 0` takes any port that is free",
            ) from None
        # Who is told the address can ask at once.
        listener.listen()
        port = listener.getsockname()[1]
        tell(f"http://{LOOPBACK}:{port}{PATH}", token)
        config = uvicorn.Config(guarded_app(port, token), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


def given_token() -> str:
    """The token that a person chose; "" if none."""
    token = os.environ.get(VARIABLE, "")
    if token and (len(token) < _SHORTEST or not token.isascii()):
        raise CortextError(
            f"{VARIABLE} has {len(token)} characters, which is not safe",
            hint=f"at least {_SHORTEST} letters and digits, or leave it out: one is made",
        )
    return token


def guarded_app(port: int, token: str) -> ASGIApp:
    """The server, behind checks of each request."""
    hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    origins = [f"http://{host}" for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app = Face().server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        given: list[tuple[bytes, bytes]] = list(scope.get("headers", ()))
        # A header that is there twice is read by one as the first and by another as the last.
        names = [value.decode("latin-1") for name, value in given if name == b"host"]
        pages = [value.decode("latin-1") for name, value in given if name == b"origin"]
        tokens = [value for name, value in given if name == b"authorization"]
        if len(names) != 1 or names[0] not in hosts or not set(pages) <= set(origins):
            await _refuse(send, 403, "only this machine may ask, under its own name")
        elif len(tokens) != 1 or not hmac.compare_digest(tokens[0], wanted):
            await _refuse(send, 401, "the token is missing or wrong")
        else:
            await app(scope, receive, send)

    return guarded


async def _refuse(send: Send, status: int, why: str) -> None:
    headers: list[Any] = [(b"content-type", b"text/plain; charset=utf-8")]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})
