"""Checks of every request before routing: its host, its owner, its body and the rate limit.

The `Host` header must name this server. If there is an `Origin` header, it must name the same host.
So a web page of another site cannot pretend to be this host, and cannot send requests here.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import lru_cache, partial
from ipaddress import ip_address
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cortext.service.http import problem_responses
from cortext.service.http.access_tokens import AccessTokens
from cortext.service.http.metrics import Metrics
from cortext.service.http.mount_path import inside, outside
from cortext.service.http.plain_error_page import html_of, prefers_html
from cortext.service.http.rate_limits import Places, Rate

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Send

    from cortext.service.http.browser_login import Entrance

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
ANY_ADDRESS = "address"
"""An entry in a list of host names that allows any IP address as the host.

IP addresses are safe, because an attack by DNS rebinding needs a host name.
"""
OWNER = "cortext.owner"
"""The key in an ASGI scope for the owner who makes the request.

The value "" is the user of this machine. The value None means that the owner is unknown, because
the request has no valid token, for example.
"""
BY_COOKIE = "cortext.by_cookie"
"""The key in an ASGI scope for a flag: True if a cookie of the web pages identified the owner."""
STAYS = "cortext.stays"
"""The key in the ASGI scope of an event stream for a function without arguments.

The function returns whether the client may still receive events.
"""
_STREAM_OWNER = "cortext.place"
"""The key in the ASGI scope of an event stream for the owner who has opened the stream."""
DATA = "/v1/"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@/\[\],]+)(?::\d{1,5})?")
Headers = Mapping[bytes, bytes]
_Refusal = tuple[problem_responses.HttpProblem, dict[str, str]]
_PUBLIC_PATHS = frozenset(("/healthz", "/readyz", "/metrics"))
"""Paths that need no owner. For these paths, `owner_of` is not called."""
_log = logging.getLogger("cortext.web")
OwnerOf = Callable[[Mapping[str, Any]], "str | Awaitable[str | None] | None"]


class Guard:
    """An ASGI application that checks each request. It passes an allowed request to `app`.

    The class also counts the requests and event streams of each owner, and limits their number.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        owner_of: OwnerOf | None,
        tokens: AccessTokens | None,
        hosts: Collection[str],
        rate: Rate,
        streams: Places,
        max_body: int,
        metrics: Metrics,
        entrance: Entrance | None = None,
    ) -> None:
        self._app = app
        self._owner_of = owner_of
        self._tokens = tokens
        self._hosts = frozenset(host.lower() for host in hosts)
        self._rate = rate
        self._streams = streams
        self._max_body = max_body
        self._metrics = metrics
        self._entrance = entrance
        self._is_known_host = lru_cache(256)(self._check_host)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "no WebSockets here"})
        else:
            await self._answer(inside(scope), receive, send)

    async def _answer(self, scope: Any, receive: Receive, send: Send) -> None:
        metrics, began, status = self._metrics, perf_counter(), 0

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics.in_flight += 1
        try:
            refusal = await self._refusal(scope)
            if refusal is None:
                await self._app(scope, receive, send_and_note_status)
            else:
                await refuse(send_and_note_status, *refusal, scope=scope)
        finally:
            metrics.in_flight -= 1
            if scope.get(_STREAM_OWNER) is not None:
                self._streams.give_back(scope[_STREAM_OWNER])
            route = scope.get("path_template") or "none"
            if not route.endswith("/events"):
                metrics.count(scope["method"], route, status, perf_counter() - began)

    async def _refusal(self, scope: Any) -> _Refusal | None:
        """Check a request, and set `OWNER` in `scope` to the owner who makes the request.

        Return None if the request is allowed. Otherwise return the problem and the headers of the
        error response.
        """
        pairs: list[tuple[bytes, bytes]] = scope["headers"]
        headers = dict(pairs)
        problem = self._wrong_host_or_origin(pairs, headers)
        if problem is not None:
            return problem, {}
        path = scope["path"]
        if self._owner_of is None:
            owner = self._find_owner(scope, headers)
        else:
            is_known, owner = await self._call_owner_of(self._owner_of, scope)
            if not is_known:
                return problem_responses.problem("internal"), {}
        scope[OWNER] = owner
        if path and (path[0] != "/" or "//" in path):
            # The framework ignores extra slashes, so it could route to a path not checked below.
            return problem_responses.problem("no-such-path"), {}
        if not path.startswith(DATA):
            # Event streams of the web pages also count towards the limit of streams.
            if owner is None or not path.endswith("/events"):
                return None
            return self._admit_stream(scope, headers, owner)
        if owner is None:
            return self._refuse_stranger()
        problem = self._wrong_body(scope["method"], headers)
        if problem is not None:
            return problem, {}
        wait = self._rate.wait(owner)
        if wait:
            seconds = str(int(wait) + 1)
            return problem_responses.problem("too-many-requests"), {"Retry-After": seconds}
        return self._admit_stream(scope, headers, owner) if path.endswith("/events") else None

    def _admit_stream(self, scope: Any, headers: Headers, owner: str) -> _Refusal | None:
        """Count a new event stream of the owner, or return a refusal if the owner has too many."""
        scope[STAYS] = partial(self._may_stay, scope, headers, owner)
        if not self._streams.take(owner):
            return problem_responses.problem("too-many-streams"), {}
        scope[_STREAM_OWNER] = owner
        return None

    def _wrong_host_or_origin(
        self, pairs: list[tuple[bytes, bytes]], headers: Headers
    ) -> problem_responses.HttpProblem | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # `pairs` is longer than `headers` if some header occurs twice. Only then count the hosts.
        several = len(pairs) > len(headers) and sum(name == b"host" for name, _ in pairs) > 1
        if several or not self._is_known_host(host):
            return problem_responses.problem("wrong-host", f"{host[:100]!r} is not a known host")
        origin = headers.get(b"origin")
        if origin is None:
            return None
        scheme, _, name = origin.decode("latin-1").lower().partition("://")
        if scheme not in ("http", "https") or name != host:
            return problem_responses.problem("wrong-origin")
        return None

    def _check_host(self, host: str) -> bool:
        if "*" in self._hosts:
            return True
        name = _host_name(host)
        if name in self._hosts:
            return True
        return ANY_ADDRESS in self._hosts and _is_address(name)

    async def _call_owner_of(self, owner_of: OwnerOf, scope: Any) -> tuple[bool, str | None]:
        """Call `owner_of`. Return whether the call worked, and the owner that it returned.

        An error in `owner_of` is logged, because it is a fault of the application and not of the
        client.
        """
        if scope["path"] in _PUBLIC_PATHS:
            return True, None
        try:
            owner: Any = owner_of(outside(scope))
            if inspect.isawaitable(owner):
                owner = await owner
        except Exception:  # noqa: BLE001  foreign code may raise anything
            _log.exception("owner_of failed for a request")
            return False, None
        if owner is not None and type(owner) is not str:
            _log.error("owner_of must return a string or None, not %s", type(owner).__name__)
            return False, None
        return True, owner

    def _find_owner(self, scope: Any, headers: Headers) -> str | None:
        if self._tokens is None:
            client = scope.get("client")
            return "" if client and _is_loopback(client[0]) else None
        if self._entrance is not None and b"cookie" in headers and b"authorization" not in headers:
            owner = self._entrance.owner(scope, headers)
            scope[BY_COOKIE] = owner is not None
            return owner
        return self._tokens.owner(given_token(headers))

    def _may_stay(self, scope: Any, headers: Headers, owner: str) -> bool:
        """Return whether an open event stream of the owner may stay open.

        The result is False if the request's token or cookie no longer belongs to the owner, for
        example because the token was revoked. If the application has an `owner_of` function, the
        result is always True.
        """
        return self._owner_of is not None or self._find_owner(scope, headers) == owner

    def _refuse_stranger(self) -> _Refusal:
        if self._tokens is None and self._owner_of is None:
            return problem_responses.problem("token-needed"), {}
        detail = "the token is missing or wrong"
        return problem_responses.problem("unauthorized", detail), {"WWW-Authenticate": "Bearer"}

    def _wrong_body(self, method: str, headers: Headers) -> problem_responses.HttpProblem | None:
        size = int(headers.get(b"content-length", b"0") or 0)
        if size > self._max_body:
            return too_large(self._max_body)
        has_body = size > 0 or b"transfer-encoding" in headers
        if method not in ("POST", "PATCH") or not (has_body or b"content-type" in headers):
            return None
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return problem_responses.problem(
                "unsupported-media-type", "compressed bodies are not accepted"
            )
        if not _is_json(headers.get(b"content-type", b"")):
            return problem_responses.problem(
                "unsupported-media-type", "send application/json in UTF-8"
            )
        return None


def given_token(headers: Headers) -> str:
    """Return the bearer token in the `Authorization` header, or "" if there is none."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def too_large(most: int) -> problem_responses.HttpProblem:
    return problem_responses.problem("too-large", f"the limit is {most} bytes")


async def refuse(
    send: Send,
    problem: problem_responses.HttpProblem,
    headers: Mapping[str, str] | None = None,
    scope: Any = None,
) -> None:
    """Send an error response.

    `problem` describes the error, and `headers` are additional headers. The response is an HTML
    page if `scope` is given and the client prefers HTML. Otherwise it is JSON.
    """
    accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1") if scope else ""
    kind, body = problem_responses.MEDIA_TYPE, problem_responses.encode(problem)
    html_headers: Mapping[str, str] = {}
    if prefers_html(accept):
        kind, body, html_headers = html_of(problem)
    all_headers = {
        "content-type": kind,
        "content-length": str(len(body)),
        **html_headers,
        **problem_responses.headers_of(problem),
        **(headers or {}),
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in all_headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _host_name(host: str) -> str:
    """Return the host without the port from a `Host` header, or "" if the header is invalid."""
    match = _HOST.fullmatch(host)
    return match[1].rstrip(".") if match else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    return _is_address(address) and ip_address(address).is_loopback


def _is_json(content_type: bytes) -> bool:
    kind, _, rest = content_type.decode("latin-1").lower().partition(";")
    charset = rest.partition("charset=")[2].strip().strip('"')
    return kind.strip() == "application/json" and charset in ("", "utf-8", "utf8")
