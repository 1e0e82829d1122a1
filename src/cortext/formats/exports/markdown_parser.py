"""Reading the markdown of others, which may be anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 100


def parse(parser: MarkdownIt, text: str, env: dict[str, Any] | None = None) -> list[Token] | None:
    """What a text consists of; None if the parser cannot say, or not all of it."""
    try:
        tokens = parser.parse(text, env)
    except Exception:  # noqa: BLE001  some texts are too much for it: `> - <!--` is one
        return None
    # What is nested more deeply than the parser goes, it leaves out.
    return None if any(token.level >= DEEPEST - 2 for token in tokens) else tokens
