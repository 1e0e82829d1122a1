"""The MCP server over HTTP, for clients that cannot start a program.

Only this machine can connect, and every request needs the token. The `Host` header must name this
server. If there is an `Origin` header, it must name this server too. These checks stop a web page
in a browser from pretending to be this host, and from sending requests to this server.
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
    """Run the MCP server over HTTP until a signal stops it.

    Call `tell` with the URL and the token as soon as clients can connect. A port of 0 means any
    free port. Raise CortextError if the server cannot listen on the port.
    """
    token = given_token() or os.urandom(24).hex()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise CortextError(
                f"cannot listen on {LOOPBACK}:{port}: {os.strerror(error.errno or 0).lower()}",
                hint="`--http 0` uses any free port",
            ) from None
        # Listen before `tell` reports the URL, so that clients can connect at once.
        listener.listen()
        port = listener.getsockname()[1]
        tell(f"http://{LOOPBACK}:{port}{PATH}", token)
        config = uvicorn.Config(guarded_app(port, token), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


def given_token() -> str:
    """Return the token in the environment variable `VARIABLE`; "" if the variable is not set.

    Raise CortextError if the token is too short or not ASCII.
    """
    token = os.environ.get(VARIABLE, "")
    if token and (len(token) < _SHORTEST or not token.isascii()):
        raise CortextError(
            f"the token in {VARIABLE} is not safe",
            hint=f"use at least {_SHORTEST} ASCII letters and digits, or unset {VARIABLE}",
        )
    return token


def guarded_app(port: int, token: str) -> ASGIApp:
    """Return the MCP server as an ASGI application that checks the host, origin and token."""
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
        # If a header occurs twice, some programs use the first value and others the last.
        names = [value.decode("latin-1") for name, value in given if name == b"host"]
        pages = [value.decode("latin-1") for name, value in given if name == b"origin"]
        tokens = [value for name, value in given if name == b"authorization"]
        if len(names) != 1 or names[0] not in hosts or not set(pages) <= set(origins):
            await _refuse(send, 403, "only this machine may send requests, to its own address")
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
