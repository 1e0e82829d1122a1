"""How a browser gets to the pages of the service: as at the door of `cortext web`, a link with a
client's token becomes a cookie, and the token is not in it. Browsers send cookies to every port of
a host, and other programs listen there.

A cookie is made of the token and of a secret of the server, so that it is good as long as both are:
who takes a token back ends what was opened with it. Processes with the same secret take each
other's cookies.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from cortext.web.auth import Tokens
from cortext.web.guard import DATA, Headers
from cortext.web.pages.door import cookie_name
from cortext.web.pages.entering import PARAMETER, cookie_of, entered
from cortext.web.standing import base_of

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send

_PORTS = {"http": 80, "https": 443}
_FOR = b"the pages of cortext"


class Entrance:
    """`in_front_of` the pages it takes tokens out of addresses; `owner` knows who came in by
    one."""

    def __init__(self, tokens: Tokens, secret: str = "") -> None:
        self._tokens = tokens
        self._secret = hmac.digest((secret or secrets.token_urlsafe(32)).encode(), _FOR, "sha256")

    def owner(self, scope: Any, headers: Headers) -> str | None:
        """Whose cookie a request has; None is nobody's."""
        sent = headers.get(b"cookie", b"").decode("latin-1")
        given = cookie_of(sent, _name(scope, headers))
        return self._tokens.sealed_by(self._secret, given) if given else None

    def in_front_of(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Any, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and await self._lets_in(scope, send):
                return
            await app(scope, receive, send)

        return answer

    async def _lets_in(self, scope: Any, send: Send) -> bool:
        """Whether the answer was the way to the clean address. Who comes with a wrong token comes
        without one."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get(PARAMETER)
        if given is None or scope["path"].startswith(DATA):
            return False
        kept = [(name, value) for name, value in query if name != PARAMETER]
        scope["query_string"] = urlencode(kept).encode()
        if self._tokens.owner(given) is None:
            return False
        cookie = f"{_name(scope, dict(scope['headers']))}={self._tokens.seal(self._secret, given)}"
        headers = entered(scope["path"], kept, cookie, base_of(scope)).headers
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        raw.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": 303, "headers": raw})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True


def _name(scope: Any, headers: Headers) -> str:
    """Of the cookie: by the port under which the browser knows this server."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return cookie_name(int(port) if port.isdigit() else _PORTS.get(scope.get("scheme"), 80))
