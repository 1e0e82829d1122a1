"""Templates to pages. Everything is escaped but what `markdown.py` made."""

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
    # With none, a browser would not say of our own forms whose they are.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
THEME = "cortext-theme"
"""The cookie with the person's choice of light or dark; without it the system's holds."""
ROLES = {"user": "You", "assistant": "Agent", "tool": "Tool", "system": "System"}
ASSETS = os.path.join(os.path.dirname(__file__), "assets")
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def page(template: str, *, status: int = 200, **values: Any) -> Response[str]:
    """A page, or a piece of one."""
    text = environment().get_template(template).render(values)
    # Half a character, which old transcripts have, cannot be sent.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return Response(text, status_code=status, media_type=MediaType.HTML, headers=HEADERS)


def common(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """What every page needs to know of who asks."""
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
    """Whether the person of this machine asks, where its pages are. In a service that has none of
    them the owner "" is a client like others: anybody behind a proxy may be it."""
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
        "plain": markdown_html.as_it_is,
        "shown": _shown,
        "told": _told,
        "short": short,
        "clock": _clock,
        "stamp": _stamp,
        "moment": _moment,
    }
    made.filters.update(filters)  # pyright: ignore[reportUnknownMemberType]  untyped there
    names: dict[str, Any] = {"asset": asset, "roles": ROLES}
    made.globals.update(names)  # pyright: ignore[reportUnknownMemberType]
    return made


@cache
def asset(name: str) -> str:
    """The address of a file of ours below our base: another one whenever it changes."""
    with open(os.path.join(ASSETS, name), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    return f"/assets/{name}?v={digest}"


def short(number: float) -> str:
    """A number as people read it: 1,234 or 12.3 k or 4.5 M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (size if sign != 'k' else 1e3):.1f} {sign}"
    return f"{number:,.0f}"


def _shown(text: str) -> str:
    """A text of others on one line, with nothing in it that hides or turns text around."""
    return clean(text, lines=False)


def _told(text: str) -> Markup:
    """A sentence of ours, in which `this` is code."""
    return Markup(with_code(_shown(text)))  # noqa: S704  it is escaped there


def _local(when: datetime) -> datetime:
    try:
        return when.astimezone()
    except (OverflowError, ValueError):
        return when


def _clock(when: datetime) -> str:
    return f"{_local(when):%H:%M}"


def _stamp(when: datetime) -> str:
    return f"{_local(when):%Y-%m-%d %H:%M}"


def _moment(when: datetime) -> str:
    """As `_stamp`, for the narrow place beside a message."""
    found = _local(when)
    return f"{found.day} {found:%b %H:%M}"
