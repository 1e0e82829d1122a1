"""Conversion of messages from markdown to HTML, with coloured code.

HTML in a message is shown as text. Only links to web pages and mail addresses work. A relative link
is shown as text, because it would lead to this server. An image is shown as a link, so that the
browser does not load the image.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from cortext.formats.exports.markdown_parser import DEEPEST, parse
from cortext.formats.exports.visible_text import LONGEST_MARKDOWN, visible

_LIVE = ("http://", "https://", "mailto:")
_SCHEME = re.compile(r"[^/?#]*:")
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}
_LONGEST_CODE = 30_000
"""The largest code block that gets colours, in characters."""
_LONGEST_RARE = 2_000
"""The same limit for languages that are not in `_TRIED`, in characters.

Their colouring rules were not tested with hostile text, and some rules take quadratic time.
"""
_EMPTY = re.compile(r"\s{300}")
"""Long whitespace, for which the rules of C, Java, Python and others take quadratic time."""
_TRIED = frozenset(
    ("bash", "c", "console", "cpp", "css", "diff", "go", "html", "ini", "java", "javascript", "js",
     "json", "jsx", "kotlin", "markdown", "md", "php", "py", "python", "rb", "rs", "ruby", "rust",
     "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml", "zsh")
)  # fmt: skip


def render(text: str, *, breaks: bool = False) -> Markup:
    """Return the markdown of a message as HTML.

    Text that is too long or too complex for the parser is returned unformatted. With `breaks`,
    every line break in the text is a line break in the HTML. Set `breaks` for messages of users:
    agents wrap their lines, and users do not.
    """
    parser = _parser(breaks)
    tokens = parse(parser, visible(text)) if len(text) <= LONGEST_MARKDOWN else None
    if tokens is None:
        return as_it_is(text)
    tokens = _adapted(tokens)
    # Clean the result again, because an HTML entity may represent a hidden character.
    return Markup(visible(parser.renderer.render(tokens, parser.options, {})))  # noqa: S704


def as_it_is(text: str) -> Markup:
    return Markup('<pre class="plain" dir="auto">{}</pre>').format(visible(text))


def coloured(text: str, language: str) -> str:
    """Return code as HTML, with a CSS class for each kind of token.

    Code that is too long, or in an unknown language, gets no classes.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import (
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
    )
    from pygments.util import ClassNotFound

    most = _LONGEST_CODE if language.lower() in _TRIED else _LONGEST_RARE
    if not language or len(text) > most or _EMPTY.search(text):
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
    """Return whether the parser accepts a URL as a link.

    The parser accepts relative URLs, which `_adapted` later disables.
    """
    return url.lower().startswith(_LIVE) or not _SCHEME.match(url)


def _adapted(tokens: Sequence[Token]) -> list[Token]:
    """Return the markdown tokens with images as links, relative links as text, and no `style`.

    The Content-Security-Policy of the pages forbids `style`.
    """
    found: list[Token] = []
    dead: list[bool] = []
    for token in tokens:
        if token.type == "image":
            found += _image(token)
            continue
        if token.type == "link_open":
            dead.append(_open(token))
        elif token.type == "link_close" and dead.pop():
            token.tag = "span"
        if "style" in token.attrs:
            side = _ALIGNED.get(str(token.attrs.pop("style")))
            if side:
                token.attrSet("class", side)
        if token.children:
            token.children = _adapted(token.children)
        found.append(token)
    return found


def _open(link: Token) -> bool:
    """Prepare the opening token of a link, and return whether the link was disabled.

    Every link is disabled that does not lead to a web page or a mail address.
    """
    target = str(link.attrs.get("href") or "")
    if target.lower().startswith(_LIVE):
        link.attrSet("rel", "noopener noreferrer nofollow")
        link.attrSet("target", "_blank")
        return False
    link.tag = "span"
    link.attrs = {"class": "dead", "title": target}
    return True


def _image(image: Token) -> list[Token]:
    opening, closing = Token("link_open", "a", 1), Token("link_close", "a", -1)
    opening.attrs = {"href": str(image.attrs.get("src") or ""), "class": "image"}
    if _open(opening):
        closing.tag = "span"
    text = Token("text", "", 0)
    text.content = f"image: {image.content}" if image.content else "image"
    return [opening, text, closing]
