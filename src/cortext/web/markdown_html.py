"""What was said, as HTML: markdown by a parser that knows no HTML, and code with its colours.

Only links to web pages and addresses of mail are live. A relative one would lead to this server,
so it is text; images are links, for a browser would fetch them.
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
"""Characters of a block of code that get colours."""
_LONGEST_RARE = 2_000
"""The same in a language whose rules nobody tried on hostile text: some take quadratic time."""
_EMPTY = re.compile(r"\s{300}")
"""So much space in one piece takes the rules of C, Java, Python and others quadratic time, too."""
_TRIED = frozenset(
    ("bash", "c", "console", "cpp", "css", "diff", "go", "html", "ini", "java", "javascript", "js",
     "json", "jsx", "kotlin", "markdown", "md", "php", "py", "python", "rb", "rs", "ruby", "rust",
     "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml", "zsh")
)  # fmt: skip


def render(text: str, *, breaks: bool = False) -> Markup:
    """A message's markdown; a text that is no prose, or too much for the parser, as it is. With
    `breaks` each line is one: people type so, and agents wrap theirs."""
    parser = _parser(breaks)
    tokens = parse(parser, visible(text)) if len(text) <= LONGEST_MARKDOWN else None
    if tokens is None:
        return as_it_is(text)
    tokens = _adapted(tokens)
    # Once more: an entity may stand for a character that hides.
    return Markup(visible(parser.renderer.render(tokens, parser.options, {})))  # noqa: S704


def as_it_is(text: str) -> Markup:
    return Markup('<pre class="plain" dir="auto">{}</pre>').format(visible(text))


def coloured(text: str, language: str) -> str:
    """Code as HTML, with a class for each kind of word; without a language that is known, plain."""
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
    parser.validateLink = _may_be_link  # pyright: ignore[reportAttributeAccessIssue]  its own way
    return parser


def _highlight(text: str, language: str, _attributes: str) -> str:
    return coloured(text, language[:40])


def _may_be_link(url: str) -> bool:
    """Live ones, and relative ones, which `_adapted` makes dead; never another scheme."""
    return url.lower().startswith(_LIVE) or not _SCHEME.match(url)


def _adapted(tokens: Sequence[Token]) -> list[Token]:
    """Images as links, relative links as text, and no style: a policy forbids it."""
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
    """Make the beginning of a link what it may be; whether it leads nowhere."""
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
