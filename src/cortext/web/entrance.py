"""How a browser gets to the pages of the service: as at the door of `cortext web`, a link with the
person's token becomes a cookie that is good as long as this process runs, and the token is not in
it. Browsers send cookies to every port of a host, and other programs listen there.
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

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send

_PORTS = {"http": 80, "https": 443}


class Entrance:
    """`in_front_of` the pages it takes tokens out of addresses; `knows` who came in by one."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._secret = secrets.token_urlsafe(32)

    def knows(self, scope: Any, headers: Headers) -> bool:
        """Whether a request has the cookie."""
        sent = headers.get(b"cookie", b"").decode("latin-1")
        given = cookie_of(sent, _name(scope, headers))
        return hmac.compare_digest(given.encode(), self._secret.encode())

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
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if given is None or path.startswith(DATA):
            return False
        kept = [(name, value) for name, value in query if name != PARAMETER]
        scope["query_string"] = urlencode(kept).encode()
        if self._tokens.owner(given) != "":
            return False
        name = _name(scope, dict(scope["headers"]))
        headers = entered(scope["path"], kept, f"{name}={self._secret}").headers
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        raw.append((b"content-length", b"0"))
        await send({"type": "http.response.start", "status": 303, "headers": raw})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True


def _name(scope: Any, headers: Headers) -> str:
    """Of the cookie: by the port under which the browser knows this server."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return cookie_name(int(port) if port.isdigit() else _PORTS.get(scope.get("scheme"), 80))
