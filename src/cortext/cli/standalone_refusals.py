"""Errors for operations that sessions of `spawn` and of programs do not support, with hints."""

from __future__ import annotations

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError


def not_stopped(row: ConversationRow) -> CortextError:
    """Return the error that a session of `spawn` need not be stopped."""
    return CortextError(
        f"{row.key} is a session of `cortext spawn`, which saves it turn by turn",
        hint=f"nothing has to be done; `cortext import {row.key}` makes a conversation of it",
    )


def not_deleted(row: ConversationRow) -> CortextError:
    """Return the error that only the program which stores a session may delete it."""
    return CortextError(
        f"{row.key} is kept by a program, and was not deleted",
        hint=f"the program deletes it, or you do: its file is {row.path}",
    )
