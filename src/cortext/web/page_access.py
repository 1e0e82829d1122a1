"""Who the pages answer: the person of this machine, and in a service each client for itself.

Who comes in by a link with a token is led to the clean address, with a cookie that scripts cannot
read and other sites cannot send.
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
"""What the scope of a request has whose address had a token that nobody knows."""


def only_who_may(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """The answer to whoever may not see a page; None lets one through. What this machine keeps is
    its person's; other clients of a service see what it keeps for them. The style sheet is for
    all: the page that refuses has it too."""
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
    """The way to all that a client has."""
    to = {**HEADERS, "Location": f"{base_of(request.scope)}/kept"}
    return Response(b"", status_code=303, headers=to)


def cookie_of(header: str, name: str) -> str:
    """The value of a cookie of ours, "" if it was not sent. Other programs of this host send theirs
    along, in forms that a strict parser stops at."""
    for each in header.split(";"):
        key, _, value = each.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def entered(path: str, query: list[tuple[str, str]], cookie: str, base: str = "") -> Response[Any]:
    """To the clean address, with a cookie for all that stands below `base`."""
    # One slash: two would be the address of another host, as would one and a backslash.
    target = base + quote(f"/{path.lstrip('/')}") + (f"?{urlencode(query)}" if query else "")
    headers = {**HEADERS, "Location": target}
    if cookie:
        headers["Set-Cookie"] = f"{cookie}; HttpOnly; SameSite=Strict; Path={base or '/'}"
    return Response(b"", status_code=303, headers=headers)


def left(name: str, base: str) -> Response[Any]:
    """To the door, without the cookie of this name."""
    return entered("/", [], f"{name}=; Max-Age=0", base)


def refused(
    status: int, why: str, base: str = "", way: str = "link", to: str = ""
) -> Response[Any]:
    """The `way` in is a "link" that `cortext web` prints, a "token" to be typed, or another's. `to`
    is where one who types it wanted to go."""
    return page("door.html", status=status, why=why, theme="", base=base, way=way, to=to)


def stranger(request: Request[Any, Any, Any]) -> Response[Any]:
    """The answer to one who is nobody here."""
    state, base = request.app.state, base_of(request.scope)
    if "takes_tokens" not in state:
        return refused(401, _OPEN, base)
    if not state.takes_tokens:
        return refused(401, _FIRST, base, "")
    scope: Any = request.scope
    query = scope["query_string"].decode("latin-1")
    to = quote(scope["path"]) + (f"?{query}" if query else "")
    return refused(401, UNKNOWN if scope.get(WRONG) else _FIRST, base, "token", to)
