"""Who the pages answer: the person of this machine, and in a service each client for itself.

Who comes in by a link with a token is led to the clean address, with a cookie that scripts cannot
read and other sites cannot send.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from litestar import Request, Response
from litestar.exceptions import NotFoundException

from cortext.web.guard import OWNER
from cortext.web.pages.rendering import HEADERS, page
from cortext.web.standing import base_of

PARAMETER = "token"
_OPEN = "Open the link that cortext printed when it started."
_SIGN_IN = "Sign in first."


def only_who_may(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """The answer to whoever may not see a page; None lets one through. What this machine keeps is
    its person's; other clients of a service see what it keeps for them. The style sheet is for
    all: the page that refuses has it too."""
    scope: Any = request.scope
    owner, path = scope.get(OWNER), scope["path"]
    if owner == "" or path.startswith("/assets/"):
        return None
    if owner is None:
        return stranger(request)
    if path == "/":
        to = {**HEADERS, "Location": f"{base_of(scope)}/kept"}
        return Response(b"", status_code=303, headers=to)
    if path == "/kept" or path.startswith("/kept/"):
        return None
    raise NotFoundException


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
    kept = f"{cookie}; HttpOnly; SameSite=Strict; Path={base or '/'}"
    headers = {**HEADERS, "Location": target, "Set-Cookie": kept}
    return Response(b"", status_code=303, headers=headers)


def refused(status: int, why: str, base: str = "", way: str = "link") -> Response[Any]:
    """The `way` in is a "link" that `cortext web` prints, a "token" to be typed, or another's."""
    return page("door.html", status=status, why=why, theme="", base=base, way=way)


def stranger(request: Request[Any, Any, Any]) -> Response[Any]:
    """The answer to one who is nobody here."""
    state, base = request.app.state, base_of(request.scope)
    if "takes_tokens" not in state:
        return refused(401, _OPEN, base)
    return refused(401, _SIGN_IN, base, "token" if state.takes_tokens else "")
