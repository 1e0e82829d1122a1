"""Remember the numbers of the conversations in the list that a slash command showed last.

The user can then choose a conversation by its number. Each tool process has its own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.surrounding_session import Inside

_MAX_DIGITS = 2
"""The maximum number of digits of a list number. A longer number may be a word of a title."""


def remember(inside: Inside | None, root: str, rows: Sequence[ConversationRow]) -> None:
    """Store the rows of a list that is shown now, so that `numbered` finds them by number.

    `inside` is the tool session in which the list is shown; None outside a tool.
    """
    with Catalog.at_home() as catalog:
        catalog.remember_shown(_list_key(inside, root), rows)


def numbered(
    conversations: ConversationList, inside: Inside | None, words: str
) -> ConversationRow | None:
    """Return the conversation that had the typed number in the last list of a slash command.

    `words` is the text that the user typed, such as "3". Return None if `words` is not a list
    number, or if no list was shown. Raises CortextError if the list has no such number, or if the
    conversation does not exist any more.
    """
    text = words.strip().rstrip(".")
    if not (text.isascii() and text.isdecimal()) or text.startswith("0") or len(text) > 6:
        return None
    key = _list_key(inside, conversations.root)
    with Catalog.at_home() as catalog:
        shown = catalog.shown(key, int(text))
        any_shown = shown or catalog.shown(key, 1)
    if not shown:
        if any_shown and len(text) <= _MAX_DIGITS:
            raise _number_error(f"the last list has no number {text}")
        return None
    rows = conversations.list(everywhere=True).rows
    found = next((row for row in rows if row.identity == shown), None)
    if found is None:
        raise _number_error(f"number {text} of the last list no longer exists")
    return found


def _number_error(message: str) -> CortextError:
    return CortextError(message, hint="`/workspace.resume` without words shows a new list")


def _list_key(inside: Inside | None, root: str) -> str:
    """Return the key under which the numbers of the last list are stored.

    The key names the tool's process. If the process is unknown, the key names the tool session or,
    if this is unknown too, the folder. Outside a tool, the key names the folder.
    """
    if inside is None:
        return f"folder {root}"
    if inside.process:
        return f"{inside.tool} {inside.process.pid} {inside.process.started:.2f}"
    return f"{inside.tool} {inside.id or root}"
