"""Lay out a conversation as plain text, or as rendered markdown for a terminal.

The package rich is imported only when markdown is rendered. Control characters are removed before
and after the rendering, because markdown such as `&#27;` can encode any character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from cortext.cli.terminal_text import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.markdown import Markdown

_MAX_WIDTH = 100
# Parsing and highlighting are slow, so they are limited to short text and well-known languages.
_LONGEST_MARKDOWN = 40_000
_LONGEST_CODE = 20_000
_LANGUAGES = frozenset(
    [
        "bash",
        "c",
        "cpp",
        "css",
        "diff",
        "go",
        "html",
        "ini",
        "java",
        "javascript",
        "js",
        "json",
        "jsx",
        "kotlin",
        "lua",
        "make",
        "markdown",
        "php",
        "python",
        "py",
        "ruby",
        "rust",
        "sh",
        "shell",
        "sql",
        "swift",
        "toml",
        "ts",
        "tsx",
        "typescript",
        "xml",
        "yaml",
    ]
)
_ROLES = {"user": "bold cyan", "assistant": "bold green", "tool": "dim", "system": "bold yellow"}


class PageBlock(msgspec.Struct, frozen=True):
    """A part of a page, such as a message.

    `role` is the role of the message's author, such as `user`. It decides the style of the block.
    If `heading` is "", the block belongs to the block before it. The text is rendered as markdown
    only if `markdown` is True.
    """

    heading: str
    role: str
    text: str
    markdown: bool = False


class ConversationPage(msgspec.Struct, frozen=True):
    """A conversation to show: its title, lines with facts, and its messages as blocks."""

    title: str
    facts: Sequence[str]
    blocks: Iterable[PageBlock]


def plain(page: ConversationPage) -> Iterator[str]:
    """Yield the parts of the page as plain text, without wrapping lines."""
    yield clean(page.title, lines=False) or "(no title)"
    for fact in page.facts:
        yield clean(fact, lines=False)
    for block in page.blocks:
        if block.heading:
            yield f"\n{clean(block.heading, lines=False)}"
        if block.text:
            yield _clean_lines(block.text)


def rendered(page: ConversationPage, *, width: int, colour: bool) -> Iterator[str]:
    """Yield the page as strings for a terminal of this width, with rendered markdown.

    The first string has the title and the facts. Each further string is the heading or the text of
    a block.
    """
    from rich.text import Text

    console = _console(min(width, _MAX_WIDTH), colour)
    head = [Text(clean(page.title, lines=False) or "(no title)", style="bold")]
    # Leave the wrapping of paths to the terminal, so that a path can be copied as a whole.
    for fact in page.facts:
        is_path = fact.startswith("/")
        overflow = "ignore" if is_path else None
        head.append(
            Text(clean(fact, lines=False), style="dim", no_wrap=is_path or None, overflow=overflow)
        )
    yield _render(console, *head)
    for block in page.blocks:
        yield from _render_block(console, block)


def _clean_lines(text: str) -> str:
    # Clean line by line, because `clean` is fastest on a single line.
    return "\n".join([clean(line) for line in text.split("\n")])


def _render_block(console: Console, block: PageBlock) -> Iterator[str]:
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    if block.heading:
        title = Text(clean(block.heading, lines=False), style=_ROLES.get(block.role, "bold"))
        line = Rule(title, align="left", style="dim", characters="─")
        yield "\n" + _render(console, line)
    text = _clean_lines(block.text)
    markdown = _parse_markdown(text, console.width) if block.markdown else None
    if markdown:
        yield "\n" + _render(console, markdown)
    elif text:
        style = "dim" if block.role == "tool" else ""
        shown = Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, 2))
        yield "\n" + _render(console, shown)


def _console(width: int, colour: bool) -> Console:
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        file=StringIO(),
        # rich's own style of code has a black background, which does not fit every terminal.
        theme=Theme({"markdown.code": "cyan", "markdown.h1": "bold underline"}),
        force_terminal=True,
        color_system="standard",
        no_color=not colour,
        width=max(width, 20),
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _render(console: Console, *things: RenderableType) -> str:
    from rich.segment import Segment

    with console.capture() as capture:
        for thing in things:
            segments = [
                Segment(clean(segment.text), segment.style)
                for segment in console.render(thing)
                if not segment.control
            ]
            console.print(_Segments(segments), end="", soft_wrap=True)
    lines = capture.get().split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


class _Segments:
    """A wrapper for segments (pieces of styled text) that rich has already laid out.

    rich prints it without laying out the segments again.
    """

    def __init__(self, segments: Sequence[Any]) -> None:
        self._segments = segments

    def __rich_console__(self, console: Any, options: Any) -> Sequence[Any]:
        return self._segments


def _parse_markdown(text: str, width: int) -> Markdown | None:
    """Return the parsed markdown, or None if the text is too long or nested too deeply.

    `width` is the width of the terminal. The result shows everything in the text: also HTML,
    comments, link addresses and image addresses. Line breaks stay line breaks.
    """
    if not text or len(text) > _LONGEST_MARKDOWN:
        return None
    document = _markdown_class()("", hyperlinks=False)
    document.parsed = _parser().parse(text)
    if max((token.level for token in document.parsed), default=0) * 8 > width:
        return None
    for token in document.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return document


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    parser.enable(["strikethrough", "table"])
    return parser.disable(["autolink", "html_block", "html_inline", "image", "reference"])


@cache
def _markdown_class() -> type[Markdown]:
    from rich import markdown
    from rich.console import ConsoleOptions, RenderResult
    from rich.syntax import Syntax
    from rich.table import Table

    class Heading(markdown.Heading):
        LEVEL_ALIGN = dict.fromkeys(markdown.Heading.LEVEL_ALIGN, "left")

    class CodeBlock(markdown.CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code, name = str(self.text).rstrip("\n"), self.lexer_name.lower()
            known = name in _LANGUAGES and len(code) <= _LONGEST_CODE
            yield Syntax(
                code,
                name if known else "text",
                theme="ansi_dark",
                background_color="default",
                word_wrap=True,
                padding=(0, 2),
            )

    class TableElement(markdown.TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    for column in table.columns:
                        column.overflow = "fold"
                yield table

    class SafeMarkdown(markdown.Markdown):
        elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
            **markdown.Markdown.elements,
            "heading_open": Heading,
            "fence": CodeBlock,
            "code_block": CodeBlock,
            "table_open": TableElement,
        }

    return SafeMarkdown
