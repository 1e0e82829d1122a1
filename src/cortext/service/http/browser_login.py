"""How a browser gets to the pages of the service: as at the door of `cortext web`, a link with a
client's token becomes a cookie, and the token is not in it; so does a token that is typed. Browsers
send cookies to every port of a host, and other programs listen there.

A cookie is made of the token and of a secret of the server, so that it is good as long as both are:
who takes a token back ends what was opened with it. Processes with the same secret take each
other's cookies.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

from cortext.errors import CortextError
from cortext.service.http.auth import AccessTokens
from cortext.service.http.mount_path import base_of
from cortext.service.http.request_guard import DATA, Headers
from cortext.web.local_access import cookie_name, send_answer
from cortext.web.page_access import (
    PARAMETER,
    SIGN_IN,
    SIGN_OUT,
    UNKNOWN,
    WRONG,
    cookie_of,
    entered,
    left,
    refused,
)

if TYPE_CHECKING:
    from litestar import Response
    from litestar.types import ASGIApp, Receive, Send

_PORTS = {"http": 80, "https": 443}
_FOR = b"the pages of cortext"
_MOST_TYPED = 8192
"""Bytes of a form."""
_TICKET = 600.0
"""Seconds for which a link that is good once can be opened."""
Query = list[tuple[str, str]]


class Entrance:
    """`in_front_of` the pages it takes tokens out of addresses and forms; `owner` knows who came in
    by one."""

    def __init__(
        self, tokens: AccessTokens, secret: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tokens = tokens
        self._secret = hmac.digest((secret or secrets.token_urlsafe(32)).encode(), _FOR, "sha256")
        self._clock = clock
        self._tickets: dict[str, tuple[str, float]] = {}
        """What each that was not used yet stands for, and until when."""

    def owner(self, scope: Any, headers: Headers) -> str | None:
        """Whose cookie a request has; None is nobody's."""
        sent = headers.get(b"cookie", b"").decode("latin-1")
        given = cookie_of(sent, _name(scope, headers))
        return self._tokens.sealed_by(self._secret, given) if given else None

    def link_once(self, token: str) -> str:
        """A path with what stands for a token: good once, for ten minutes, in this process."""
        if self._tokens.owner(token) is None:
            raise CortextError("this token is not known here", hint="take one of `tokens`")
        now = self._clock()
        self._tickets = {key: kept for key, kept in self._tickets.items() if kept[1] > now}
        made = secrets.token_urlsafe(24)
        self._tickets[made] = self._tokens.seal(self._secret, token), now + _TICKET
        return f"/?{PARAMETER}={made}"

    def in_front_of(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Any, receive: Receive, send: Send) -> None:
            made = None
            if scope["type"] == "http" and not scope["path"].startswith(DATA):
                made = await self._answer(scope, receive)
            if made is None:
                await app(scope, receive, send)
            else:
                await send_answer(send, made)

        return answer

    async def _answer(self, scope: Any, receive: Receive) -> Response[Any] | None:
        """To one who comes in or leaves; None for all others."""
        if scope["path"] not in (SIGN_IN, SIGN_OUT):
            return self._by_link(scope)
        if scope["method"] != "POST":
            return self._to(scope, "/", [], None)
        if scope["path"] == SIGN_OUT:
            return left(_name(scope, dict(scope["headers"])), base_of(scope))
        form = await _form(receive)
        if form is None:
            return refused(413, "That is too long for a token.", base_of(scope), "token")
        given, to = form.get(PARAMETER, ""), form.get("to", "")
        seal = self._sealed(given)
        if given and seal is None:
            return refused(401, UNKNOWN, base_of(scope), "token", to)
        path, _, query = to.partition("?")
        path = "/" if path == SIGN_IN else unquote(path)
        return self._to(scope, path, parse_qsl(query, keep_blank_values=True), seal)

    def _by_link(self, scope: Any) -> Response[Any] | None:
        """Who comes with a wrong token comes without one, and is told so."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get(PARAMETER)
        if given is None:
            return None
        kept = [(name, value) for name, value in query if name != PARAMETER]
        scope["query_string"] = urlencode(kept).encode()
        seal = self._sealed(given)
        if seal is None:
            scope[WRONG] = bool(given)
            return None
        return self._to(scope, scope["path"], kept, seal)

    def _to(self, scope: Any, path: str, query: Query, seal: str | None) -> Response[Any]:
        """To a clean address, with a cookie if there is something for it."""
        kept = [(name, value) for name, value in query if name != PARAMETER]
        cookie = f"{_name(scope, dict(scope['headers']))}={seal}" if seal else ""
        return entered(path, kept, cookie, base_of(scope))

    def _sealed(self, given: str) -> str | None:
        """What the cookie of a token holds, or of a ticket, which is used up by that."""
        ticket = self._tickets.pop(given, None)
        if ticket is not None and ticket[1] > self._clock():
            return ticket[0]
        return None if self._tokens.owner(given) is None else self._tokens.seal(self._secret, given)


async def _form(receive: Receive) -> dict[str, str] | None:
    """What was typed into a form; None if that is too much."""
    data = b""
    while True:
        message: Any = await receive()
        data += message.get("body", b"")
        if len(data) > _MOST_TYPED:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return dict(parse_qsl(data.decode("latin-1"), keep_blank_values=True))


def _name(scope: Any, headers: Headers) -> str:
    """Of the cookie: by the port under which the browser knows this server."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return cookie_name(int(port) if port.isdigit() else _PORTS.get(scope.get("scheme"), 80))
