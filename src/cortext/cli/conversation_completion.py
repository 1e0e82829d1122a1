"""Shell completion of conversations and of conversation types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import ConversationList
from cortext.workspace.conversation_types import Types

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_id(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the conversation ids that start with the typed text, for shell completion.

    If no id starts with the text, return the ids of conversations whose title has a word that
    starts with the text. Only conversations that `cortext list` shows in this folder are included.
    """
    return complete_among(ConversationList(paths.workspace_root()).list().rows, incomplete)


def complete_among(rows: Sequence[ConversationRow], incomplete: str) -> list[CompletionItem]:
    """Return the ids of the conversations that match the typed text, for shell completion.

    A conversation matches if its id starts with the text. If there is no such id, it matches if a
    word of its title starts with the text. The shell shows the title beside each id.
    """
    from click.shell_completion import CompletionItem

    start = incomplete.casefold()
    matches = [row for row in rows if row.key.startswith(incomplete)]
    matches = matches or [
        row for row in rows if any(word.startswith(start) for word in row.title.casefold().split())
    ]
    return [CompletionItem(row.key, help=row.title) for row in matches]


def complete_type(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the conversation types that start with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    names = Types(paths.workspace_root()).names()
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
