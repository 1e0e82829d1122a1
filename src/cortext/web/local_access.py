"""Access checks of `cortext web`, which only the user of this machine may use.

The `Host` header must name this server. If there is an `Origin` header, it must name this server
too. So a web page of another site cannot pretend to be this host, and cannot read a response.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from cortext.service.http.request_guard import OWNER
from cortext.web.page_access import PARAMETER, cookie_of, entered, refused

if TYPE_CHECKING:
    from litestar import Response
    from litestar.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_INVALID_LINK = "This link is no longer valid. Use the newest link."


def cookie_name(port: int) -> str:
    """Return the name of the sign-in cookie of the server on this port.

    Browsers send a cookie to all ports of a host, so each server needs its own cookie name.
    """
    return f"cortext-{port}"


class LocalAccess:
    """An ASGI application that checks each request. It passes an allowed request to `app`.

    A user signs in with a link that contains `token` or a ticket. `token` is valid as long as the
    server runs. A ticket is valid once; `ticket()` returns a new one. Use a ticket where other
    users of this machine can see the link, for example in the arguments of a browser process.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        self._cookie = cookie_name(port)
        self._session = secrets.token_urlsafe(32)
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        made = secrets.token_urlsafe(24)
        self._tickets.add(made)
        return made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = str(scope["type"])
        if kind == "lifespan":
            await self._app(scope, receive, send)
            return
        if kind != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "no WebSockets here"})
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get(PARAMETER)
        if not self._is_to_this_server(headers):
            await send_answer(
                send, refused(403, "Only this machine may open these pages, at their own address.")
            )
        elif given is not None and self._accepts(given):
            rest = [(name, value) for name, value in query if name != PARAMETER]
            cookie = f"{self._cookie}={self._session}"
            await send_answer(send, entered(scope["path"], rest, cookie))
        elif given is not None and not self._is_signed_in(headers):
            await send_answer(send, refused(401, _INVALID_LINK))
        else:
            state: Any = scope
            state[OWNER] = "" if self._is_signed_in(headers) else None
            await self._app(scope, receive, send)

    def _is_to_this_server(self, headers: dict[bytes, str]) -> bool:
        origin = headers.get(b"origin")
        if headers.get(b"host") not in self._hosts:
            return False
        return origin is None or origin.removeprefix("http://") in self._hosts

    def _accepts(self, given: str) -> bool:
        if given in self._tickets:
            self._tickets.discard(given)
            return True
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _is_signed_in(self, headers: dict[bytes, str]) -> bool:
        value = cookie_of(headers.get(b"cookie", ""), self._cookie)
        return hmac.compare_digest(value.encode(), self._session.encode())


async def send_answer(send: Send, answer: Response[Any]) -> None:
    """Send a response to an ASGI server, without the web framework."""
    body = answer.content.encode() if isinstance(answer.content, str) else b""
    kind = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    headers = {**answer.headers, **kind}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    start: Any = {"type": "http.response.start", "status": answer.status_code, "headers": raw}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
