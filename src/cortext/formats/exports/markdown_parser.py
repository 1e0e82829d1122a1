"""Safe parsing of markdown from unknown authors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 100


def parse(parser: MarkdownIt, text: str, env: dict[str, Any] | None = None) -> list[Token] | None:
    """Return the tokens of a text; None if the parser fails or leaves something out."""
    try:
        tokens = parser.parse(text, env)
    except Exception:  # noqa: BLE001  some texts are too much for it: `> - <!--` is one
        return None
    # The parser leaves out what is nested deeper than its limit.
    return None if any(token.level >= DEEPEST - 2 for token in tokens) else tokens
