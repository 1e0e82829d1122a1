"""Errors for actions that sessions of `spawn` or of programs do not support."""

from __future__ import annotations

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError


def not_stopped(row: ConversationRow) -> CortextError:
    """Return the error for stopping a session of `spawn`, which saves every turn anyway."""
    return CortextError(
        f"{row.key} is a session of `cortext spawn`, which saves it turn by turn",
        hint=f"nothing has to be done; `cortext import {row.key}` makes a conversation of it",
    )


def not_deleted(row: ConversationRow) -> CortextError:
    """Return the error for deleting a session that belongs to a program.

    Only the program may delete it.
    """
    return CortextError(
        f"{row.key} is kept by a program, and was not deleted",
        hint=f"the program deletes it, or you do: its file is {row.path}",
    )
