"""The HTML export: one page that loads no other file, runs no script and needs no server.

All text of a session is escaped, and HTML in messages is shown as text. The content security policy
of the page also forbids scripts, images, frames and requests.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from cortext.formats.exports.embedded_session import EmbeddedDocument, seal, unseal
from cortext.formats.exports.export_view import ExportPart, ShownCall, facts, parts
from cortext.formats.exports.html_style import STYLE
from cortext.formats.exports.printable_text import LONGEST_MARKDOWN, one_line, utc, visible
from cortext.formats.exports.safe_markdown_parsing import DEEPEST, parse
from cortext.model import message_dicts
from cortext.model.session import Session

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BEGINNING = "<!doctype html>"
_OPENING = '<script type="application/json" id="cortext-session" data-shown="{}">\n'
_CLOSING = "</script>\n</body>\n</html>\n"
_POLICY = (
    "default-src 'none'; script-src 'none'; style-src 'sha256-{}'; base-uri 'none'; "
    "form-action 'none'"
)
_SHORT = 80
_FOLDED = frozenset(("system", "tool"))
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}


def encode(session: Session) -> bytes:
    """Return a session as the content of an HTML file."""
    title = escape(one_line(session.title)) or "Untitled"
    lines = [*_head(title), "<body>", *_header(session, title), "<main>"]
    for part in parts(session):
        lines += _part(part)
    lines += [
        "</main>",
        "<footer>Exported by cortext. <code>cortext import</code> reads it.</footer>",
    ]
    return seal("\n".join(lines) + "\n", session, _OPENING, _CLOSING)


def find(text: str) -> EmbeddedDocument | None:
    """Return the JSON of the session in an HTML export, or None if the text has no JSON.

    Raises ValueError if the file was cut off inside the JSON.
    """
    return unseal(text, _OPENING, _CLOSING)


def render(text: str) -> str:
    """Convert the markdown text of a message to HTML.

    The result loads no images, and shows HTML in the message as text.
    """
    parser = _parser()
    tokens = parse(parser, visible(text)) if len(text) <= LONGEST_MARKDOWN else None
    if tokens is None:
        return _plain_block(text)
    _adapt_tokens(tokens)
    # Clean the result too, because an entity may produce a hidden character.
    return visible(parser.renderer.render(tokens, parser.options, {}))


def _head(title: str) -> list[str]:
    digest = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return [
        BEGINNING,
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(digest)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="robots" content="noindex">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
    ]


def _header(session: Session, title: str) -> Iterator[str]:
    yield f'<header>\n<h1 dir="auto">{title}</h1>'
    if session.summary.strip():
        yield f'<p class="summary" dir="auto">{escape(one_line(session.summary))}</p>'
    yield '<dl class="facts">'
    for name, value in facts(session):
        yield f"<div><dt>{name}</dt><dd><bdi>{escape(one_line(value))}</bdi></dd></div>"
    yield "</dl>\n</header>"


def _part(part: ExportPart) -> Iterator[str]:
    text = visible(part.text)
    slim = "" if text.strip() or part.calls or part.data else " slim"
    place = f' id="m{part.number}"' if part.number else ""
    yield f'<article class="{part.role.split()[0]}{slim}"{place}>'
    yield _byline(part)
    if text.strip() and part.role not in _FOLDED:
        yield f'<div class="text" dir="auto">{render(text)}</div>'
    elif text.strip():
        yield _output(text)
    for call in part.calls:
        yield _call(call)
    if part.data:
        yield f"<details>\n<summary>data</summary>\n{_plain_block(part.data)}\n</details>"
    yield "</article>"


def _byline(part: ExportPart) -> str:
    number = f"<span>{part.number}</span>" if part.number else ""
    name = f"<bdi>{escape(one_line(part.name))}</bdi>" if part.name.strip() else ""
    when = f'<time datetime="{message_dicts.iso(part.when)}">{utc(part.when)}</time>'
    return f'<p class="by"><span class="role">{part.role}</span>{name}{number}{when}</p>'


def _call(call: ShownCall) -> str:
    line = f"<code><bdi>{escape(one_line(call.line)) or 'a tool'}</bdi></code>"
    shown = [("given", call.given), ("result", call.result)]
    inner = [
        f'<p class="label">{name}</p>\n{_plain_block(text)}' for name, text in shown if text.strip()
    ]
    return "\n".join(["<details>", f"<summary>{line}</summary>", *inner, "</details>"])


def _output(text: str) -> str:
    """Return the text of a tool or system message as HTML.

    A long text is folded: only its first words are shown until the reader clicks on them.
    """
    lines = text.strip("\n").count("\n") + 1
    if lines == 1 and len(text) <= _SHORT:
        return _plain_block(text.strip("\n"))
    beginning = escape(one_line(text[: 4 * _SHORT])[:_SHORT])
    count = f"{lines} line{'s' if lines > 1 else ''}"
    summary = f"<bdi>{beginning}…</bdi> ({count})"
    return f"<details>\n<summary>{summary}</summary>\n{_plain_block(text)}\n</details>"


def _plain_block(text: str) -> str:
    return f'<pre class="plain" dir="auto">{escape(visible(text))}</pre>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_web_page  # pyright: ignore[reportAttributeAccessIssue]  documented
    return parser


def _is_web_page(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _adapt_tokens(tokens: Sequence[Token]) -> None:
    """Adapt the markdown tokens of a message to the HTML page.

    Links get a `rel` that sends no referrer. Inline styles are replaced by classes, because the
    content security policy of the page forbids inline styles.
    """
    for token in tokens:
        if token.type == "link_open":
            token.attrSet("rel", "noopener noreferrer nofollow")
        if "style" in token.attrs:
            side = _ALIGNED.get(str(token.attrs.pop("style")))
            if side:
                token.attrSet("class", side)
        _adapt_tokens(token.children or ())
