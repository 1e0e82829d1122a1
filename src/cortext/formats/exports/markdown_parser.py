"""Parsing of markdown that anybody may have written, with a check that nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 100


def parse(parser: MarkdownIt, text: str, env: dict[str, Any] | None = None) -> list[Token] | None:
    """Return the markdown tokens of a text; None if the parser fails or leaves out some text."""
    try:
        tokens = parser.parse(text, env)
    except Exception:  # noqa: BLE001  some texts are too much for it: `> - <!--` is one
        return None
    # The parser silently leaves out text that is nested deeper than its limit.
    return None if any(token.level >= DEEPEST - 2 for token in tokens) else tokens
