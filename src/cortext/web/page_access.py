"""Access to the web pages.

The user of this machine sees all conversations. A client of a service sees only its own
conversations.

A user signs in with a link that contains a token. The response sets a cookie, and redirects to the
same URL without the token. Scripts cannot read the cookie, and other sites cannot send it.
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
_OPEN_LINK = "Open the link that cortext printed when it started."
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
UNKNOWN = "Unknown token."
_SIGN_IN_FIRST = "Sign in first."
WRONG = "cortext.wrong_token"
"""The key in an ASGI scope for a flag that is True if the token in the URL is unknown."""


def check_access(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Check whether a request may see a page. Return None if it may, otherwise a response.

    The response is the sign-in page, or a redirect to a page that the client may see.

    The user of this machine may see all pages. A client of a service may see only the conversations
    in the store; for other pages, NotFoundException is raised. Everyone may load the static files,
    because the sign-in page needs them.
    """
    scope: Any = request.scope
    owner, path = scope.get(OWNER), scope["path"]
    if path.startswith("/assets/") or is_person(request):
        return None
    if owner is None:
        return stranger(request)
    if path == "/":
        return redirect_to_store(request)
    if path == "/kept" or path.startswith(("/kept/", "/kept-list/")):
        return None
    raise NotFoundException


def redirect_to_store(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return a redirect to `/kept`, the list of the conversations in the store."""
    headers = {**HEADERS, "Location": f"{base_of(request.scope)}/kept"}
    return Response(b"", status_code=303, headers=headers)


def cookie_of(header: str, name: str) -> str:
    """Return the value of the cookie `name` in a `Cookie` header, or "" if there is none.

    Malformed cookies are skipped, because other programs on this host may set such cookies.
    """
    for each in header.split(";"):
        key, _, value = each.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def entered(path: str, query: list[tuple[str, str]], cookie: str, base: str = "") -> Response[Any]:
    """Return a redirect to a URL. It signs the browser in by setting a cookie.

    `path` and `query` are the path and the query of the URL, which must not contain the token.
    `base` is the mount path. `cookie` is the cookie as `NAME=VALUE`; if it is "", no cookie is set.
    The cookie is sent with requests for all paths below `base`.
    """
    # Exactly one leading slash: a URL that starts with `//` or `/\` leads to another host.
    target = base + quote(f"/{path.lstrip('/')}") + (f"?{urlencode(query)}" if query else "")
    headers = {**HEADERS, "Location": target}
    if cookie:
        headers["Set-Cookie"] = f"{cookie}; HttpOnly; SameSite=Strict; Path={base or '/'}"
    return Response(b"", status_code=303, headers=headers)


def left(name: str, base: str) -> Response[Any]:
    """Return a redirect to the start page. It signs the browser out by deleting a cookie.

    `name` is the name of the cookie, and `base` is the mount path.
    """
    return entered("/", [], f"{name}=; Max-Age=0", base)


def refused(
    status: int, why: str, base: str = "", way: str = "link", to: str = ""
) -> Response[Any]:
    """Return the page that asks a visitor to sign in.

    Args:
        status: The HTTP status of the response.
        why: The sentence that the page shows.
        base: The mount path.
        way: How to sign in. "link" means the link that `cortext web` prints, and "token" means a
            form for a token. "" means another way, which the page does not show.
        to: The URL to open after the sign-in.
    """
    return page("door.html", status=status, why=why, theme="", base=base, way=way, to=to)


def stranger(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return the sign-in page, for a request whose owner is unknown."""
    state, base = request.app.state, base_of(request.scope)
    if "takes_tokens" not in state:
        return refused(401, _OPEN_LINK, base)
    if not state.takes_tokens:
        return refused(401, _SIGN_IN_FIRST, base, "")
    scope: Any = request.scope
    query = scope["query_string"].decode("latin-1")
    to = quote(scope["path"]) + (f"?{query}" if query else "")
    return refused(401, UNKNOWN if scope.get(WRONG) else _SIGN_IN_FIRST, base, "token", to)
