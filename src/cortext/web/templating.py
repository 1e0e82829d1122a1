"""Web pages made from Jinja templates.

All values are escaped, except the HTML that `markdown_html.py` creates.
"""

from __future__ import annotations

import hashlib
import os
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response
from litestar.enums import MediaType
from markupsafe import Markup

from cortext.model.safe_text import clean
from cortext.service.http.mount_path import base_of
from cortext.service.http.plain_error_page import with_code
from cortext.service.http.request_guard import BY_COOKIE, OWNER
from cortext.web import markdown_html

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers send `Origin: null` for the forms of these pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
THEME = "cortext-theme"
"""The name of the cookie for the theme, light or dark. The default is the setting of the system."""
ROLES = {"user": "You", "assistant": "Agent", "tool": "Tool", "system": "System"}
ASSETS = os.path.join(os.path.dirname(__file__), "assets")
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def page(template: str, *, status: int = 200, **values: Any) -> Response[str]:
    """Render a template with `values`, and return the HTML as a response.

    The template is either a whole page, or a part that a script inserts into a page.
    """
    text = environment().get_template(template).render(values)
    # Old transcripts contain lone surrogates, which UTF-8 cannot encode.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return Response(text, status_code=status, media_type=MediaType.HTML, headers=HEADERS)


def common(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """Return the values that the templates of all pages need, such as the theme."""
    theme = request.cookies.get(THEME, "")
    scope: Any = request.scope
    state = request.app.state
    return {
        "theme": theme if theme in ("light", "dark") else "",
        "base": base_of(scope),
        "path": scope["path"],
        "is_person": is_person(request),
        "is_serving": "owned" in state,
        "served_name": "Served" if "takes_tokens" in state else "Store",
        "can_leave": bool(scope.get(BY_COOKIE)),
    }


def is_person(request: Request[Any, Any, Any]) -> bool:
    """Return whether the request comes from the user of this machine, who may see all pages.

    In an application that does not serve this machine's conversations, the result is always False.
    In such an application, any request through a proxy may have the owner "".
    """
    scope: Any = request.scope
    return scope.get(OWNER) == "" and bool(request.app.state.get("has_machine"))


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("cortext.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "markdown": markdown_html.render,
        "plain": markdown_html.render_plain,
        "shown": _one_line,
        "told": _message_html,
        "short": short,
        "dollars": dollars,
        "clock": _clock,
        "stamp": _date_and_time,
        "moment": _short_time,
    }
    made.filters.update(filters)  # pyright: ignore[reportUnknownMemberType]  untyped there
    names: dict[str, Any] = {"asset": asset, "roles": ROLES}
    made.globals.update(names)  # pyright: ignore[reportUnknownMemberType]
    return made


@cache
def asset(name: str) -> str:
    """Return the URL path of a static file, without the mount path.

    The path contains a hash of the file's content, so browsers may cache the file forever.
    """
    with open(os.path.join(ASSETS, name), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    return f"/assets/{name}?v={digest}"


def short(number: float) -> str:
    """Return a number in a short form, such as 1,234 or 12.3 k or 4.5 M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (size if sign != 'k' else 1e3):.1f} {sign}"
    return f"{number:,.0f}"


def dollars(amount: float) -> str:
    """Return an amount in US dollars, such as $1,234.50 or $0.0012. The result for 0 is a dash."""
    if not amount:
        return "–"
    return f"${amount:,.2f}" if amount >= 0.01 else f"${amount:.4f}"


def _one_line(text: str) -> str:
    """Return text on one line. Characters that hide or reverse text are replaced by U+FFFD."""
    return clean(text, lines=False)


def _message_html(text: str) -> Markup:
    """Return a message of cortext as HTML, with text in backticks as `<code>`."""
    return Markup(with_code(_one_line(text)))  # noqa: S704  `with_code` escapes it


def _local(when: datetime) -> datetime:
    try:
        return when.astimezone()
    except (OverflowError, ValueError):
        return when


def _clock(when: datetime) -> str:
    return f"{_local(when):%H:%M}"


def _date_and_time(when: datetime) -> str:
    return f"{_local(when):%Y-%m-%d %H:%M}"


def _short_time(when: datetime) -> str:
    """Return a time in a short form such as "3 May 14:05", for the margin beside a message."""
    local = _local(when)
    return f"{local.day} {local:%b %H:%M}"
