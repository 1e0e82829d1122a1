"""Who the pages answer: the person of this machine, and nobody else.

Who comes in by a link with a token is led to the clean address, with a cookie that scripts cannot
read and other sites cannot send.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from litestar import Request, Response

from cortext.web.guard import OWNER
from cortext.web.pages.rendering import HEADERS, page

PARAMETER = "token"


def only_the_person(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """The answer to anybody else; None lets the person through. The style sheet is for all: the
    page that refuses has it too."""
    path = request.url.path
    scope: Any = request.scope
    if scope.get(OWNER) == "" or path.startswith("/assets/"):
        return None
    return refused(401, "Open the link that cortext printed when it started.")


def cookie_of(header: str, name: str) -> str:
    """The value of a cookie of ours, "" if it was not sent. Other programs of this host send theirs
    along, in forms that a strict parser stops at."""
    for each in header.split(";"):
        key, _, value = each.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def entered(path: str, query: list[tuple[str, str]], cookie: str) -> Response[Any]:
    """To the clean address, with a cookie."""
    # One slash: two would be the address of another host, as would one and a backslash.
    target = quote(f"/{path.lstrip('/')}") + (f"?{urlencode(query)}" if query else "")
    kept = f"{cookie}; HttpOnly; SameSite=Strict; Path=/"
    headers = {**HEADERS, "Location": target, "Set-Cookie": kept}
    return Response(b"", status_code=303, headers=headers)


def refused(status: int, why: str) -> Response[Any]:
    return page("door.html", status=status, why=why, theme="")
