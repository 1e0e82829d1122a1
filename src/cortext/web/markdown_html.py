"""Conversion of messages from markdown to HTML, with coloured code.

HTML in a message is shown as text. Only links to web pages and mail addresses work. A relative link
is shown as text, because it would lead to this server. An image is shown as a link, so that the
browser does not load it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from cortext.formats.exports.printable_text import LONGEST_MARKDOWN, visible
from cortext.formats.exports.safe_markdown_parsing import DEEPEST, parse

_ALLOWED_LINKS = ("http://", "https://", "mailto:")
_SCHEME = re.compile(r"[^/?#]*:")
_ALIGNMENTS = {"text-align:right": "right", "text-align:center": "center"}
_LONGEST_CODE = 30_000
"""The largest code block that gets colours, in characters."""
_LONGEST_UNTESTED = 2_000
"""The largest code block that gets colours in a language outside `_TESTED_LANGUAGES`.

The colouring rules of these languages were not tested with hostile text. Some take quadratic time.
"""
_LONG_SPACE = re.compile(r"\s{300}")
"""Long whitespace. The colouring rules of C, Java, Python and others take quadratic time on it."""
_TESTED_LANGUAGES = frozenset(
    ("bash", "c", "console", "cpp", "css", "diff", "go", "html", "ini", "java", "javascript", "js",
     "json", "jsx", "kotlin", "markdown", "md", "php", "py", "python", "rb", "rs", "ruby", "rust",
     "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml", "zsh")
)  # fmt: skip


def render(text: str, *, breaks: bool = False) -> Markup:
    """Return the markdown of a message as HTML.

    A text that is too long or too complex for the parser is returned unformatted.

    With `breaks`, every line break in the text is also a line break in the HTML. Use `breaks` for
    messages of users, who type line breaks on purpose. Do not use it for messages of agents, which
    also break long lines.
    """
    parser = _parser(breaks)
    tokens = parse(parser, visible(text)) if len(text) <= LONGEST_MARKDOWN else None
    if tokens is None:
        return render_plain(text)
    tokens = _adapt(tokens)
    # Clean the HTML again, because the parser may turn an HTML entity into a hidden character.
    return Markup(visible(parser.renderer.render(tokens, parser.options, {})))  # noqa: S704


def render_plain(text: str) -> Markup:
    return Markup('<pre class="plain" dir="auto">{}</pre>').format(visible(text))


def coloured(text: str, language: str) -> str:
    """Return code as HTML, with CSS classes that determine the colours.

    Code that is too long or in an unknown language gets no classes.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import (
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
    )
    from pygments.util import ClassNotFound

    most = _LONGEST_CODE if language.lower() in _TESTED_LANGUAGES else _LONGEST_UNTESTED
    if not language or len(text) > most or _LONG_SPACE.search(text):
        return escape(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return highlight(text, lexer, HtmlFormatter(nowrap=True))


@cache
def _parser(breaks: bool) -> MarkdownIt:
    options = {"html": False, "breaks": breaks, "maxNesting": DEEPEST, "highlight": _highlight}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.validateLink = _may_be_link  # pyright: ignore[reportAttributeAccessIssue]  a hook
    return parser


def _highlight(text: str, language: str, _attributes: str) -> str:
    return coloured(text, language[:40])


def _may_be_link(url: str) -> bool:
    """Return whether the parser makes a link to a URL.

    The result is also True for a relative URL. `_adapt` later shows such a link as text.
    """
    return url.lower().startswith(_ALLOWED_LINKS) or not _SCHEME.match(url)


def _adapt(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a parsed text in a form that is safe for the pages.

    Images become links, and relative links become text. `style` attributes are removed, because the
    Content-Security-Policy of the pages forbids them.
    """
    adapted: list[Token] = []
    disabled: list[bool] = []
    for token in tokens:
        if token.type == "image":
            adapted += _image(token)
            continue
        if token.type == "link_open":
            disabled.append(_open_link(token))
        elif token.type == "link_close" and disabled.pop():
            token.tag = "span"
        if "style" in token.attrs:
            side = _ALIGNMENTS.get(str(token.attrs.pop("style")))
            if side:
                token.attrSet("class", side)
        if token.children:
            token.children = _adapt(token.children)
        adapted.append(token)
    return adapted


def _open_link(link: Token) -> bool:
    """Disable a link, unless it leads to a web page or a mail address.

    `link` is the opening token of the link. Return True if the link was disabled.
    """
    target = str(link.attrs.get("href") or "")
    if target.lower().startswith(_ALLOWED_LINKS):
        link.attrSet("rel", "noopener noreferrer nofollow")
        link.attrSet("target", "_blank")
        return False
    link.tag = "span"
    link.attrs = {"class": "dead", "title": target}
    return True


def _image(image: Token) -> list[Token]:
    opening, closing = Token("link_open", "a", 1), Token("link_close", "a", -1)
    opening.attrs = {"href": str(image.attrs.get("src") or ""), "class": "image"}
    if _open_link(opening):
        closing.tag = "span"
    text = Token("text", "", 0)
    text.content = f"image: {image.content}" if image.content else "image"
    return [opening, text, closing]
