"""Remember the numbers of the conversations in the list that a slash command showed last.

The user can then choose a conversation by its number. Each tool process has its own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.tool_context import Inside

_LONGEST = 2
"""The most digits of a list number. A longer number may be a word of a title."""


def remember(inside: Inside | None, root: str, rows: Sequence[ConversationRow]) -> None:
    """Remember the rows of a list that is shown now, so that `numbered` finds them by number.

    `inside` is the tool session in which the list is shown; None outside a tool.
    """
    with Catalog.at_home() as catalog:
        catalog.remember_shown(_reader(inside, root), rows)


def numbered(
    conversations: ConversationList, inside: Inside | None, words: str
) -> ConversationRow | None:
    """Return the conversation whose number in the last shown list is `words`.

    Return None if `words` is not a list number, or if no list was shown. Raises CortextError if the
    list has no such number, or if the conversation does not exist any more.
    """
    text = words.strip().rstrip(".")
    if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
        return None
    reader = _reader(inside, conversations.root)
    with Catalog.at_home() as catalog:
        shown = catalog.shown(reader, int(text))
        any_shown = shown or catalog.shown(reader, 1)
    if not shown:
        if any_shown and len(text) <= _LONGEST:
            raise _nothing(f"the last list has no number {text}")
        return None
    rows = conversations.list(everywhere=True).rows
    found = next((row for row in rows if row.identity == shown), None)
    if found is None:
        raise _nothing(f"number {text} of the last list is not there any more")
    return found


def _nothing(said: str) -> CortextError:
    return CortextError(said, hint="`/workspace.resume` without words shows a new list")


def _reader(inside: Inside | None, root: str) -> str:
    """Return the key of the stored numbers: a tool's process, a tool session or a folder."""
    if inside is None:
        return f"folder {root}"
    if inside.process:
        return f"{inside.tool} {inside.process.pid} {inside.process.started:.2f}"
    return f"{inside.tool} {inside.id or root}"
