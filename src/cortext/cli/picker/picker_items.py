"""What there is to pick from, and which of it has what was typed."""

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
    """Conversations, the latest first: those of this project, or all."""

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
        """Those that have all the words in title, summary, tags, id, type or tool. A quotation mark
        is where a phrase begins, of which there may be no word yet."""
        words = text.casefold().replace('"', " ").split()
        if not words:
            return self.rows
        self.get_ready()
        found = self._texts
        for word in sorted(words, key=len, reverse=True):
            found = [pair for pair in found if word in pair[0]]
        return [row for _, row in found]

    def get_ready(self) -> None:
        """Make what the first question would else wait for."""
        if not self._texts:
            self._texts = [(_text(row), row) for row in self.rows]

    def why_empty(self) -> list[str]:
        """What is said of it where it has nothing."""
        if not self.is_everywhere:
            return ["no conversations here yet", "Tab for those of other folders"]
        return _nothing_at_all()

    def read_on(self) -> str:
        """Begin to read transcripts that there was no time for; what a person should know."""
        left, self.conversations.left = self.conversations.left, 0
        if not left:
            return ""

        how = "being read now: Tab Tab lists them" if read_the_rest() else "not read yet"
        return f"{left} older transcript{'s are' if left > 1 else ' is'} {how}"


class PickedText(NamedTuple):
    """A conversation in which something was said, the number of the message, and whether it has
    the signs that were typed."""

    row: ConversationRow
    number: int
    exact: bool = True


class Chosen(NamedTuple):
    """What to go on with, in which tool, "" being the usual one, and whether in a copy."""

    row: ConversationRow
    tool: str = ""
    fork: bool = False


def is_spawned(row: ConversationRow) -> bool:
    """Whether it is a session of `spawn`, which keeps its own."""
    return row.tool == AUR


def _text(row: ConversationRow) -> str:
    tags, tools = "\t".join(row.tags), " ".join((row.tool, *row.tool_names))
    return f"{row.title}\n{row.summary}\n{tags}\n{row.kind}\n{row.key}\n{tools}".casefold()


def _nothing_at_all() -> list[str]:
    """Where conversations were looked for, when there is none."""
    return [
        "no conversations yet; looked in:",
        "",
        *(f"{display_name(place.tool)}: {short(place.folder)}" for place in history_locations()),
        "",
        "what is said in these tools is listed here",
        '`cortext new brainstorm "your topic"` begins one of yours',
    ]
