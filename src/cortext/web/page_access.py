"""Access to the web pages.

The user of this machine sees all conversations. A client of a service sees only its own
conversations. A user signs in with a link that contains a token. The response redirects to the same
URL without the token. It sets a cookie that scripts cannot read and other sites cannot send.
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
"""A key in the ASGI scope of a request. Its value is True if the URL contains an unknown token."""


def check_access(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Check access to a page. Return None to allow the request, or a response to refuse it.

    The user of this machine may see all pages. A client of a service may see only the pages of the
    conversations in the store; other pages raise NotFoundException. Everyone may load the static
    files, because the sign-in page needs them.
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
    """Return a redirect to `/kept`, the list of the client's conversations in the store."""
    headers = {**HEADERS, "Location": f"{base_of(request.scope)}/kept"}
    return Response(b"", status_code=303, headers=headers)


def cookie_of(header: str, name: str) -> str:
    """Return the value of the cookie `name` in a `Cookie` header; "" if there is none.

    Malformed cookies are skipped. Browsers also send the cookies of other programs on this host,
    and a strict parser would fail at such a cookie.
    """
    for each in header.split(";"):
        key, _, value = each.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def entered(path: str, query: list[tuple[str, str]], cookie: str, base: str = "") -> Response[Any]:
    """Return a redirect that signs a browser in: it sets a cookie and leads to a URL without token.

    `path` and `query` form this URL. `base` is the mount path. `cookie` is set for all paths below
    `base`. If `cookie` is "", no cookie is set.
    """
    # Exactly one leading slash: a URL that starts with `//` or `/\` leads to another host.
    target = base + quote(f"/{path.lstrip('/')}") + (f"?{urlencode(query)}" if query else "")
    headers = {**HEADERS, "Location": target}
    if cookie:
        headers["Set-Cookie"] = f"{cookie}; HttpOnly; SameSite=Strict; Path={base or '/'}"
    return Response(b"", status_code=303, headers=headers)


def left(name: str, base: str) -> Response[Any]:
    """Return a redirect that signs a browser out: it deletes a cookie and leads to the start page.

    `name` is the name of the cookie, and `base` is the mount path.
    """
    return entered("/", [], f"{name}=; Max-Age=0", base)


def refused(
    status: int, why: str, base: str = "", way: str = "link", to: str = ""
) -> Response[Any]:
    """Return the page that asks a visitor to sign in.

    `why` is the sentence that the page shows, and `base` is the mount path. `way` says how to sign
    in: "link" means the link that `cortext web` prints, "token" means a form for a token, and ""
    means another way, which the page does not show. `to` is the URL to open after the sign-in.
    """
    return page("door.html", status=status, why=why, theme="", base=base, way=way, to=to)


def stranger(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return the sign-in page for a request without a known owner."""
    state, base = request.app.state, base_of(request.scope)
    if "takes_tokens" not in state:
        return refused(401, _OPEN_LINK, base)
    if not state.takes_tokens:
        return refused(401, _SIGN_IN_FIRST, base, "")
    scope: Any = request.scope
    query = scope["query_string"].decode("latin-1")
    to = quote(scope["path"]) + (f"?{query}" if query else "")
    return refused(401, UNKNOWN if scope.get(WRONG) else _SIGN_IN_FIRST, base, "token", to)
