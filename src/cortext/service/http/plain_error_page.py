"""Error responses as a plain HTML page, for a user in a browser. The page loads no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape

from cortext.service.http.problem_responses import HttpProblem

_HTML = ("text/html", "application/xhtml+xml")
_JSON = ("application/json", "application/problem+json")
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:18vh auto 2rem;"
    "padding:0 1.5rem;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}p{margin:0 0 .75rem}"
    "small{opacity:.75}code{font:.9em ui-monospace,monospace}"
)
_CODE = re.compile("`([^`\n]+)`")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept",
}


def prefers_html(accept: str) -> bool:
    """Return whether an `Accept` header prefers HTML to JSON.

    The result is False for `*/*`, so programs that accept anything get JSON.
    """
    qualities: dict[str, float] = {}
    for each in accept.lower().split(",")[:50]:
        kind, _, rest = each.partition(";")
        qualities[kind.strip()] = _quality(rest)
    html = max(qualities.get(kind, 0.0) for kind in _HTML)
    return html > max(qualities.get(kind, 0.0) for kind in _JSON)


def html_of(problem: HttpProblem) -> tuple[str, bytes, Mapping[str, str]]:
    """Return an HTML page about a problem: its media type, its body and its headers."""
    paragraphs = [f"<p>{with_code(each)}</p>" for each in (problem.detail, problem.hint) if each]
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(problem.title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(problem.title)}</h1>{''.join(paragraphs)}"
        f"<p><small>{problem.status} {escape(problem.code)} \u00b7 cortext</small></p>"
        "</body></html>\n"
    )
    return "text/html; charset=utf-8", text.encode("utf-8", "replace"), _HEADERS


def with_code(text: str) -> str:
    """Return `text` as escaped HTML. Text in backticks becomes a `<code>` element."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _quality(rest: str) -> float:
    for each in rest.split(";"):
        name, _, value = each.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
