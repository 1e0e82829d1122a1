"""The conversations that the picker lists, and the filter by typed words."""

from __future__ import annotations

from typing import NamedTuple

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.views.list_view import short
from cortext.features.doctor.history_locations import history_locations
from cortext.features.listing.background_reading import read_the_rest
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.registry import display_name


class PickerItems:
    """The conversations that the picker lists, the latest first.

    They are those of this project, or all.
    """

    def __init__(self, rows: list[ConversationRow], conversations: ConversationList) -> None:
        self.rows = rows
        self.conversations = conversations
        self.folder: str = conversations.folder
        self.is_everywhere: bool = conversations.everywhere
        self._texts: list[tuple[str, ConversationRow]] = []

    @classmethod
    def here(cls) -> PickerItems:
        return cls._listed(everywhere=False)

    @classmethod
    def everywhere(cls) -> PickerItems:
        return cls._listed(everywhere=True)

    @classmethod
    def _listed(cls, *, everywhere: bool) -> PickerItems:
        conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
        return cls(conversations.list(capture=True).rows, conversations)

    def titled(self, text: str) -> list[ConversationRow]:
        """Return the rows that have all typed words in their title or in other facts.

        The other facts are the summary, tags, id, type and tools. Quotation marks are ignored,
        because the user may not have typed the second one yet.
        """
        words = text.casefold().replace('"', " ").split()
        if not words:
            return self.rows
        self.get_ready()
        found = self._texts
        for word in sorted(words, key=len, reverse=True):
            found = [pair for pair in found if word in pair[0]]
        return [row for _, row in found]

    def get_ready(self) -> None:
        """Prepare the texts that `titled` searches, before the user types."""
        if not self._texts:
            self._texts = [(_text(row), row) for row in self.rows]

    def why_empty(self) -> list[str]:
        """Return the lines to show if the list of conversations is empty."""
        if not self.is_everywhere:
            return ["no conversations here yet", "Tab for those of other folders"]
        return _nothing_at_all()

    def read_on(self) -> str:
        """Start to read older transcripts in the background.

        Return a note for the user, or "" if there are none.
        """
        left, self.conversations.left = self.conversations.left, 0
        if not left:
            return ""

        how = "being read now: Tab Tab lists them" if read_the_rest() else "not read yet"
        return f"{left} older transcript{'s are' if left > 1 else ' is'} {how}"


class PickedText(NamedTuple):
    """A conversation with a matching message, and the number of that message.

    `exact` is False if the message lacks the punctuation that the user typed.
    """

    row: ConversationRow
    number: int
    exact: bool = True


class Chosen(NamedTuple):
    """The user's choice: a conversation, a tool or "" for the default, and whether to fork."""

    row: ConversationRow
    tool: str = ""
    fork: bool = False


def is_spawned(row: ConversationRow) -> bool:
    """Return whether a row is a session of `cortext spawn`."""
    return row.tool == AUR


def _text(row: ConversationRow) -> str:
    tags, tools = "\t".join(row.tags), " ".join((row.tool, *row.tool_names))
    return f"{row.title}\n{row.summary}\n{tags}\n{row.kind}\n{row.key}\n{tools}".casefold()


def _nothing_at_all() -> list[str]:
    """Return the lines to show if there is no conversation anywhere.

    They name the searched folders.
    """
    return [
        "no conversations yet; looked in:",
        "",
        *(f"{display_name(place.tool)}: {short(place.folder)}" for place in history_locations()),
        "",
        "what is said in these tools is listed here",
        '`cortext new brainstorm "your topic"` begins one of yours',
    ]
