"""The conversations that the picker lists, and functions that filter them by the typed words."""

from __future__ import annotations

import os
from functools import cached_property

import msgspec

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.views.list_view import short
from cortext.features.doctor.transcript_locations import history_locations
from cortext.features.listing.background_catalog_refresh import (
    start_background_counting,
    start_background_reading,
)
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.registry import display_name


class PickerItems:
    """The conversations of this project or of all projects, the latest first."""

    def __init__(self, rows: list[ConversationRow], conversations: ConversationList) -> None:
        self.rows = rows
        self.conversations = conversations
        self.folder: str = conversations.folder
        self.is_everywhere: bool = conversations.everywhere
        self._texts: list[tuple[str, ConversationRow]] = []

    @classmethod
    def here(cls) -> PickerItems:
        return cls._load(everywhere=False)

    @classmethod
    def everywhere(cls) -> PickerItems:
        return cls._load(everywhere=True)

    @classmethod
    def _load(cls, *, everywhere: bool) -> PickerItems:
        conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
        rows = conversations.list(capture=True).rows
        # With `patience=0`, no messages are counted now, so that the picker opens quickly.
        return cls(conversations.add_counts(rows, patience=0), conversations)

    @cached_property
    def has_several_tools(self) -> bool:
        """Whether the conversations took place in different tools."""
        return len({tool for row in self.rows for tool in row.tools or ("",)}) > 1

    @cached_property
    def has_several_folders(self) -> bool:
        return len({row.folder for row in self.rows}) > 1

    def titled(self, text: str) -> list[ConversationRow]:
        """Return the conversations that have all typed words in their title or in other fields.

        The other fields are the summary, tags, id, type, tools, git branch and the name of the
        folder. Quotation marks in `text` are ignored, because the user may not have typed the
        closing mark yet.
        """
        words = text.casefold().replace('"', " ").split()
        if not words:
            return self.rows
        self.get_ready()
        matches = self._texts
        for word in sorted(words, key=len, reverse=True):
            matches = [pair for pair in matches if word in pair[0]]
        return [row for _, row in matches]

    def get_ready(self) -> None:
        """Prepare the texts that the method `titled` searches, before the user types."""
        if not self._texts:
            self._texts = [(_searchable_text(row), row) for row in self.rows]

    def empty_list_lines(self) -> list[str]:
        """Return the lines to show if the list of conversations is empty."""
        if not self.is_everywhere:
            return ["No conversations in this project yet.", "Press Tab to list all projects."]
        return _no_conversation_lines()

    def read_on(self) -> str:
        """Start to read the remaining transcripts in the background.

        Return a note for the user, or "" if all transcripts were read.
        """
        left, self.conversations.left = self.conversations.left, 0
        if not left:
            if self.conversations.uncounted:
                start_background_counting()
            return ""

        how = (
            "being read; press Tab twice to list them"
            if start_background_reading()
            else "not read yet"
        )
        return f"{left} older transcript{'s are' if left > 1 else ' is'} {how}"


class PickedText(msgspec.Struct, frozen=True):
    """A conversation that matches the typed text. `number` is the number of its best message."""

    row: ConversationRow
    number: int


class Chosen(msgspec.Struct, frozen=True):
    """The conversation that the user chose to continue.

    `tool` is the tool to use, or "" for the default. With `fork`, the user continues in a copy.
    """

    row: ConversationRow
    tool: str = ""
    fork: bool = False


def is_spawned(row: ConversationRow) -> bool:
    """Return whether a row is a session of `cortext spawn`."""
    return row.tool == AUR


def _searchable_text(row: ConversationRow) -> str:
    tags, tools = "\t".join(row.tags), " ".join((row.tool, *row.tool_names))
    place = f"{row.branch}\n{os.path.basename(row.folder)}"
    texts = (row.title, row.summary, tags, row.kind, row.key, tools, place)
    return "\n".join(texts).casefold()


def _no_conversation_lines() -> list[str]:
    """Return the lines to show if no project has a conversation.

    The lines name the folders that cortext searched.
    """
    return [
        "No conversations yet. cortext looked in:",
        "",
        *(f"{display_name(place.tool)}: {short(place.folder)}" for place in history_locations()),
        "",
        "Conversations in these tools appear here.",
        'To start one: cortext new brainstorm "your topic"',
    ]
