"""A markdown parser for texts of unknown authors. It detects if the parser library loses text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 100


def parse(parser: MarkdownIt, text: str, env: dict[str, Any] | None = None) -> list[Token] | None:
    """Parse a text with `parser`, and return its markdown tokens.

    The result is None if the parser fails or leaves out some text. The parser stores the link
    definitions of the text in `env`.
    """
    try:
        tokens = parser.parse(text, env)
    except Exception:  # noqa: BLE001  the parser crashes on some texts, such as `> - <!--`
        return None
    # The parser silently leaves out text that is nested deeper than its limit.
    return None if any(token.level >= DEEPEST - 2 for token in tokens) else tokens
