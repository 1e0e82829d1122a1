"""Access to the pages: the user of this machine sees all, a client of a service only its own.

A link with a token redirects to the same URL without the token. The redirect sets a cookie that
scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from litestar import Request, Response
from litestar.exceptions import NotFoundException

from cortext.service.http.mount_path import base_of
from cortext.service.http.request_guard import OWNER
from cortext.web.templating import HEADERS, is_person, page

PARAMETER = "token"
_OPEN = "Open the link that cortext printed when it started."
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
UNKNOWN = "This token is not known here."
_FIRST = "Sign in first."
WRONG = "cortext.wrong_token"
"""The key in a scope for whether the URL contained an unknown token."""


def only_who_may(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Return the response to a request that may not see its page; None if it may.

    This machine's conversations are for its user. Other clients of a service see only what the
    service stores for them. The style sheet is for everyone, because the page that refuses needs
    it.
    """
    scope: Any = request.scope
    owner, path = scope.get(OWNER), scope["path"]
    if path.startswith("/assets/") or is_person(request):
        return None
    if owner is None:
        return stranger(request)
    if path == "/":
        return to_kept(request)
    if path == "/kept" or path.startswith(("/kept/", "/kept-list/")):
        return None
    raise NotFoundException


def to_kept(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return a redirect to the list of the client's conversations."""
    to = {**HEADERS, "Location": f"{base_of(request.scope)}/kept"}
    return Response(b"", status_code=303, headers=to)


def cookie_of(header: str, name: str) -> str:
    """Return the value of a cookie; "" if it was not sent.

    Browsers also send the cookies of other programs on this host, which can break a strict parser.
    """
    for each in header.split(";"):
        key, _, value = each.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def entered(path: str, query: list[tuple[str, str]], cookie: str, base: str = "") -> Response[Any]:
    """Return a redirect to a URL without the token, with a cookie for all paths below `base`."""
    # Exactly one leading slash: a URL that begins with `//` or `/\` points to another host.
    target = base + quote(f"/{path.lstrip('/')}") + (f"?{urlencode(query)}" if query else "")
    headers = {**HEADERS, "Location": target}
    if cookie:
        headers["Set-Cookie"] = f"{cookie}; HttpOnly; SameSite=Strict; Path={base or '/'}"
    return Response(b"", status_code=303, headers=headers)


def left(name: str, base: str) -> Response[Any]:
    """Return a redirect to the start page that deletes the cookie with this name."""
    return entered("/", [], f"{name}=; Max-Age=0", base)


def refused(
    status: int, why: str, base: str = "", way: str = "link", to: str = ""
) -> Response[Any]:
    """Return the page that asks a visitor to sign in.

    `way` is how to sign in: "link" is the link that `cortext web` prints, "token" is a form for a
    token, and "" is any other way. `to` is the URL to open after the sign-in.
    """
    return page("door.html", status=status, why=why, theme="", base=base, way=way, to=to)


def stranger(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return the response to a request without an owner."""
    state, base = request.app.state, base_of(request.scope)
    if "takes_tokens" not in state:
        return refused(401, _OPEN, base)
    if not state.takes_tokens:
        return refused(401, _FIRST, base, "")
    scope: Any = request.scope
    query = scope["query_string"].decode("latin-1")
    to = quote(scope["path"]) + (f"?{query}" if query else "")
    return refused(401, UNKNOWN if scope.get(WRONG) else _FIRST, base, "token", to)
