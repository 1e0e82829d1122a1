"""The numbers of conversations in a list that was shown in a tool.

Each tool process has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.tool_context import Inside

_LONGEST = 2
"""The most digits of a number that is certainly a list number. A longer one may be a title word."""


def remember(inside: Inside | None, root: str, rows: Sequence[ConversationRow]) -> None:
    """Store which conversations the numbers of a list mean from now on."""
    with Catalog.at_home() as catalog:
        catalog.remember_shown(_reader(inside, root), rows)


def numbered(
    conversations: ConversationList, inside: Inside | None, words: str
) -> ConversationRow | None:
    """Return the conversation with a number in the list that was last shown.

    Return None if `words` is no number, or no list was shown. Raises CortextError for a number that
    is not in the list.
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
    """Return the key for the numbers of a list: a tool's process or session, or a folder."""
    if inside is None:
        return f"folder {root}"
    if inside.process:
        return f"{inside.tool} {inside.process.pid} {inside.process.started:.2f}"
    return f"{inside.tool} {inside.id or root}"
