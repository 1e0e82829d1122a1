"""Sign-in of browsers to the web pages of the HTTP service.

A user signs in with a token, in a link or in a form. The browser then gets a cookie. The cookie
does not contain the token, because browsers send a cookie to every port of a host, and other
programs may listen there.

The cookie is a seal: a keyed hash of the token, made with a secret of the server. The cookie is
valid as long as the token and the secret are, so revoking a token also signs out its browsers.
Processes with the same secret accept each other's cookies.
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
"""The largest sign-in form that is accepted, in bytes."""
_TICKET = 600.0
"""Seconds for which a one-time link is valid."""
Query = list[tuple[str, str]]


class Entrance:
    """The sign-in of browsers to the web pages.

    `in_front_of` wraps the application of the pages: it exchanges tokens in URLs and forms for
    cookies. `owner` finds out to whom the cookie of a later request belongs.
    """

    def __init__(
        self, tokens: AccessTokens, secret: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tokens = tokens
        self._secret = hmac.digest((secret or secrets.token_urlsafe(32)).encode(), _FOR, "sha256")
        self._clock = clock
        self._tickets: dict[str, tuple[str, float]] = {}
        """The unused one-time tickets, each with its cookie value and the time when it expires."""

    def owner(self, scope: Any, headers: Headers) -> str | None:
        """Return the owner to whom the cookie of a request belongs; None without a valid cookie."""
        sent = headers.get(b"cookie", b"").decode("latin-1")
        given = cookie_of(sent, _name(scope, headers))
        return self._tokens.sealed_by(self._secret, given) if given else None

    def link_once(self, token: str) -> str:
        """Return the path of a link that signs a browser in once, as the client of `token`.

        The path contains a ticket instead of the token. The ticket is valid for ten minutes, and
        only in this process. Raise CortextError if the token is unknown.
        """
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
        """Return the response to a sign-in or a sign-out; None if `scope` is another request."""
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
        """Return the response to a URL with a valid token; None for any other URL.

        Remove a token from the query in `scope`, even if it is unknown. For an unknown token, set
        `WRONG` in `scope`.
        """
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
        """Return a redirect to a URL without the token. A `seal` is set as the browser's cookie."""
        kept = [(name, value) for name, value in query if name != PARAMETER]
        cookie = f"{_name(scope, dict(scope['headers']))}={seal}" if seal else ""
        return entered(path, kept, cookie, base_of(scope))

    def _sealed(self, given: str) -> str | None:
        """Return the cookie value for a token or a one-time ticket; None if `given` is neither.

        A ticket is no longer valid after this call.
        """
        ticket = self._tickets.pop(given, None)
        if ticket is not None and ticket[1] > self._clock():
            return ticket[0]
        return None if self._tokens.owner(given) is None else self._tokens.seal(self._secret, given)


async def _form(receive: Receive) -> dict[str, str] | None:
    """Return the fields of the submitted sign-in form; None if it is larger than `_MOST_TYPED`."""
    data = b""
    while True:
        message: Any = await receive()
        data += message.get("body", b"")
        if len(data) > _MOST_TYPED:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return dict(parse_qsl(data.decode("latin-1"), keep_blank_values=True))


def _name(scope: Any, headers: Headers) -> str:
    """Return the cookie name for a request. The name contains the port that the browser uses."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return cookie_name(int(port) if port.isdigit() else _PORTS.get(scope.get("scheme"), 80))
