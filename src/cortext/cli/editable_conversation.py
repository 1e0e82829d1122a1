"""Find the conversation that a query names, for commands that change it."""

from __future__ import annotations

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.conversation_choice import choose
from cortext.cli.terminal_text import one_line
from cortext.cli.views.list_view import short
from cortext.features.manage.edit_conversation import ensure_conversation


def choose_editable(query: str) -> ConversationRow:
    """Return the conversation that a query names, so that the caller can change it.

    If the query names a session of a tool or a program, save that session as a new conversation,
    print a note, and return the new conversation.
    """
    row = choose(query)
    if not row.tool:
        return row

    conversation = ensure_conversation(row)
    where = (
        ""
        if conversation.workspace == paths.workspace_root()
        else f" in {short(conversation.workspace)}"
    )
    click.echo(
        one_line(f"Saved {row.key} as the conversation {conversation.key}{where}."), err=True
    )
    return conversation
