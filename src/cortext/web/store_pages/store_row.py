"""A row in the list of conversations in a store, and the choice of its title."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from cortext.service.stores.port import Conversation
from cortext.web.conversation_turns import one_line

_LONGEST = 90
_NO_MESSAGES = "No messages yet"


class StoreRow(NamedTuple):
    """A conversation in a store, as a row of the list on the web page.

    `messages` is the number of messages, and `when` is the time of the last change.
    """

    id: str
    title: str
    messages: int
    when: datetime
    owner: str


def row_of(found: Conversation) -> StoreRow:
    title = next(filter(None, (one_line(each, _LONGEST) for each in _titles(found))), _NO_MESSAGES)
    return StoreRow(found.id, title, len(found.messages), found.updated_at, found.owner)


def _titles(found: Conversation) -> Iterator[str]:
    """Yield possible titles of a conversation, the best first.

    The best title is the title in the metadata, then the user's messages, then all messages.
    """
    given = found.metadata.get("title")
    yield given if isinstance(given, str) else ""
    yield from (message.content for message in found.messages if message.role == "user")
    yield from (message.content for message in found.messages)
