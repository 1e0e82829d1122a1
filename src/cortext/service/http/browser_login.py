"""Sign-in of browsers to the web pages of the HTTP service.

A user signs in with a token, in a link or in a form. The browser then gets a cookie. The cookie
does not contain the token, because browsers send a cookie to every port of a host, and another
program may listen on another port.

The cookie contains a seal: a hash of the token, made with a secret of the server as the key. The
cookie is valid as long as the token exists and the secret stays the same. So revoking a token also
signs out the browsers that used the token. Servers with the same secret accept each other's
cookies.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

from cortext.errors import CortextError
from cortext.service.http.access_tokens import AccessTokens
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

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SECRET_CONTEXT = b"the pages of cortext"
"""The key of cookies is derived from this text and the secret of the server."""
_MAX_FORM_SIZE = 8192
"""The largest sign-in form that is accepted, in bytes."""
_TICKET_LIFETIME = 600.0
"""Seconds for which a one-time link is valid."""
Query = list[tuple[str, str]]


class Entrance:
    """The sign-in of browsers to the web pages.

    `wrap_pages` adds the sign-in to the application of the web pages. After a sign-in, the browser
    sends a cookie with each request. `owner` finds out which owner the cookie belongs to.
    """

    def __init__(
        self, tokens: AccessTokens, secret: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tokens = tokens
        self._secret = hmac.digest(
            (secret or secrets.token_urlsafe(32)).encode(), _SECRET_CONTEXT, "sha256"
        )
        self._clock = clock
        self._tickets: dict[str, tuple[str, float]] = {}
        """The unused one-time tickets, each with its cookie value and the time when it expires."""

    def owner(self, scope: Any, headers: Headers) -> str | None:
        """Return the owner to whom the cookie of a request belongs.

        Return None if the request has no valid cookie.
        """
        cookie_header = headers.get(b"cookie", b"").decode("latin-1")
        cookie = cookie_of(cookie_header, _cookie_name(scope, headers))
        return self._tokens.owner_of_seal(self._secret, cookie) if cookie else None

    def link_once(self, token: str) -> str:
        """Return the path of a link with which a browser can sign in once.

        The browser signs in as the client that has this token.

        The path contains a ticket instead of the token. The ticket is valid for ten minutes, and
        only in this process. CortextError is raised if the token is unknown.
        """
        if self._tokens.owner(token) is None:
            raise CortextError("unknown token", hint="use one of `tokens`")
        now = self._clock()
        self._tickets = {key: ticket for key, ticket in self._tickets.items() if ticket[1] > now}
        new_ticket = secrets.token_urlsafe(24)
        self._tickets[new_ticket] = self._tokens.seal(self._secret, token), now + _TICKET_LIFETIME
        return f"/?{PARAMETER}={new_ticket}"

    def wrap_pages(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Any, receive: Receive, send: Send) -> None:
            response = None
            if scope["type"] == "http" and not scope["path"].startswith(DATA):
                response = await self._answer(scope, receive)
            if response is None:
                await app(scope, receive, send)
            else:
                await send_answer(send, response)

        return answer

    async def _answer(self, scope: Any, receive: Receive) -> Response[Any] | None:
        """Return the response to a sign-in or sign-out request, or None for any other request."""
        if scope["path"] not in (SIGN_IN, SIGN_OUT):
            return self._answer_link(scope)
        if scope["method"] != "POST":
            return self._redirect(scope, "/", [], None)
        if scope["path"] == SIGN_OUT:
            return left(_cookie_name(scope, dict(scope["headers"])), base_of(scope))
        form = await _read_form(receive)
        if form is None:
            return refused(413, "This text is too long for a token.", base_of(scope), "token")
        token, target = form.get(PARAMETER, ""), form.get("to", "")
        seal = self._cookie_value(token)
        if token and seal is None:
            return refused(401, UNKNOWN, base_of(scope), "token", target)
        path, _, query = target.partition("?")
        path = "/" if path == SIGN_IN else unquote(path)
        return self._redirect(scope, path, parse_qsl(query, keep_blank_values=True), seal)

    def _answer_link(self, scope: Any) -> Response[Any] | None:
        """Return a redirect that signs the browser in, or None if the URL has no valid token.

        A one-time ticket counts as a token. A token in the URL, valid or not, is removed from the
        query in `scope`. If the token is wrong, `scope[WRONG]` is set to True, so that the page can
        say so.
        """
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = dict(query).get(PARAMETER)
        if token is None:
            return None
        other_parameters = [(name, value) for name, value in query if name != PARAMETER]
        scope["query_string"] = urlencode(other_parameters).encode()
        seal = self._cookie_value(token)
        if seal is None:
            scope[WRONG] = bool(token)
            return None
        return self._redirect(scope, scope["path"], other_parameters, seal)

    def _redirect(self, scope: Any, path: str, query: Query, seal: str | None) -> Response[Any]:
        """Return a redirect to a path and query. A token in the query is removed.

        `seal` becomes the browser's cookie. If it is None, no cookie is set.
        """
        other_parameters = [(name, value) for name, value in query if name != PARAMETER]
        cookie = f"{_cookie_name(scope, dict(scope['headers']))}={seal}" if seal else ""
        return entered(path, other_parameters, cookie, base_of(scope))

    def _cookie_value(self, token_or_ticket: str) -> str | None:
        """Return the cookie value for a token or a one-time ticket, or None if it is not valid.

        A ticket becomes invalid with this call.
        """
        ticket = self._tickets.pop(token_or_ticket, None)
        if ticket is not None and ticket[1] > self._clock():
            return ticket[0]
        return (
            None
            if self._tokens.owner(token_or_ticket) is None
            else self._tokens.seal(self._secret, token_or_ticket)
        )


async def _read_form(receive: Receive) -> dict[str, str] | None:
    """Return the fields of the submitted sign-in form, or None if the form is too large."""
    data = b""
    while True:
        message: Any = await receive()
        data += message.get("body", b"")
        if len(data) > _MAX_FORM_SIZE:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return dict(parse_qsl(data.decode("latin-1"), keep_blank_values=True))


def _cookie_name(scope: Any, headers: Headers) -> str:
    """Return the name of the sign-in cookie, which contains the port that the browser uses."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return cookie_name(int(port) if port.isdigit() else _DEFAULT_PORTS.get(scope.get("scheme"), 80))
